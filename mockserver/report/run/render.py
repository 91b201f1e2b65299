"""
The sections of a report after its first lines: settings, everything that happened in its order, events, unfired rules.

It reads the views of the control plane, in which keys are redacted.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from operator import itemgetter
from typing import Any, get_args

from mockserver._json import View
from mockserver.core.instants import format_exact, from_datetime, parse
from mockserver.core.state.outbox import Forgery
from mockserver.report.run import hints
from mockserver.report.run.commands import format_command
from mockserver.report.run.exchanges import (
    Exchange,
    format_body,
    format_line,
    shorten,
)
from mockserver.report.run.rules import format_change, render_unfired_rules
from mockserver.report.run.snapshot import SandboxSnapshot
from mockserver.report.run.timeline import Row, collapse_repeats, dated, truncate_middle

_TAIL = 30  # the number of events in a report


def render_sections(snapshot: SandboxSnapshot, cited: Container[int], nearest: int | None) -> Iterator[str]:
    """Yield the lines of the section after its cause, whose calls are `cited`."""
    yield from _render_settings(snapshot)
    if snapshot.exchanges or snapshot.transitions or snapshot.steps:
        yield "what happened:"
        rows = [row for _, row in sorted(_history(snapshot, cited, nearest), key=itemgetter(0))]
        yield from dated(truncate_middle(list(collapse_repeats(rows))))
    if snapshot.events:
        yield "events:"
        if len(snapshot.events) > _TAIL:
            yield f"  ... {len(snapshot.events) - _TAIL} earlier"
        yield from dated((f"  {_format_event(event)}", _date(event["at"])) for event in snapshot.events[-_TAIL:])
    idle = [rule for rule in snapshot.rules if not rule["fired"]]
    if idle:
        yield "rules that never fired:"
        yield from render_unfired_rules(idle, snapshot.exchanges)


def _render_settings(snapshot: SandboxSnapshot) -> Iterator[str]:
    """Yield clock, seed and choices, each with the source of its setting, if it has one."""
    sources, now = snapshot.sources, snapshot.clock["now"]
    clock = f"clock at {now}" if snapshot.clock["frozen"] else f"clock follows the process, now {now}"
    clock += _source(sources, "now") if "now" in snapshot.settings else ""
    scenario = snapshot.settings.get("scenario")
    name = scenario.get("scenario", "a document") if isinstance(scenario, Mapping) else scenario
    initial = f", scenario {name}{_source(sources, 'scenario')}" if name is not None else ""
    yield f"{snapshot.id}: {clock}, seed {snapshot.seed}{_source(sources, 'seed')}{initial}"
    yield from differing_clocks(snapshot)
    if snapshot.calls_without_prefix and snapshot.exchanges:
        yield calls_without_prefix(snapshot)
    yield from choices_in_force(snapshot)


def differing_clocks(snapshot: SandboxSnapshot) -> Iterator[str]:
    """Yield the lines about clocks of the process and of the sandbox that differ, with a fix."""
    if snapshot.apart is None:
        return
    process, n = snapshot.apart["process"], snapshot.apart["exchange"]
    when = "" if n is None else f" (at call #{n})"
    if n is None:
        fix = hints.catch_up(snapshot)
    elif any(step["command"] in ("advance", "set_clock") for step in snapshot.steps):
        fix = "a command that advances this sandbox's clock does not advance the process's"
    else:
        fix = hints.same_instant(snapshot, process)
    yield f"two clocks: the process is at {process}, this sandbox at {snapshot.apart['sandbox']}{when}; {fix}"


def calls_without_prefix(snapshot: SandboxSnapshot) -> str:
    """Return the line about calls without a sandbox's prefix, and the usual cause."""
    count = snapshot.calls_without_prefix
    calls = "1 call" if count == 1 else f"{count} calls"
    prefix = f"/sandboxes/{snapshot.id}"
    return f'{calls} arrived without its prefix {prefix}: urljoin(base_url, "/v1/...") drops it; `own_port=True` gives an address without one'


def choices_in_force(snapshot: SandboxSnapshot) -> list[str]:
    """Return the line about the choices that differ from their default, if there are any."""
    return ["choices: " + ", ".join(_format_choices(snapshot))] if snapshot.choices else []


def _format_choices(snapshot: SandboxSnapshot) -> Iterator[str]:
    """Return each choice with the source of its value; a profile is one row with the number of its choices."""
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


Place = tuple[int, int, float]


