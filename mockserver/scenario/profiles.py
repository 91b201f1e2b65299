"""Profiles by name or from a file: the choices that they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mockserver.contract import choices
from mockserver.contract.choices.profiles import PROFILES
from mockserver.contract.limits import PROBLEMS_MAX
from mockserver.contract.nearest import nearest
from mockserver.scenario.documents import Problem, ScenarioError, read_file
from mockserver.scenario.settings import choice_problem

_SUFFIXES = (".yaml", ".yml", ".json")
_KEYS = ("scenario", "summary", "choices")


def choices_of(profile: str | Path) -> dict[str, object]:
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
    return joined(choices_of(profile), beside or {})


def joined(first: Mapping[str, object], second: Mapping[str, object]) -> dict[str, object]:
    """Both sets of choices, the second's winning; of a value with keys, key by key."""
    taken = dict(first)
    for id, value in second.items():
        both = isinstance(value, Mapping) and isinstance(taken.get(id), Mapping)
        taken[id] = choices.merged(id, taken[id], value) if both and id in choices.CHOICES else value
    return taken
