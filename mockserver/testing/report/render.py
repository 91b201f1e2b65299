"""
The report of a failing test about a sandbox: the most likely cause, then everything that happened in its order.

It reads the views of the control plane, in which keys are redacted.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, get_args

from mockserver.conduct.rules import Finding
from mockserver.core.instants import format_exact, from_datetime, parse
from mockserver.core.state.outbox import Forgery
from mockserver.scenario.rule_parser import describe_rule
from mockserver.testing.calls import Exchange, differences, format_body, format_differences, format_line, shorten
from mockserver.testing.report import replay
from mockserver.testing.report.timeline import Row, collapse_repeats, truncate_middle
from mockserver.testing.settings import Settings

JSON = Mapping[str, Any]
_TAIL = 30  # the number of events in a report


class SandboxSnapshot(NamedTuple):
    """
    The views of a sandbox that a report needs; the same for a sandbox in this process and a remote one.

    `steps` are what was done beside the API, `deferred` the calls that a rule keeps waiting, `next_timer` what time does next,
    `findings` the worst conduct first. `name` is what the test calls the sandbox, `is_async` whether it runs in a loop,
    `strays` the number of calls without a sandbox's prefix; `unmoved` and `apart` are of the steps' view.
    """

    id: str
    address: str | None
    clock: JSON
    seed: int
    choices: Mapping[str, Any]
    settings: Settings
    exchanges: Sequence[Exchange[Any, Any]]
    transitions: Sequence[JSON]
    steps: Sequence[JSON]
    events: Sequence[JSON]
    rules: Sequence[JSON]
    deferred: Sequence[JSON]
    next_timer: JSON | None
    findings: Sequence[Finding] = ()
    unmoved: JSON | None = None
    apart: JSON | None = None
    name: str = "mockserver"
    is_async: bool = False
    strays: int = 0


def render_sections(seen: SandboxSnapshot, cited: Container[int], nearest: int | None) -> Iterator[str]:
    """Yield the lines of the section after its cause, whose calls are `cited`."""
    yield from _render_settings(seen)
    if seen.exchanges or seen.transitions or seen.steps:
        yield "what happened:"
        rows = [row for _, row in sorted(_history(seen, cited, nearest), key=itemgetter(0))]
        yield from truncate_middle(list(collapse_repeats(rows)))
    if seen.events:
        yield "events:"
        if len(seen.events) > _TAIL:
            yield f"  ... {len(seen.events) - _TAIL} before these"
        yield from (f"  {_event(each)}" for each in seen.events[-_TAIL:])
    idle = [rule for rule in seen.rules if not rule["fired"]]
    if idle:
        yield "rules that never fired:"
        yield from render_unfired_rules(idle, seen.exchanges)


def _render_settings(seen: SandboxSnapshot) -> Iterator[str]:
    """Yield clock, seed and choices, each with the source of its setting, if it has one."""
    source = seen.settings.sources
    said = f" ({source['now']})" if "now" in source and "now" in seen.settings.values else ""
    stands = "clock stands at" if seen.clock["frozen"] else "clock follows the process's, now"
    seed = f", seed {seen.seed}{_by(source, 'seed')}"
    scenario = seen.settings.get("scenario")
    name = scenario.get("scenario", "a document") if isinstance(scenario, Mapping) else scenario
    born = f", scenario {name}{_by(source, 'scenario')}" if name is not None else ""
    yield f"{seen.id}: {stands} {seen.clock['now']}{said}{seed}{born}"
    yield from _apart(seen)
    if seen.strays and seen.exchanges:
        yield strayed(seen)
    if seen.choices:
        yield "choices: " + ", ".join(_chosen(seen))


def _apart(seen: SandboxSnapshot) -> Iterator[str]:
    """Yield the lines about clocks of the process and of the sandbox that differ, with a fix."""
    if seen.apart is None:
        return
    process, n = seen.apart["process"], seen.apart["exchange"]
    when = "" if n is None else f" (at call #{n})"
    if n is None:
        cure = f"{seen.name}.follow(catch_up=True) goes to the process's instant"
    elif any(step["command"] in ("advance", "set_clock") for step in seen.steps):
        cure = "what moves this sandbox's clock does not move the process's"
    else:
        cure = f"@pytest.mark.mockserver(now={process!r}) gives both one instant, or a fixture that freezes before this one"
    yield f"two clocks: the process is at {process}, this sandbox at {seen.apart['sandbox']}{when}; {cure}"


def strayed(seen: SandboxSnapshot) -> str:
    """Return the line about calls without a sandbox's prefix, and the usual cause."""
    calls = "1 call" if seen.strays == 1 else f"{seen.strays} calls"
    return f'{calls} arrived without its prefix /sandboxes/{seen.id}: urljoin(base_url, "/v1/...") drops it; `own_port=True` gives an address without one'


