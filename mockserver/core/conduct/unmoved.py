"""
Waits of a client during which the sandbox's clock did not move, and a process whose clock differs from the sandbox's.

1. A poll is a GET that succeeds or is not found, or any call that meets a rate limit; what a rule delays is not one.
2. Polls count from the last call that is not one, at one instant of the clock, up to the newest; a final status ends them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from mockserver.core.conduct.evidence import FINAL, caller, json_of, request_of
from mockserver.core.instants import SECOND, Instant, Span
from mockserver.core.journal import Exchange
from mockserver.core.sandbox import Sandbox

_LEAST = SECOND // 2  # of real time; whoever calls again sooner does not wait for anything
_HELD = frozenset(("delay", "delay-after", "dribble"))
_TOO_MANY = 429
_DIFFERS = SECOND


class Unmoved(NamedTuple):
    """
    Calls of one request at one instant of the sandbox's clock.

    `first` and `last` are the numbers of the exchanges, `spent` is the real time between them, and `idle` the real time
    since the sandbox's last call.
    """

    first: int
    last: int
    calls: int
    spent: Span
    idle: Span


class Apart(NamedTuple):
    """Two clocks that differ: the process's and the sandbox's, at exchange `n` or, if that is None, now."""

    process: Instant
    sandbox: Instant
    n: int | None


def unmoved(sandbox: Sandbox, real: Span | None) -> Unmoved | None:
    """Return the waits since the clock last moved, if they took half a second of real time; `real` is the stopwatch."""
    exchanges = sandbox.journal.exchanges
    last = exchanges[-1] if exchanges else None
    if last is None or last.real is None or (sandbox.clock.frozen and sandbox.now != last.at):
        return None
    polls = max(_polls(sandbox), key=_spent, default=[last])
    waits = sandbox.clock.frozen and not _is_call_held(sandbox)
    idle = real - last.real if waits and real is not None else 0
    if max(_spent(polls), idle) < _LEAST:
        return None
    return Unmoved(polls[0].n, polls[-1].n, len(polls), _spent(polls), idle)


def _polls(sandbox: Sandbox) -> Iterator[list[Exchange]]:
    """The polls of each caller and request since the clock last moved, oldest first."""
    found: dict[Any, list[Exchange]] = {}
    exchanges = sandbox.journal.exchanges
    for each in reversed(exchanges):
        if each.at != exchanges[-1].at or (each.call.method != "GET" and each.status != _TOO_MANY):
            break
        if _is_poll(each):
            found.setdefault((caller(each), request_of(each)), []).append(each)
    for polls in found.values():
        answer = json_of(polls[0].answer)
        if not (isinstance(answer, dict) and answer.get("status") in FINAL):
            yield polls[::-1]


def _is_poll(exchange: Exchange) -> bool:
    if exchange.real is None or (exchange.fault is not None and not _HELD.isdisjoint(exchange.fault.effects)):
        return False
    status = exchange.status or 0
    return status == _TOO_MANY or 200 <= status < 300 or status == 404


def _spent(polls: list[Exchange]) -> Span:
    return (polls[-1].real or 0) - (polls[0].real or 0)


def _is_call_held(sandbox: Sandbox) -> bool:
    """Return True if a rule holds a call, or its answer: its client waits for that."""
    journal = sandbox.journal
    is_arriving = any(step.command == "call" and step.exchanges >= journal.last_exchange for step in journal.steps)
    return is_arriving or bool(sandbox.script.parked) or journal.exchanges[-1].is_held


def apart(sandbox: Sandbox, process: Instant) -> Apart | None:
    """
    Return the clocks if they differ by a second: at the last call if the process was frozen then, or now if the
    sandbox follows the process's clock from the past. `process` is the process's instant.
    """
    last = sandbox.journal.exchanges[-1] if sandbox.journal.exchanges else None
    if last is not None and last.process is not None:
        return Apart(last.process, last.at, last.n) if abs(last.process - last.at) >= _DIFFERS else None
    if sandbox.clock.frozen or sandbox.clock.lead > -_DIFFERS:
        return None
    return Apart(process, sandbox.read_clock(), None)
