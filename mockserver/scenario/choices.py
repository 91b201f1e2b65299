"""
Choices and profiles that a document or a command sets.

Setting choices, and saying what is wrong with a value that is no option.

Profiles by name or from a file: the choices that they stand for.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mockserver.contract import choices
from mockserver.contract.choices.profiles import PROFILES
from mockserver.contract.limits import PROBLEMS_MAX
from mockserver.contract.text import nearest
from mockserver.core.redaction import to_json_text
from mockserver.core.state.sandbox import SandboxState
from mockserver.scenario.documents import read_file
from mockserver.scenario.problems import Problem, ScenarioError, step


def set_choices(sandbox: SandboxState, wanted: Mapping[str, object], problems: list[Problem]) -> None:
    """Set these choices, keys left out of a number-valued one keeping what they had; collects what is no option."""
    chosen = sandbox.choices.copy() if isinstance(sandbox.choices, dict) else dict(sandbox.choices)
    for choice_id, value in wanted.items():
        wrong = choice_problem(choice_id, value, hints=len(problems) < PROBLEMS_MAX)
        if wrong is not None:
            problems.append(wrong)
        else:
            chosen[choice_id] = choices.merged(choice_id, chosen[choice_id], value)
    if wanted and not problems:
        sandbox.choices = chosen


def choice_problem(choice_id: str, value: object, *, hints: bool = True) -> Problem | None:
    """What is wrong with this value of a choice, and where it stands in a document, or None; `hints` has the nearest id searched for."""
    path = f"/choices{step(choice_id)}"
    if choice_id not in choices.CHOICES and choice_id not in choices.FIXED:
        near = nearest(choice_id, choices.CHOICES) if hints else None
        return Problem(path, to_json_text(choice_id), "the id of a choice", near)
    wrong = choices.problem(choice_id, value)
    if wrong is None:
        return None
    said, _, hint = wrong.partition("; did you mean ")
    return Problem(path, to_json_text(value), said.partition("wanted ")[2] or said, hint.strip("'?") or None)


_SUFFIXES = (".yaml", ".yml", ".json")
_KEYS = ("scenario", "summary", "choices")


def load_profile(profile: str | Path) -> dict[str, object]:
    """
    The choices of the profile of this name, or of the YAML or JSON file `{choices: {id: option}}`.

    Refuses with ScenarioError a name that no profile has, with the nearest; a file with anything but choices in it,
    beside a name and a summary; and an option that is none.
    """
    if str(profile) in PROFILES:
        return dict(PROFILES[str(profile)])
    file = Path(profile)
    if file.suffix not in _SUFFIXES and not file.is_file():
        wanted = f"one of {', '.join(PROFILES)}, or a file {{choices: {{id: option}}}}"
        problem = Problem("/profile", repr(str(profile)), wanted, nearest(profile, PROFILES))
        raise ScenarioError([problem], "the profile's name")
    document = read_file(file)
    found: dict[str, object] = document.get("choices", {})
    wanted = f"only {', '.join(_KEYS)} in a profile"
    problems = [Problem(f"/{key}", "a key of scenarios", wanted) for key in document if key not in _KEYS]
    for id, value in found.items():
        wrong = choice_problem(id, value, hints=len(problems) < PROBLEMS_MAX)
        problems += [wrong] if wrong else []
    if problems:
        raise ScenarioError(problems, str(profile))
    return dict(found)


def chosen(profile: str | Path | None, beside: Mapping[str, object] | None) -> Mapping[str, object] | None:
    """A profile's choices with those given beside it, which win; of a value with keys, key by key."""
    if profile is None:
        return beside
    return merge_choices(load_profile(profile), beside or {})


def merge_choices(first: Mapping[str, object], second: Mapping[str, object]) -> dict[str, object]:
    """Both sets of choices, the second's winning; of a value with keys, key by key."""
    taken = dict(first)
    for id, value in second.items():
        both = isinstance(value, Mapping) and isinstance(taken.get(id), Mapping)
        taken[id] = choices.merged(id, taken[id], value) if both and id in choices.CHOICES else value
    return taken
