"""The settings of a sandbox, checked by what they name and merged into one: more to import than a start of pytest needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mockserver._settings import Setting, set_in
from mockserver.contract.choices import problem as choice_problem
from mockserver.contract.text import closest_match_hint
from mockserver.core.instants import parse
from mockserver.scenario import choices, library
from mockserver.scenario.documents import to_plain, validate
from mockserver.scenario.problems import ScenarioError
from mockserver.testing.settings import FILES, NAMES, Layer, Settings, check_clock, reads_limit

# The format of instants in scenario documents, narrower than the ISO 8601 that the API takes.
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_EXCLUDED_BY = MappingProxyType({"now": "clock", "clock": "now"})


def merge_layers(layers: Iterable[Layer]) -> Settings:
    """
    Return the settings of all layers.

    Args:
        layers: The strongest one last.

    Raises:
        ValueError: A layer has both `now` and `clock`, or a profile that does not exist; the message contains its source.
    """
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    rows = list(layers)
    for layer in rows:
        check_clock(layer)
        for name, value in layer.values.items():
            if name in _EXCLUDED_BY:
                values.pop(_EXCLUDED_BY[name], None)
            values[name], sources[name] = value, layer.source
    chosen = _choices(rows, sources)
    if chosen:
        values["choices"] = chosen
    return Settings({name: value for name, value in values.items() if value is not None and name != "profile"}, sources)


def _choices(layers: list[Layer], sources: dict[str, str]) -> dict[str, Any]:
    of_profile = max((place for place, layer in enumerate(layers) if "profile" in layer.values), default=-1)
    chosen: dict[str, Any] = {}
    for place, layer in enumerate(layers):
        profile = layer.values.get("profile") if place == of_profile else None
        own = dict(layer.values.get("choices") or {})
        if profile is None and not own:
            continue
        taken = choices.load_profile(profile) if profile is not None else {}
        chosen = choices.merge_choices(choices.merge_choices(chosen, taken), own)
        sources.update(dict.fromkeys(taken, f"profile {profile}, {layer.source}"))
        sources.update(dict.fromkeys(own, layer.source))
    return chosen


def setting_error(name: str, value: Any, known: Collection[str] = NAMES) -> str | None:
    """
    Return the error of a setting, with the nearest name; None if it has none.

    Args:
        name: Of the setting.
        value: Of the setting; None for one that is not set.
        known: The names that its place has.
    """
    if name not in known:
        return f"got {name!r}; expected {', '.join(known)}{closest_match_hint(name, known)}"
    setting = _SETTINGS[name]
    if value is None:
        return None
    if setting.type in _EXPECTED:
        is_right, expected = _EXPECTED[setting.type]
        return None if is_right(value) else f"{name}: got {value!r}; expected {expected}"
    if setting.type in _PROBLEMS:
        return _PROBLEMS[setting.type](value)
    try:
        if setting.options:
            setting.option(value)
        else:
            reads_limit(value)
    except ValueError as refusal:
        return f"{name}: {refusal}"
    return None


def _choices_problem(chosen: Any) -> str | None:
    if not isinstance(chosen, Mapping):
        return f"choices: got {chosen!r}; expected a mapping, such as {{'dual-status': 'guide'}}"
    problems = (choice_problem(choice_id, value) for choice_id, value in chosen.items())
    return next(filter(None, problems), None)


def _scenario_problem(scenario: Any) -> str | None:
    if not isinstance(scenario, str | Path | Mapping):
        return f"scenario: got {scenario!r}; expected a name of the library, a file, or a document"
    if not isinstance(scenario, str) or scenario in library.paths():
        return None
    if Path(scenario).suffix in FILES:
        return (
            None if Path(scenario).is_file() else f"scenario: got {scenario!r}; expected a file that is in {Path.cwd()}"
        )
    return f"scenario: got {scenario!r}; expected a name of the library{closest_match_hint(scenario, library.paths())}"


def _profile_problem(profile: Any) -> str | None:
    if not isinstance(profile, str | Path):
        return f"profile: got {profile!r}; expected literal, guide, hostile, or a file; choices={{...}} takes single choices"
    try:
        choices.load_profile(profile)
    except ValueError as refusal:
        return str(refusal)
    return None


def _is_instant(now: Any) -> bool:
    is_text = isinstance(now, str) and _RFC_3339.fullmatch(now) is not None
    return isinstance(now, datetime) or (is_text and parse(now) is not None)


_EXPECTED: Mapping[str, tuple[Callable[[Any], bool], str]] = MappingProxyType(
    {
        "seed": (lambda seed: type(seed) is int and seed >= 0, "a whole number, 0 or more"),
        "instant": (_is_instant, "an RFC 3339 instant such as 2026-03-01T12:00:00Z, or a datetime"),
        "clock": (lambda clock: clock == "follow", "'follow', or now=INSTANT for a frozen one"),
        "own port": (lambda own_port: isinstance(own_port, bool), "True or False"),
    }
)


def _given_problem(given: Any) -> str | None:
    """Return the first error that the schema of documents finds."""
    try:
        validate(to_plain({"given": given}))
    except ScenarioError as refusal:
        return str(refusal.problems[0])
    return None


_SETTINGS: Mapping[str, Setting] = MappingProxyType({setting.attribute: setting for setting in set_in("mark")})
_PROBLEMS: Mapping[str, Callable[[Any], str | None]] = MappingProxyType(
    {
        "choices": _choices_problem,
        "scenario": _scenario_problem,
        "profile": _profile_problem,
        "seed data": _given_problem,
    }
)
