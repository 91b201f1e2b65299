"""Clocks: one that stands while a client waits for it, a session whose user has not acted, clocks that differ."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Final, NamedTuple

from mockserver._json import View
from mockserver.contract.durations import duration_text
from mockserver.contract.endpoints import is_creation_of, is_read_of
from mockserver.core.instants import MILLISECOND, SECOND, parse
from mockserver.report.problem import ADVANCE, Action, Problem
from mockserver.report.run import hints, words
from mockserver.report.run.failure import Failure
from mockserver.report.run.snapshot import SandboxSnapshot
from mockserver.report.run.words import Call

_IDLE_LEAST_S: Final = 0.5  # real time without a call in a test that was stopped
_POLL_GAP_LEAST_S, _POLLS_LONG_S = 0.01, 2.0  # real time between two polls, and of all polls
_TOO_MANY_REQUESTS: Final = 429
_EXPIRY: Final = "expir"  # in English and in Portuguese
_CLOCK_COMMANDS: Final = ("advance", "set_clock")
# Exceptions about what the client has, which no wait would change.
_OF_VALUES: Final = ("TypeError", "KeyError", "AttributeError", "IndexError", "ValueError")
_EXPIRES: Final = "session.expire"  # the one timer that is no progress
_HELD_BY_A_RULE: Final = ("call.arrive", "delivery.wake", "rule.fire")


class Due(NamedTuple):
    """The next timer of a frozen clock: the seconds until it, rounded up, as text, and what it is in words."""

    seconds: str
    what: str


def waits(snapshot: SandboxSnapshot, failure: Failure | None) -> Iterator[Problem]:
    """Yield a client that waits in real time while the clock does not move."""
    unmoved = snapshot.unmoved
    calls = [call for call in snapshot.exchanges if unmoved and unmoved["first"] <= call.n <= unmoved["last"]]
    if unmoved is None or not calls:
        return
    if snapshot.next_timer is None and calls[-1].status != _TOO_MANY_REQUESTS:
        return  # a clock that moves would not have changed the responses
    headline = _waiting(snapshot, unmoved, calls[-1], failure)
    if headline:
        yield Problem(
            headline=f"the clock did not move: {headline}",
            rank="cause",
            calls=[words.call_line(call) for call in calls],
            advice=_fix(snapshot),
            actions=_advance(snapshot),
        )
        yield from pending_session(snapshot, failure)


def _waiting(snapshot: SandboxSnapshot, unmoved: View, last: Call, failure: Failure | None) -> str:
    """Return how the client has waited; empty if it has not."""
    was_stopped = failure is not None and failure.is_stop
    count, seconds = unmoved["calls"], unmoved["seconds"]
    if count > 1 and seconds >= _IDLE_LEAST_S:
        # Calls in close succession, such as those of a test under `@given`, are no wait.
        is_slow = seconds / (count - 1) >= _POLL_GAP_LEAST_S or seconds >= _POLLS_LONG_S
        if is_slow or was_stopped:
            name = last.operation or f"{last.method} {last.path}"
            return f"the client sent {name} {count} times in {duration_text(round(seconds * SECOND))}"
    if was_stopped and unmoved["idleSeconds"] >= _IDLE_LEAST_S:
        idle = duration_text(round(unmoved["idleSeconds"] * SECOND))
        newest = snapshot.exchanges[-1]
        return f"the test was stopped {idle} after its last call, {newest.operation or newest.path}"
    return ""


def _fix(snapshot: SandboxSnapshot) -> str:
    """Return the way in which the client's waits advance the clock, and the time to the next timer."""
    sleep, due = hints.sleep(snapshot), next_due(snapshot)
    if _pending(snapshot) is not None:
        return sleep  # until its user acts; an advance would only let the session expire
    if due is None:
        return f"{sleep}, which advances this clock instead of waiting" if snapshot.is_python else sleep
    return f"{sleep}, or call {hints.advance(snapshot, due.seconds)}: {due.what} is due in {due.seconds} s"


