"""Lines of a failing test's report about a frozen clock while the test waits."""

from __future__ import annotations

from math import ceil

import pytest

from mockserver.contract.durations import duration_text
from mockserver.core.instants import MILLISECOND, SECOND, parse
from mockserver.testing.report.render import JSON, SandboxSnapshot

_LEAST_S = 0.5  # seconds of real time without a call in a test that was stopped
_PAUSE_S, _LONG_S = 0.01, 2.0  # seconds between two polls, and of all polls
_TOO_MANY = 429
_TIMEOUTS = ("Timeout >", "Timeout (>")  # the messages of pytest-timeout before version 2.4 and since


_OF_SESSIONS = ("createConnectionSession", "readConnectionSession")


def waiting(seen: SandboxSnapshot, operation: str | None) -> list[str]:
    """Return the line about a session whose end user has not acted yet."""
    moves = [each for each in seen.transitions if each["kind"] == "session"]
    if operation not in _OF_SESSIONS or not moves or moves[-1]["to"] != "pending":
        return []
    return [
        f"  session {moves[-1]['id']} is still pending: complete_session(id) or end_user(id) of the sandbox plays its user"
    ]


class Stopped(Exception):
    """Stands for the end of a test that was stopped while it ran, if it has no exception that shows this."""


def was_stopped(failure: BaseException | None) -> bool:
    """Return True if Ctrl-C or a timeout ended the test."""
    if isinstance(failure, KeyboardInterrupt | Stopped):
        return True
    return isinstance(failure, pytest.fail.Exception) and str(failure).startswith(_TIMEOUTS)


def unmoved(seen: SandboxSnapshot, failure: BaseException | None) -> list[str]:
    """Return the lines about a client that waits in real time while the clock does not move, and a fix; else none."""
    waits = seen.unmoved
    if waits is None:
        return []
    last = next((each for each in seen.exchanges if each.n == waits["last"]), None)
    is_limited = last is not None and last.status == _TOO_MANY
    if last is None or (seen.next_timer is None and not is_limited):
        return []  # no clock would have changed what it read
    if waits["calls"] > 1 and waits["seconds"] >= _LEAST_S and _is_waiting(waits, failure):
        spent = duration_text(round(waits["seconds"] * SECOND))
        waited = f"the client sent {last.method} {last.path} {waits['calls']} times in {spent}"
        numbers = f"#{waits['first']} to #{waits['last']}"
    elif was_stopped(failure) and waits["idleSeconds"] >= _LEAST_S:
        newest, idle = seen.exchanges[-1], duration_text(round(waits["idleSeconds"] * SECOND))
        waited = f"the test was stopped {idle} after its last call, {newest.method} {newest.path}"
        numbers = f"#{newest.n}"
    else:
        return []
    first = f"Time stands still: {waited}, and the clock of {seen.id} did not move ({numbers})"
    return [first, f"  {_cure(seen)}", *waiting(seen, last.operation)]


def _is_waiting(waits: JSON, failure: BaseException | None) -> bool:
    """Return False for calls in close succession, such as those of a test under `@given`."""
    is_slow = waits["seconds"] / (waits["calls"] - 1) >= _PAUSE_S or waits["seconds"] >= _LONG_S
    return is_slow or was_stopped(failure)


def _cure(seen: SandboxSnapshot) -> str:
    """Return the way in which the client's waits advance the clock, and the time to the next timer."""
    sleep = f"give the client `sleep={seen.name}.{'sleep_async' if seen.is_async else 'sleep'}`"
    due = next_due(seen)
    if due is None:
        return f"{sleep}, which moves this clock instead of waiting"
    wait, what = due
    return f"{sleep}, or call {seen.name}.advance({wait}): {what} is due in {wait} s"


def still(seen: SandboxSnapshot) -> list[str]:
    """Return the line about a frozen clock while a timer is due, which a waiting test may have overlooked."""
    due = next_due(seen)
    if due is None:
        return []
    wait, what = due
    return [
        f"Time stands still at {seen.clock['now']}: {what} is due in {wait} s; {seen.name}.advance({wait}) lets it come"
    ]


def next_due(seen: SandboxSnapshot) -> tuple[str, str] | None:
    """Return the seconds until the next timer of a frozen clock, rounded up, and the timer's name."""
    if seen.next_timer is None or not seen.clock["frozen"]:
        return None
    now, due = parse(seen.clock["now"]), parse(seen.next_timer["at"])
    assert now is not None and due is not None
    wait = f"{ceil(max(0, due[0] - now[0]) / MILLISECOND) / 1000:.12g}"
    return wait, f'"{seen.next_timer["what"].partition(".")[2]}" of {seen.next_timer["id"]}'