def _chosen(seen: SandboxSnapshot) -> Iterator[str]:
    """Return each choice with the source of its value; a profile is one row with the number of its choices."""
    sources = {choice: _chosen_by(seen, choice) for choice in seen.choices}
    profiles = Counter(source for source in sources.values() if source.startswith(" (profile "))
    yield from (f"{count} as in {source.strip(' ()')}" for source, count in profiles.items())
    for choice, source in sources.items():
        if source not in profiles:
            yield f"{choice}={shorten(seen.choices[choice])}{source}"


def _by(sources: Mapping[str, str], name: str) -> str:
    return f" ({sources[name]})" if name in sources else ""


def _chosen_by(seen: SandboxSnapshot, choice: str) -> str:
    """Return the source of a choice: a setting, if the choice still has its value, else the scenario or the test."""
    settings = seen.settings
    if (settings.get("choices") or {}).get(choice) == seen.choices[choice]:
        return _by(settings.sources, choice)
    by_test = any(step["command"] == "choose" and choice in step["arguments"] for step in seen.steps)
    return " (set meanwhile)" if by_test else " (scenario)"


Place = tuple[int, int, float]


def _history(seen: SandboxSnapshot, cited: Container[int], nearest: int | None) -> Iterator[tuple[Place, Row]]:
    """Yield calls, changes and commands, each with its place in the order."""
    for each in seen.exchanges:
        yield (each.n, 0, 0), _call(each, each.n in cited, each.n == nearest)
    for step in seen.steps:
        row = Row([f"  {_time(step['at'])}  {_step(step)}"], command=step["command"])
        yield (step["exchanges"], 1, step["transitions"] + 0.5), row
    after, places = 0, _Places(seen)
    for moved in seen.transitions:
        after = max(after, places.after(moved))  # changes stay in their own order, with or without a known cause
        yield (after, 1, moved["n"]), Row([f"  {_time(moved['at'])}     {_move(moved)}"])


class _Places:
    """Return the number of the call before a change, by its cause, or by the order of commands and calls."""

    def __init__(self, seen: SandboxSnapshot) -> None:
        self._seen = seen
        self._times = [from_datetime(each.at) for each in seen.exchanges]
        self._changes = [step["transitions"] for step in seen.steps]

    def after(self, moved: JSON) -> int:
        """Return the number of the exchange, 0 if there was none."""
        if "exchange" in moved["cause"]:
            return int(moved["cause"]["exchange"])
        at = parse(moved["at"])
        calls = bisect_left(self._times, at[0]) if at is not None else 0
        steps = bisect_left(self._changes, moved["n"])
        by_time = self._seen.exchanges[calls - 1].n if calls else 0
        return max(by_time, self._seen.steps[steps - 1]["exchanges"] if steps else 0)


