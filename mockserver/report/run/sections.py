"""The sections of a report after its problems: settings, everything that happened, events, rules that never fired."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from typing import Final

from mockserver._json import View
from mockserver.core.instants import time_of_day
from mockserver.report.run.causes import receivers
from mockserver.report.run.causes.absent import without_prefix
from mockserver.report.run.exchanges import shorten
from mockserver.report.run.history import dated, history_lines
from mockserver.report.run.rules import render_unfired_rules
from mockserver.report.run.snapshot import SandboxSnapshot

_EVENTS: Final = 30  # of a report, the latest ones


def render_sections(snapshot: SandboxSnapshot, cited: Container[int], nearest: int | None) -> Iterator[str]:
    """Yield the lines; the calls that are `cited` and the `nearest` one are shown with their bodies."""
    yield from _settings(snapshot)
    if snapshot.exchanges or snapshot.transitions or snapshot.steps:
        yield "what happened:"
        yield from history_lines(snapshot, cited, nearest)
    if snapshot.events:
        yield "events:"
        if len(snapshot.events) > _EVENTS:
            yield f"  ... {len(snapshot.events) - _EVENTS} earlier"
        yield from dated((f"  {_event(event, snapshot)}", event["at"][:10]) for event in snapshot.events[-_EVENTS:])
    idle = [rule for rule in snapshot.rules if not rule["fired"]]
    if idle:
        yield "rules that never fired:"
        yield from render_unfired_rules(idle, snapshot.exchanges)


def _settings(snapshot: SandboxSnapshot) -> Iterator[str]:
    """Yield clock, seed and choices, each with the source of its setting, if it has one."""
    sources, now = snapshot.sources, snapshot.clock["now"]
    clock = f"clock at {now}" if snapshot.clock["frozen"] else f"clock follows the process, now {now}"
    clock += _source(sources, "now") if "now" in snapshot.settings else ""
    scenario = snapshot.settings.get("scenario")
    name = scenario.get("scenario", "a document") if isinstance(scenario, Mapping) else scenario
    initial = f", scenario {name}{_source(sources, 'scenario')}" if name is not None else ""
    yield f"{snapshot.id}: {clock}, seed {snapshot.seed}{_source(sources, 'seed')}{initial}"
    if snapshot.exchanges and without_prefix(snapshot):
        yield without_prefix(snapshot)
    if snapshot.choices:
        yield "choices: " + ", ".join(_choices(snapshot))


def _choices(snapshot: SandboxSnapshot) -> Iterator[str]:
    """Yield each choice that is not the default with the source of its value; a profile is one row with its number of choices."""
    sources = {choice: _source_of_choice(snapshot, choice) for choice in snapshot.choices}
    profiles = Counter(source for source in sources.values() if source.startswith(" (profile "))
    yield from (f"{count} as in {source.strip(' ()')}" for source, count in profiles.items())
    for choice, source in sources.items():
        if source not in profiles:
            yield f"{choice}={shorten(snapshot.choices[choice])}{source}"


def _source(sources: Mapping[str, str], name: str) -> str:
    return f" ({sources[name]})" if name in sources else ""


def _source_of_choice(snapshot: SandboxSnapshot, choice: str) -> str:
    """Return the source of a choice: a setting, if the choice still has its value, else the scenario or the test."""
    if (snapshot.settings.get("choices") or {}).get(choice) == snapshot.choices[choice]:
        return _source(snapshot.sources, choice)
    by_test = any(step["command"] == "choose" and choice in step["arguments"] for step in snapshot.steps)
    return " (set by the test)" if by_test else " (scenario)"


def _event(event: View, snapshot: SandboxSnapshot) -> str:
    deliveries = []
    for delivery in event.get("deliveries", ()):
        attempts = ", ".join(map(_attempt, delivery["attempts"])) or "no attempt"
        status = receivers.Attempted(event, delivery).status
        endpoint = snapshot.names.get(delivery["endpoint"], delivery["endpoint"])
        deliveries.append(f"{endpoint}: {status} after {attempts}")
    return f"{time_of_day(event['at'])}  {event['event']} {event['id']} -> {'; '.join(deliveries) or 'no endpoint'}"


def _attempt(attempt: View) -> str:
    status, error = attempt.get("status"), attempt.get("error")
    outcome = f"{status} ({error})" if status and error else str(status or error or "in progress")
    label = receivers.extra(attempt)
    return f"{outcome} to {label}" if label else outcome
