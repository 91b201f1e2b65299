"""Lines of a failing test's report about a frozen clock while the test waits."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from math import ceil

from mockserver._json import View
from mockserver.contract.durations import duration_text
from mockserver.core.instants import MILLISECOND, SECOND, from_datetime, parse
from mockserver.report.run import hints
from mockserver.report.run.failure import Failure
from mockserver.report.run.snapshot import SandboxSnapshot

_IDLE_LEAST_S = 0.5  # real time without a call in a test that was stopped
_POLL_GAP_LEAST_S, _POLLS_LONG_S = 0.01, 2.0  # real time between two polls, and of all polls
_TOO_MANY_REQUESTS = 429
_OF_SESSIONS = ("createConnectionSession", "readConnectionSession")
_EXPIRY = "expir"  # in English and in Portuguese


def waits_on_frozen_clock(snapshot: SandboxSnapshot, failure: Failure | None) -> list[str]:
    """Return the lines about a client that waits in real time while the clock does not move, and a fix; else none."""
    waits = snapshot.unmoved
    if waits is None:
        return []
    last = next((call for call in snapshot.exchanges if call.n == waits["last"]), None)
    is_limited = last is not None and last.status == _TOO_MANY_REQUESTS
    if last is None or (snapshot.next_timer is None and not is_limited):
        return []  # a clock that moves would not have changed the responses
    if waits["calls"] > 1 and waits["seconds"] >= _IDLE_LEAST_S and _is_waiting(waits, failure):
        spent = duration_text(round(waits["seconds"] * SECOND))
        event = f"the client sent {last.method} {last.path} {waits['calls']} times in {spent}"
        numbers = f"#{waits['first']} to #{waits['last']}"
    elif _was_stopped(failure) and waits["idleSeconds"] >= _IDLE_LEAST_S:
        newest, idle = snapshot.exchanges[-1], duration_text(round(waits["idleSeconds"] * SECOND))
        event = f"the test was stopped {idle} after its last call, {newest.method} {newest.path}"
        numbers = f"#{newest.n}"
    else:
        return []
    first = f"The clock of {snapshot.id} did not move: {event} ({numbers})"
    return [first, f"  {_fix(snapshot)}", *(f"  {line}" for line in pending_session(snapshot, last.operation))]


def _was_stopped(failure: Failure | None) -> bool:
    return failure is not None and failure.is_stop


def _is_waiting(waits: View, failure: Failure | None) -> bool:
    """Return False for calls in close succession, such as those of a test under `@given`."""
    is_slow = waits["seconds"] / (waits["calls"] - 1) >= _POLL_GAP_LEAST_S or waits["seconds"] >= _POLLS_LONG_S
    return is_slow or _was_stopped(failure)


def _fix(snapshot: SandboxSnapshot) -> str:
    """Return the way in which the client's waits advance the clock, and the time to the next timer."""
    sleep, due = hints.sleep(snapshot), next_due(snapshot)
    if due is None:
        return f"{sleep}, which advances this clock instead of waiting" if snapshot.is_python else sleep
    wait, timer = due
    return f"{sleep}, or call {hints.advance(snapshot, wait)}: {timer} is due in {wait} s"


def frozen_clock_hint(snapshot: SandboxSnapshot) -> list[str]:
    """Return the line about a frozen clock while a timer is due, which a waiting test may have overlooked."""
    due = next_due(snapshot)
    if due is None:
        return []
    wait, timer = due
    now = snapshot.clock["now"]
    return [f"The clock is frozen at {now}: {timer} is due in {wait} s; call {hints.advance(snapshot, wait)}"]


def next_due(snapshot: SandboxSnapshot) -> tuple[str, str] | None:
    """Return the seconds until the next timer of a frozen clock, rounded up, and the timer's name."""
    if snapshot.next_timer is None or not snapshot.clock["frozen"]:
        return None
    now, due = parse(snapshot.clock["now"]), parse(snapshot.next_timer["at"])
    assert now is not None and due is not None
    wait = f"{ceil(max(0, due[0] - now[0]) / MILLISECOND) / 1000:.12g}"
    return wait, f'"{snapshot.next_timer["what"].partition(".")[2]}" of {snapshot.next_timer["id"]}'


def pending_session(snapshot: SandboxSnapshot, operation: str | None, failure: Failure | None = None) -> list[str]:
    """Return the line about a session whose end user has not acted yet, and one on both clocks if the failure is an expiry."""
    changes = [change for change in snapshot.transitions if change["kind"] == "session"]
    if operation not in _OF_SESSIONS or not changes or changes[-1]["to"] != "pending":
        return []
    session_id = changes[-1]["id"]
    pending = f"Session {session_id} is still pending: {hints.end_session(snapshot, session_id)}"
    is_unread = operation == _OF_SESSIONS[0]  # an assertion before any read may be about its instant
    is_expiry = failure is not None and (
        _EXPIRY in failure.line.lower() or (is_unread and failure.asserted is not None)
    )
    return [pending, *(_expired_by_process(snapshot, session_id) if is_expiry else [])]


def _expired_by_process(snapshot: SandboxSnapshot, session_id: str) -> list[str]:
    """Return the line about a session that has expired by the process's clock, with which a client may compare `expiresAt`."""
    answers = [call.body_received for call in snapshot.exchanges if isinstance(call.body_received, Mapping)]
    shown = next((str(answer.get("expiresAt")) for answer in answers if answer.get("sessionId") == session_id), "")
    expires, now = parse(shown), parse(snapshot.clock["now"])
    if expires is None or now is None or not now[0] < expires[0] <= from_datetime(datetime.now(UTC)):
        return []
    return [f"  by the process's clock it expired at {shown}: {hints.one_clock(snapshot)}"]