def next_due(snapshot: SandboxSnapshot) -> Due | None:
    """Return the next timer of a frozen clock."""
    if snapshot.next_timer is None or not snapshot.clock["frozen"]:
        return None
    now, due = parse(snapshot.clock["now"]), parse(snapshot.next_timer["at"])
    assert now is not None and due is not None
    seconds = f"{ceil(max(0, due[0] - now[0]) / MILLISECOND) / 1000:.12g}"
    return Due(seconds, words.timer(snapshot.next_timer["what"], snapshot.next_timer["id"], snapshot.names))


def _advance(snapshot: SandboxSnapshot) -> list[Action]:
    timer = snapshot.next_timer
    if timer is None:
        return []
    body = {"to": timer["at"]}
    return [Action(label="advance to the due instant", method="POST", path=ADVANCE, body=body)]


def due(snapshot: SandboxSnapshot, failure: Failure | None) -> Iterator[Problem]:
    """Yield a frozen clock while something is due, which a waiting test may have overlooked."""
    if next_due(snapshot) is not None and failure is not None and _is_of_time(snapshot, failure):
        yield Problem(
            headline=f"the clock is frozen at {snapshot.clock['now']}",
            advice=_fix(snapshot),
            actions=_advance(snapshot),
        )


def _is_of_time(snapshot: SandboxSnapshot, failure: Failure) -> bool:
    """Return True unless no wait would change how the test failed: by its calls, by a value that it has, by a lost answer."""
    if failure.expected is not None or (failure.raised or "").startswith(_OF_VALUES):
        return False
    is_expiry = snapshot.next_timer is not None and snapshot.next_timer["what"] == _EXPIRES
    return not is_expiry or _EXPIRY in failure.line.lower()


def held(snapshot: SandboxSnapshot, failure: Failure | None) -> Iterator[Problem]:
    """Yield a frozen clock while what a rule holds back is due."""
    if snapshot.next_timer is not None and snapshot.next_timer["what"] in _HELD_BY_A_RULE:
        yield from due(snapshot, failure)


def pending_session(snapshot: SandboxSnapshot, failure: Failure | None) -> Iterator[Problem]:
    """Yield a session whose end user has not acted yet."""
    session_id = _pending(snapshot)
    if session_id is not None:
        yield Problem(
            headline="the connection session is still pending: its user has not acted",
            calls=[words.call_line(snapshot.exchanges[-1])],
            advice=hints.end_session(snapshot, session_id),
            ids=[session_id],
        )


def _pending(snapshot: SandboxSnapshot) -> str | None:
    """Return the id of the latest session if it is pending and the latest call is about it."""
    changes = [change for change in snapshot.transitions if change["kind"] == "session"]
    last = snapshot.exchanges[-1].operation if snapshot.exchanges else None
    is_asked = is_creation_of(last, "session") or is_read_of(last, "session")
    return str(changes[-1]["id"]) if is_asked and changes and changes[-1]["to"] == "pending" else None


def apart(snapshot: SandboxSnapshot, failure: Failure | None) -> Iterator[Problem]:
    """Yield the clocks of the process and of the sandbox if they differ."""
    if snapshot.apart is None:
        return
    process, n = snapshot.apart["process"], snapshot.apart["exchange"]
    if n is None:
        fix = hints.catch_up(snapshot)
    elif any(step["command"] in _CLOCK_COMMANDS for step in snapshot.steps):
        fix = "a command that advances this sandbox's clock does not advance the process's"
    else:
        fix = hints.same_instant(snapshot, process)
    yield Problem(
        headline=f"two clocks: the process is at {process}, this sandbox at {snapshot.apart['sandbox']}",
        calls=[words.call_line(call) for call in snapshot.exchanges if call.n == n],
        advice=fix,
    )
