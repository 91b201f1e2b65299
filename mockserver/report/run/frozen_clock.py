"""
Waits in real time while the sandbox's clock did not move, and clocks that differ.

1. A poll is a GET that succeeds or is not found, or any call that gets a 429; a call that a rule delays is not one.
2. Polls count from the last call that is not one, at one instant of the clock, up to the newest; a final status ends them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from mockserver.contract.effects import WAITING
from mockserver.contract.lifecycles import CAMPAIGN, SESSION
from mockserver.contract.text import json_value
from mockserver.core.instants import SECOND, Duration, Instant
from mockserver.core.run import Run
from mockserver.core.state.journal import JournalEntry
from mockserver.trace.of_sandbox import request_of

_TOO_MANY: Final = 429
_FINAL: Final = frozenset((*CAMPAIGN.final, *SESSION.final))
_LEAST_REPEATS: Final = SECOND // 2  # of real time; a client that calls again sooner does not wait
_DIFFERS: Final = SECOND


class FrozenClockPolls(NamedTuple):
    """
    Polls by one request at one instant of the sandbox's clock, which therefore show no change.

    `first` and `last` are the numbers of the exchanges, `spent` is the real time between them, and `idle` the real time
    since the sandbox's last call.
    """

    first: int
    last: int
    calls: int
    spent: Duration
    idle: Duration


class ClockDifference(NamedTuple):
    """Two clocks that differ: the process's and the sandbox's, at exchange `n` or, if that is None, now."""

    process: Instant
    sandbox: Instant
    n: int | None


def unmoved(run: Run, real: Duration | None) -> FrozenClockPolls | None:
    """Return the waits since the clock last moved, if they took half a second of real time; `real` is the stopwatch."""
    exchanges = run.exchanges
    last = exchanges[-1] if exchanges else None
    if last is None or last.monotonic_us is None or (run.clock.frozen and run.now != last.at):
        return None
    polls = max(_polls(run), key=_spent, default=[last])
    # A call that a rule holds, or whose response it holds: the client waits for that, and not for the clock.
    is_held = last.is_held or bool(run.deferred)
    is_held |= any(step.command == "call" and step.exchanges >= run.last_exchange for step in run.commands)
    idle = real - last.monotonic_us if run.clock.frozen and not is_held and real is not None else 0
    if max(_spent(polls), idle) < _LEAST_REPEATS:
        return None
    return FrozenClockPolls(first=polls[0].n, last=polls[-1].n, calls=len(polls), spent=_spent(polls), idle=idle)


def _polls(run: Run) -> Iterator[list[JournalEntry]]:
    """Yield the polls of each caller and request since the clock last moved, oldest first."""
    groups: dict[object, list[JournalEntry]] = {}
    exchanges = run.exchanges
    since = exchanges[-1].at
    for exchange in reversed(exchanges):
        if exchange.at != since or (exchange.call.method != "GET" and exchange.status != _TOO_MANY):
            break
        if _is_poll(exchange):
            groups.setdefault(request_of(exchange), []).append(exchange)
    for polls in groups.values():
        answer = json_value(polls[0].answer)
        if not (isinstance(answer, dict) and answer.get("status") in _FINAL):
            yield polls[::-1]


def _is_poll(exchange: JournalEntry) -> bool:
    if exchange.monotonic_us is None or (exchange.fault is not None and not WAITING.isdisjoint(exchange.fault.effects)):
        return False
    status = exchange.status or 0
    return status == _TOO_MANY or 200 <= status < 300 or status == 404


def _spent(polls: Sequence[JournalEntry]) -> Duration:
    return (polls[-1].monotonic_us or 0) - (polls[0].monotonic_us or 0)


def apart(run: Run, process: Instant) -> ClockDifference | None:
    """
    Return the clocks if they differ by a second: at the last call if the process was frozen then, or now if the
    sandbox follows the process's clock from the past. `process` is the process's instant.
    """
    last = run.exchanges[-1] if run.exchanges else None
    if last is not None and last.process is not None:
        return ClockDifference(last.process, last.at, last.n) if abs(last.process - last.at) >= _DIFFERS else None
    if run.clock.frozen or run.clock.lead > -_DIFFERS:
        return None
    return ClockDifference(process, run.read_at, None)
