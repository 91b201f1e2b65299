"""The bounds of one run: it ends when its client reads or repeats without end, or takes too many calls or too much time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mockserver.contract.endpoints import ENDPOINTS
from mockserver.contract.lifecycles import FINAL, LIFECYCLES
from mockserver.contract.text import json_value
from mockserver.core.instants import DAY, SECOND, Duration, retry_after_date, to_datetime
from mockserver.core.scheduler import next_due
from mockserver.core.state.journal import JournalEntry
from mockserver.server.errors import ControlError
from mockserver.server.hosting.host import HostedSandbox
from mockserver.server.http1 import real_time
from mockserver.testing.run_end import RunEnded, is_socket_thread, refuse_calls

NEED = "a controlled run"  # what needs the sandbox in this process
_DRAINED_MAX = 100  # steps of the clock
READS_AFTER_FINAL = 20
ROW_LONGER = 50
OTHER_CLOCK = "the client may read the computer's clock, which does not move with the sandbox's"
# The operations by which a client polls, each with the parameter that names the record.
POLLS: dict[str, str] = {row.id: row.record_parameter for row in ENDPOINTS.values() if row.reads in LIFECYCLES}


class Bounds(NamedTuple):
    """
    The bounds of a run, or what one has taken of each.

    Attributes:
        calls: Calls of the API.
        virtual: Microseconds of the sandbox's clock.
        real: Microseconds of real time.
        row: Equal calls in a row, with equal answers, while nothing changes.
        after_final: Reads of one record after its final state was answered.
    """

    calls: int = 20_000
    virtual: Duration = 4000 * DAY
    real: Duration = 600 * SECOND
    row: int = 20_000
    after_final: int = 20_000


CLEAN = Bounds()


def bounds_beyond(clean: Bounds) -> Bounds:
    """Return the bounds of a run with faults, by what the clean run took."""
    return Bounds(
        calls=4 * clean.calls + 1000,
        virtual=10 * clean.virtual + 3 * DAY,
        real=10 * clean.real + 60 * SECOND,
        row=clean.row + ROW_LONGER,
        after_final=clean.after_final + READS_AFTER_FINAL,
    )


def drain(hosted: HostedSandbox) -> bool:
    """
    Let everything that is due after the test's end happen, if there is a receiver for it; return True if there was anything.

    Each event is delivered at its own instant. A request that gets no answer is the last one: its receiver has ended with the
    test, and nothing follows from what it misses.
    """
    state = hosted.sandbox
    for steps in range(_DRAINED_MAX):
        with state.lock:
            has_receivers = any(tenant.webhooks for tenant in state.tenants.values())
            under_way = [row.attempts[-1:] for row in state.outbox.deliveries.values() if not row.has_ended]
            is_missed = any(attempt.status is None for attempts in under_way for attempt in attempts)
            is_idle = next_due(state) is None
        if is_idle or not has_receivers or (steps and is_missed):
            return steps > 0
        try:
            hosted.dispatch.advance(to="next")
        except (ControlError, RunEnded, ValueError):  # the loop of a receiver has ended, or a bound is reached
            break
    return True


class Watch:
    """
    Counts what one run takes, and ends it at a bound.

    In process the call or command that reaches the bound raises RunEnded in the client. The sandbox is closed, so that later
    calls get 410: over a socket, and in process those of a client that catches RunEnded.

    Lifetime: one run.

    Attributes:
        ended: Why the run was ended; None if it was not.
        by_socket: The numbers of the exchanges that a socket carried.
    """

    def __init__(self, hosted: HostedSandbox, bounds: Bounds) -> None:
        self.ended: str | None = None
        self.by_socket: set[int] = set()
        self._hosted, self._state, self._bounds = hosted, hosted.sandbox, bounds
        self._began, self._began_at = real_time.microseconds(), hosted.sandbox.now
        self._seen = hosted.sandbox.journal.last_exchange
        self._final: dict[str, int] = {}  # reads after the final status was answered, by record
        self._unfinished: bytes | None = None  # the last answer without a final status: a poll gets many equal ones
        self._last: object = None
        self._row = self._longest = 0
        self._asked: Duration = 0  # by dates: a client waits until one by its own clock, which may be years behind
        hosted.listeners.append(self._check)

    def used(self) -> Bounds:
        """Return what the run has taken so far."""
        return Bounds(
            calls=self._state.journal.last_exchange,
            virtual=self._state.now - self._began_at,
            real=real_time.microseconds() - self._began,
            row=self._longest,
            after_final=max(self._final.values(), default=0),
        )

    def stop(self) -> None:
        """End the watch; later calls are not counted."""
        self._hosted.remove_listener(self._check)

    def _check(self) -> None:
        if self._hosted.id in self._hosted.host.closed:
            return
        is_socket = is_socket_thread()
        with self._state.lock:
            for exchange in self._new():
                if is_socket:
                    self.by_socket.add(exchange.n)
                self._count(exchange)
            self.ended = self._reached()
        if self.ended is not None:
            refuse_calls(self._hosted, self.ended)
            if not is_socket:
                raise RunEnded(self.ended)

    def _new(self) -> Sequence[JournalEntry]:
        journal = self._state.journal
        if journal.last_exchange < self._seen:  # a reset
            self._seen, self._final, self._row = 0, {}, 0
        count, self._seen = journal.last_exchange - self._seen, journal.last_exchange
        exchanges = journal.exchanges
        return [exchanges[place] for place in range(-min(count, len(exchanges)), 0)]

    def _count(self, exchange: JournalEntry) -> None:
        self._count_row(exchange)
        if exchange.limited_at is not None:
            date = retry_after_date(exchange.retry_after) or exchange.limited_at
            self._asked += max(0, date - exchange.limited_at)
        record_id = exchange.call.params.get(POLLS.get(exchange.operation or "", ""), "")
        if record_id in self._final:
            self._final[record_id] += 1
        elif record_id and exchange.answer != self._unfinished and exchange.status == 200 and exchange.was_received:
            body = json_value(exchange.answer)
            if isinstance(body, dict) and body.get("status") in FINAL:
                self._final[record_id] = 0
            else:
                self._unfinished = exchange.answer

    def _count_row(self, exchange: JournalEntry) -> None:
        """Count calls that are equal in a row; a session that is pending ends by itself, so that waiting for it has an end."""
        key = exchange.request, exchange.status, exchange.answer, self._state.journal.last_transition
        session = self._state.find("session", exchange.call.params.get("sessionId", ""))
        is_pending = session is not None and session[1].status == "pending"
        self._row = self._row + 1 if key == self._last and not is_pending else 1
        self._last = key
        self._longest = max(self._longest, self._row)

    def _reached(self) -> str | None:
        """Return which bound the run has reached, and what may keep a client that waits from its end."""
        reason = self._bound()
        waited = self._state.now - self._began_at
        is_ahead = self._state.clock.frozen and waited > real_time.microseconds() - self._began
        return f"{reason}; {OTHER_CLOCK}" if reason is not None and is_ahead else reason

    def _bound(self) -> str | None:
        bounds, used = self._bounds, self.used()
        read = next((row for row in self._final.items() if row[1] > bounds.after_final), None)
        if read is not None:
            return f"{read[0]} was read {read[1]} more times after its final state was answered"
        if self._row > bounds.row:
            return f"{self._row} equal calls in a row changed nothing"
        if used.calls > bounds.calls:
            return f"the run made more than {bounds.calls} calls"
        if used.virtual > bounds.virtual + self._asked:
            until = to_datetime(self._state.now).isoformat()
            return f"the run took more than {bounds.virtual // DAY} days of the sandbox's clock, until {until}"
        if used.real > bounds.real:
            return f"the run took more than {bounds.real // SECOND} seconds of real time"
        return None
