"""Choices set by a document or a command, and profiles by name or from a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mockserver.contract import choices
from mockserver.contract.choices.profiles import PROFILES
from mockserver.contract.limits import PROBLEMS_MAX
from mockserver.contract.text import closest_match, pointer_step
from mockserver.core.operations import choices as in_force
from mockserver.core.redaction import to_json_text
from mockserver.core.state.sandbox import SandboxState
from mockserver.scenario.documents import read_file
from mockserver.scenario.problems import Problems, ScenarioError, WrongPart


def set_choices(
    sandbox: SandboxState, wanted: Mapping[str, object], problems: Problems, path: str = "/choices"
) -> None:
    """
    Set choices of the sandbox; a key missing in a number-valued one keeps its number.

    Args:
        sandbox: The sandbox to change.
        wanted: Options by choice id.
        problems: Receives a problem for each unknown choice or option; with any problem in it nothing is set.
        path: The place of the choices in what contains them.
    """
    for choice_id, value in wanted.items():
        problem = choice_problem(choice_id, value, hints=len(problems) < PROBLEMS_MAX, path=path)
        if problem is not None:
            problems.append(problem)
    if wanted and not problems:
        in_force.set_choices(sandbox, wanted)


def choice_problem(choice_id: str, value: object, *, hints: bool = True, path: str = "/choices") -> WrongPart | None:
    """
    Return the problem of this value of a choice, or None if it is valid.

    Args:
        choice_id: The choice's id, perhaps unknown.
        value: The option.
        hints: Search for the nearest id, which takes longer.
        path: The place of the choices in what contains them.
    """
    path += pointer_step(choice_id)
    if choice_id not in choices.CHOICES and choice_id not in choices.FIXED:
        near = closest_match(choice_id, choices.CHOICES) if hints else None
        return WrongPart(path, to_json_text(choice_id), "the id of a choice", near)
    if choice_id in choices.FIXED:
        return WrongPart(path, to_json_text(value), str(choices.problem(choice_id, value)))
    mismatch = choices.mismatch(choice_id, value)
    return mismatch and WrongPart(path, to_json_text(value), mismatch.expected, mismatch.nearest)


_SUFFIXES = (".yaml", ".yml", ".json")
_KEYS = ("scenario", "summary", "choices")


def load_profile(profile: str | Path) -> dict[str, object]:
    """
    Return the choices of the profile of this name, or of the YAML or JSON file `{choices: {id: option}}`.

    Raises:
        ScenarioError: For an unknown name, for a file with other keys than choices, name and summary, and for an option
            that does not exist.
    """
    if str(profile) in PROFILES:
        return dict(PROFILES[str(profile)])
    file = Path(profile)
    if file.suffix not in _SUFFIXES and not file.is_file():
        wanted = f"one of {', '.join(PROFILES)}, or a file {{choices: {{id: option}}}}"
        problem = WrongPart("/profile", repr(str(profile)), wanted, closest_match(profile, PROFILES))
        raise ScenarioError([problem])
    document = read_file(file)
    options: dict[str, object] = document.get("choices", {})
    wanted = f"only {', '.join(_KEYS)} in a profile"
    problems = [WrongPart(f"/{key}", "a key of scenarios", wanted) for key in document if key not in _KEYS]
    for id, value in options.items():
        invalid = choice_problem(id, value, hints=len(problems) < PROBLEMS_MAX)
        problems += [invalid] if invalid else []
    if problems:
        raise ScenarioError(problems, str(profile))
    return dict(options)


def merge_choices(first: Mapping[str, object], second: Mapping[str, object]) -> dict[str, object]:
    """Return both sets of choices: the second replaces the first, in a value with keys key by key."""
    merged = dict(first)
    for id, value in second.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(id), Mapping)
        merged[id] = choices.merged(id, merged[id], value) if both and id in choices.CHOICES else value
    return merged