def _history(snapshot: SandboxSnapshot, cited: Container[int], nearest: int | None) -> Iterator[tuple[Place, Row]]:
    """Yield calls, changes and commands, each with its place in the order."""
    # The last change that a client could receive before the answer to its call.
    causes = ((change["cause"].get("beforeAnswer"), change["n"]) for change in snapshot.transitions)
    early = {call: n for call, n in causes if call is not None}
    for call in snapshot.exchanges:
        row = _call_row(call, call.n in cited, call.n == nearest)
        if call.n in early:  # what the client received first is shown first
            arrival = f"  {row.time}  #{call.n} {call.operation or call.method} arrives"
            yield (call.n, 0, 0), Row([arrival], date=row.date)
            row = row._replace(call=None)
        yield (call.n, 1, early[call.n] + 0.2) if call.n in early else (call.n, 0, 0), row
    for step in snapshot.steps:
        row = Row([f"  {_time(step['at'])}  {_format_step(step)}"], command=step["command"], date=_date(step["at"]))
        yield (step["exchanges"], 1, step["transitions"] + 0.5), row
    after, places = 0, _Places(snapshot)
    for change in snapshot.transitions:
        after = max(after, places.after(change))  # changes stay in their own order, with or without a known cause
        yield (
            (after, 1, change["n"]),
            Row([f"  {_time(change['at'])}     {_format_change(change)}"], date=_date(change["at"])),
        )


class _Places:
    """The calls before each change, by the change's cause, or by the order of commands and calls."""

    def __init__(self, snapshot: SandboxSnapshot) -> None:
        self._snapshot = snapshot
        self._times = [from_datetime(call.at) for call in snapshot.exchanges]
        self._changes = [step["transitions"] for step in snapshot.steps]

    def after(self, change: View) -> int:
        """Return the number of the exchange, 0 if there was none."""
        if "exchange" in change["cause"]:
            return int(change["cause"]["exchange"])
        at = parse(change["at"])
        calls = bisect_left(self._times, at[0]) if at is not None else 0
        steps = bisect_left(self._changes, change["n"])
        by_time = self._snapshot.exchanges[calls - 1].n if calls else 0
        return max(by_time, self._snapshot.steps[steps - 1]["exchanges"] if steps else 0)


def _call_row(call: Exchange[Any, Any], is_cited: bool, is_nearest: bool) -> Row:
    """Return a call as one line; with an error, a fault or as the nearest call also with its bodies, as a cited call with its request."""
    at = format_exact(from_datetime(call.at))
    lines = [f"  {_time(at)}  {format_line(call)}"]
    is_plain = call.status is not None and call.status < 400 and not call.fault
    body = format_body(call)
    request = [f"                sent      {shorten(body)}"] if body is not None else []
    if is_plain and not is_nearest:
        lines += request if is_cited and body else []
        return Row(lines, None if is_cited else call, pinned=is_cited, date=_date(at))
    lines += request
    if call.status is not None and call.body_received is not None:
        lines.append(f"                answered  {shorten(call.body_received)}")
    if call.reason:
        lines.append(f"                because   {shorten(call.reason)}")
    return Row(lines, pinned=is_cited or is_nearest, date=_date(at))


def _format_step(step: View) -> str:
    command, arguments = step["command"], step["arguments"]
    if command == "visit":
        return f"end user: {arguments['method']} of the hosted page"
    if command != "call":
        if command == "advance":  # a wait of the client is one too
            seconds = arguments.get("by")
            given = {"by": f"{seconds:g} s"} if isinstance(seconds, int | float) else arguments
            return f"clock: {format_command(command, given)}"
        return f"test: {format_command(command, arguments)}"
    waits = arguments["waits"]  # over a socket only the client has its timeout
    timeout = f"; its client waits {waits:g} s" if isinstance(waits, int | float) else ""
    return f"a rule delays {arguments['method']} {arguments['path']}{timeout}"


def _format_change(change: View) -> str:
    causes = ", ".join(
        f"before the answer to #{value}" if key == "beforeAnswer" else f"{key} {value}"
        for key, value in change["cause"].items()
    )
    cause = "" if "exchange" in change["cause"] else f"  ({causes})"
    return f"{format_change(change)}{cause}"


def _format_event(event: View) -> str:
    deliveries = [
        f"{delivery['endpoint']}: {delivery['status']} after {', '.join(map(_format_attempt, delivery['attempts'])) or 'no attempt'}"
        for delivery in event.get("deliveries", ())
    ]
    return f"{_time(event['at'])}  {event['event']} {event['id']} -> {'; '.join(deliveries) or 'no endpoint'}"


def _format_attempt(attempt: View) -> str:
    status, error = attempt.get("status"), attempt.get("error")
    outcome = f"{status} ({error})" if status and error else str(status or error or "in progress")
    label = extra(attempt)
    return f"{outcome} to {label}" if label else outcome


def extra(attempt: View) -> str | None:
    """Return the text about a request that a rule has sent in addition to the event; None for the genuine request."""
    fault = attempt.get("fault")
    if is_forged(attempt):
        return f"a forged request ({fault})"
    return {None: None, "duplicate": "a duplicate", "unknown-kind": "an event of an unknown kind"}.get(fault, fault)


def is_forged(attempt: View) -> bool:
    """Return True for a request that a receiver has to refuse."""
    return attempt.get("fault") in get_args(Forgery)


def _date(instant: str) -> str:
    return instant[:10]


def _time(instant: str) -> str:
    """Return the time of day of an instant, with milliseconds if it has any."""
    return instant[11:].removesuffix("Z")[:12]
