"""
How a sandbox is made, and who said so: layers of settings, the later ones winning.

1. A layer is what one source says: a default, the ini file, the command line, `mockserver_settings`, marks from far to
   near, or the arguments of `sandbox(...)`.
2. Choices are joined id by id. A profile takes the place of every other profile, and wins over what farther layers chose.
3. `now` and `clock` are two words for one thing: the nearer layer decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

# What can be said of a sandbox; `strict` is the server's own and said once a run.
NAMES = ("scenario", "profile", "choices", "now", "clock", "seed", "given", "own_port")
FILES = (".yaml", ".yml", ".json")
# The format of instants in scenario documents, narrower than the ISO 8601 that the API takes.
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


class Layer(NamedTuple):
    """What one source says."""

    source: str
    values: Mapping[str, Any]


class Settings(NamedTuple):
    """The settings in force, and the source of each; a choice's source stands under its id."""

    values: Mapping[str, Any]
    sources: Mapping[str, str]

    def get(self, name: str) -> Any:
        """The value, or None where nobody has said any."""
        return self.values.get(name)


def merge_layers(layers: Iterable[Layer]) -> Settings:
    """All layers as one; ValueError says which source says something that cannot be."""
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    said = list(layers)
    for layer in said:
        check_clock(layer)
        for name, value in layer.values.items():
            values.pop({"now": "clock", "clock": "now"}.get(name, ""), None)
            values[name], sources[name] = value, layer.source
    chosen = _choices(said, sources)
    if chosen:
        values["choices"] = chosen
    return Settings({name: value for name, value in values.items() if value is not None and name != "profile"}, sources)


def check_clock(layer: Layer) -> None:
    """Refuses with ValueError, by the layer's source, what says two things of the clock."""
    now, clock = layer.values.get("now"), layer.values.get("clock")
    if clock not in (None, "follow") or (clock and now):
        wanted = "wanted now=INSTANT, clock='follow', or neither"
        raise ValueError(f"{layer.source}: clock={clock!r} with now={now!r}; {wanted}")


def _choices(layers: list[Layer], sources: dict[str, str]) -> dict[str, Any]:
    from mockserver.scenario import choices

    of_profile = max((place for place, layer in enumerate(layers) if "profile" in layer.values), default=-1)
    chosen: dict[str, Any] = {}
    for place, layer in enumerate(layers):
        profile = layer.values.get("profile") if place == of_profile else None
        own = dict(layer.values.get("choices") or {})
        taken = choices.load_profile(profile) if profile is not None else {}
        chosen = choices.merge_choices(choices.merge_choices(chosen, taken), own)
        sources.update(dict.fromkeys(taken, f"profile {profile}, {layer.source}"))
        sources.update(dict.fromkeys(own, layer.source))
    return chosen


def setting_error(name: str, value: Any) -> str | None:
    """What is wrong with a setting, with the nearest name; None where it is right."""
    if name not in NAMES:
        return f"has no {name!r}; it has {', '.join(NAMES)}{did_you_mean(name, NAMES)}"
    checks = {
        "choices": _choices_problem,
        "scenario": _scenario_problem,
        "profile": _profile_problem,
        "seed": _seed_problem,
        "now": _now_problem,
        "clock": _clock_problem,
        "given": _given_problem,
        "own_port": _own_port_problem,
    }
    return checks[name](value) if name in checks and value is not None else None


def _choices_problem(chosen: Any) -> str | None:
    from mockserver.contract.choices import problem

    if not isinstance(chosen, Mapping):
        return f"choices={chosen!r}; wanted a mapping, such as {{'dual-status': 'guide'}}"
    return next((wrong for choice_id, value in chosen.items() if (wrong := problem(choice_id, value))), None)


def _scenario_problem(scenario: Any) -> str | None:
    from mockserver.scenario.library import paths

    if not isinstance(scenario, str) or scenario in paths():
        return None
    if Path(scenario).suffix in FILES:
        return None if Path(scenario).is_file() else f"scenario={scenario!r}; there is no such file in {Path.cwd()}"
    return f"no scenario is called {scenario!r}{did_you_mean(scenario, paths())}"


def _profile_problem(profile: Any) -> str | None:
    from mockserver.scenario.choices import load_profile

    if not isinstance(profile, str | Path):
        return (
            f"profile={profile!r}; wanted literal, guide, hostile, or a file; choices={{...}} takes choices themselves"
        )
    try:
        load_profile(profile)
    except ValueError as refusal:
        return str(refusal)
    return None


def _seed_problem(seed: Any) -> str | None:
    return None if type(seed) is int and seed >= 0 else f"seed={seed!r}; wanted a whole number, 0 or more"


def _now_problem(now: Any) -> str | None:
    from mockserver.core.instants import parse

    if isinstance(now, datetime):
        return None
    if isinstance(now, str) and _RFC_3339.fullmatch(now) and parse(now) is not None:
        return None
    return f"now={now!r}; wanted an RFC 3339 instant such as 2026-03-01T12:00:00Z, or a datetime"


def _clock_problem(clock: Any) -> str | None:
    return None if clock == "follow" else f"clock={clock!r}; wanted 'follow', or now=INSTANT for a frozen one"


def _given_problem(given: Any) -> str | None:
    """The first thing that the format of documents does not allow."""
    from mockserver.scenario.documents import to_plain, validate
    from mockserver.scenario.problems import ScenarioError

    try:
        validate(to_plain({"given": given}))
    except ScenarioError as refusal:
        return str(refusal.problems[0])
    return None


def _own_port_problem(own_port: Any) -> str | None:
    return None if isinstance(own_port, bool) else f"own_port={own_port!r}; wanted True or False"


def did_you_mean(found: str, known: Any) -> str:
    """The nearest known name, as the end of a sentence; nothing where none is near."""
    from mockserver.contract.text import nearest_hint

    return nearest_hint(found, known)