def _call(each: Exchange[Any, Any], is_cited: bool, is_nearest: bool) -> Row:
    """Return a call as one line; with an error, a fault or as the nearest call also with its bodies, as a cited call with its request."""
    rows = [f"  {_time(format_exact(from_datetime(each.at)))}  {format_line(each)}"]
    is_plain = each.status is not None and each.status < 400 and not each.fault
    asked = [f"                sent      {shorten(format_body(each))}"] if format_body(each) is not None else []
    if is_plain and not is_nearest:
        rows += asked if is_cited and format_body(each) else []
        return Row(rows, None if is_cited else each, pinned=is_cited)
    rows += asked
    if each.status is not None and each.body_received is not None:
        rows.append(f"                answered  {shorten(each.body_received)}")
    if each.reason:
        rows.append(f"                because   {shorten(each.reason)}")
    return Row(rows, pinned=is_cited or is_nearest)


def _step(step: JSON) -> str:
    command, said = step["command"], step["arguments"]
    if command == "visit":
        return f"end user: {said['method']} of the hosted page"
    if command != "call":
        return f"test: {replay.step(command, said)}"
    waits = said["waits"]  # over a socket only the client has its timeout
    patience = f"; its client waits {waits:g} s" if isinstance(waits, int | float) else ""
    return f"a rule holds {said['method']} {said['path']}{patience}"


def _move(moved: JSON) -> str:
    source = f"{moved['from']} -> " if moved["from"] else ""
    cause = (
        ""
        if "exchange" in moved["cause"]
        else f"  ({', '.join(f'{key} {value}' for key, value in moved['cause'].items())})"
    )
    return f"{moved['kind']} {moved['id']}: {source}{moved['to']}{cause}"


def _event(event: JSON) -> str:
    deliveries = [
        f"{each['endpoint']}: {each['status']} after {', '.join(map(_attempt, each['attempts'])) or 'no attempt'}"
        for each in event.get("deliveries", ())
    ]
    return f"{_time(event['at'])}  {event['event']} {event['id']} -> {'; '.join(deliveries) or 'no endpoint'}"


def _attempt(attempt: JSON) -> str:
    status, error = attempt.get("status"), attempt.get("error")
    outcome = f"{status} ({error})" if status and error else str(status or error or "under way")
    label = extra(attempt)
    return f"{outcome} to {label}" if label else outcome


def extra(attempt: JSON) -> str | None:
    """Return the text about a request that a rule has sent in addition to the event; None for the genuine request."""
    fault = attempt.get("fault")
    if is_forged(attempt):
        return f"a forged request ({fault})"
    return {None: None, "duplicate": "a duplicate", "unknown-kind": "an event of an unknown kind"}.get(fault, fault)


def is_forged(attempt: JSON) -> bool:
    """Return True for a request that a receiver has to refuse."""
    return attempt.get("fault") in get_args(Forgery)


def render_unfired_rules(rules: Iterable[JSON], exchanges: Sequence[Exchange[Any, Any]]) -> list[str]:
    """Return the rules that never fired: the condition of each, its number of matches, and the nearest call."""
    return [
        row for rule in rules for row in (f"  {_waits(rule)}; {_matched(rule['matched'])}", *_nearly(rule, exchanges))
    ]


def _waits(rule: JSON) -> str:
    born = f" (scenario {rule['scenario']})" if rule["scenario"] else ""
    return f"{rule['id']}{born} {describe_rule(rule)}"


def _nearly(rule: JSON, exchanges: Sequence[Exchange[Any, Any]]) -> list[str]:
    """Return the call of the rule's operation with the fewest differences, if its `where` matched none."""
    if rule["matched"] or not rule.get("where"):
        return []
    compared = [(differences(each, rule["where"]), each) for each in exchanges if each.operation == rule["on"]]
    found, near = min(compared, key=lambda pair: (len(pair[0]), -pair[1].n), default=((), None))
    return (
        [f"    nearest is {format_line(near)}:{format_differences(found)[0][1:]}"] if near is not None and found else []
    )


def _matched(count: int) -> str:
    return "nothing matched" if count == 0 else "matched once" if count == 1 else f"matched {count} times"


def _time(written: str) -> str:
    """Return the time of day of an instant, with milliseconds if it has any."""
    return written[11:].removesuffix("Z")[:12]
