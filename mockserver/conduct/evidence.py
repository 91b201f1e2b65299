"""
Evidence for the rules of conduct: indexes over exchanges, delivery attempts, visits and waits.

What receivers of events have answered, a row an attempt.

The evidence: a sandbox's exchanges, deliveries and visits, with what judges ask of them.

HEAD and OPTIONS are looked at by nobody but the judge of browsers. An answer that was cut, garbled or never came was
not heard: nobody can be blamed for what it said.

How long a 429 tells its client to wait: Retry-After in seconds, or as an HTTP date.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mockserver.contract.effects import UNREADABLE, WITHOUT_RESPONSE
from mockserver.contract.text import json_value
from mockserver.core import ledger
from mockserver.core.instants import MILLISECOND, SECOND, Duration, Instant, retry_after
from mockserver.core.state.journal import JournalEntry
from mockserver.core.state.records import Campaign, Execution, Session
from mockserver.core.state.sandbox import SandboxState
from mockserver.core.state.tenant import Tenant


class DeliveryAttempt(NamedTuple):
    """One attempt to deliver an event to one endpoint; `fault` says what a script made of it, None for the plain letter."""

    endpoint: str
    event_id: str
    kind: str
    session_id: str
    happened_at: Instant
    at: Instant
    status: int | None
    duration_ms: int
    fault: str | None
    headers: Mapping[str, str]
    body: bytes
    answer: bytes

    @property
    def accepted(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def is_genuine(self) -> bool:
        """True for the event itself and its copies, False for what a script sent beside it."""
        return self.fault in (None, "duplicate")

    @property
    def label(self) -> str:
        """The letter as a finding names it."""
        return f"{self.event_id} at {self.endpoint}"


def delivery_attempts(sandbox: SandboxState) -> Sequence[DeliveryAttempt]:
    """Every attempt that reached out for an endpoint, in the order of sending."""
    found = [
        DeliveryAttempt(
            delivery.webhook_id,
            delivery.event.id,
            delivery.event.kind,
            delivery.event.session.id,
            delivery.event.at,
            each.at,
            each.status,
            each.duration_ms,
            each.fault,
            each.headers,
            each.body,
            each.answer,
        )
        for delivery in sandbox.outbox.deliveries.values()
        for each in delivery.attempts
    ]
    return sorted(found, key=lambda letter: letter.at)


FINAL = ("completed", "failed", "canceled", "expired")
_TRANSPORT_REPEATS_WITHIN = 50 * MILLISECOND
# Libraries whose transport repeats no POST: where one is repeated, a retry policy of the client's own did it.
_NEVER_REPEAT = ("python-requests", "python-httpx", "python-urllib", "aiohttp")
_OWN_MOVE = SECOND // 2  # a clock that went this much further than real time was moved by somebody


class Evidence:
    """What one sandbox has seen so far. Reads, never writes."""

    def __init__(self, sandbox: SandboxState) -> None:
        self.sandbox = sandbox
        self.now: Instant = sandbox.now
        self.everything = _as_received(sandbox.journal.exchanges)
        self.exchanges = tuple(
            each for each in self.everything if each.operation and each.call.method not in ("HEAD", "OPTIONS")
        )
        self.made = ledger.creating_exchanges(sandbox)  # record id -> the exchange that made it
        self._by_number = {each.n: each for each in self.exchanges}
        self._by_operation: dict[str | None, list[JournalEntry]] = {}
        self._by_request: dict[Any, list[JournalEntry]] = {}
        self._by_id: dict[str | None, list[JournalEntry]] = {}
        for each in self.exchanges:
            self._by_operation.setdefault(each.operation, []).append(each)
            self._by_request.setdefault(request_of(each), []).append(each)
            for record_id in each.call.params.values():
                self._by_id.setdefault(record_id, []).append(each)
        self.delivery_attempts = delivery_attempts(sandbox)
        self.visits = tuple(sandbox.visits)
        moves = sandbox.journal.transitions
        self._ends = {each.id: each for each in reversed(moves) if each.target in FINAL}
        self._answers: dict[int, Any] = {}
        self.transport_repeats = self._repeated_by_transports()
        self.has_observed_waits = self._has_waits()

    def of(self, *operations: str) -> list[JournalEntry]:
        """The calls of these operations, in order."""
        if len(operations) == 1:
            return self._by_operation.get(operations[0], [])
        return [each for each in self.exchanges if each.operation in operations]

    def by_number(self, n: int) -> JournalEntry | None:
        return self._by_number.get(n)

    def repetitions(self, exchange: JournalEntry) -> list[JournalEntry]:
        """The calls that ask for the same later on, byte for byte."""
        alike = self._by_request[request_of(exchange)]
        return alike[bisect_right(alike, exchange.n, key=_number) :]

    def next_repetition(self, exchange: JournalEntry) -> JournalEntry | None:
        """The first of them."""
        alike = self._by_request[request_of(exchange)]
        place = bisect_right(alike, exchange.n, key=_number)
        return alike[place] if place < len(alike) else None

    def concerning(self, record_id: str | None) -> list[JournalEntry]:
        """The calls with this id in their path, in order."""
        return self._by_id.get(record_id, [])

    def between(self, first: JournalEntry, last: JournalEntry, *operations: str) -> list[JournalEntry]:
        """The calls of these operations after one exchange and before another."""
        start, end = (bisect_right(self.exchanges, n, key=_number) for n in (first.n, last.n - 1))
        return [each for each in self.exchanges[start:end] if each.operation in operations]

    def answer(self, exchange: JournalEntry) -> Any:
        """The JSON value of the answer as the client heard it; None where it heard none."""
        if exchange.n not in self._answers:
            self._answers[exchange.n] = json_value(exchange.answer) if was_received(exchange) else None
        return self._answers[exchange.n]

    def answer_field(self, exchange: JournalEntry, field: str) -> Any:
        """A field of the object that was answered, None where there is none."""
        answer = self.answer(exchange)
        return answer.get(field) if isinstance(answer, dict) else None

    def code(self, exchange: JournalEntry) -> str | None:
        """The error code that the client was told."""
        found = self.answer_field(exchange, "code") if exchange.status and exchange.status >= 400 else None
        return found if isinstance(found, str) else None

    def grouped_by(self, parameter: str, *operations: str) -> Iterator[tuple[str, list[JournalEntry]]]:
        """The calls of these operations by the id in their path."""
        found: dict[str, list[JournalEntry]] = {}
        for each in self.of(*operations):
            found.setdefault(each.call.params.get(parameter, ""), []).append(each)
        yield from found.items()

    def creating_exchange(self, record_id: str) -> JournalEntry | None:
        """The exchange that made a record."""
        return self.by_number(self.made.get(record_id, 0))

    def campaigns(self) -> Iterator[tuple[Tenant, Campaign]]:
        return self.sandbox.records("campaign")

    def executions(self) -> Iterator[tuple[Tenant, Execution]]:
        return self.sandbox.records("execution")

    def sessions(self) -> Iterator[tuple[Session, JournalEntry]]:
        """The sessions that a call has made, each with that call."""
        for _, session in self.sandbox.records("session"):
            made = self.creating_exchange(session.id)
            if made is not None:
                yield session, made

    def reads(self, session_id: str) -> list[JournalEntry]:
        """The reads of a session that its client heard."""
        reads = (each for each in self.concerning(session_id) if each.operation == "readConnectionSession")
        return [each for each in reads if succeeded(each)]

    def is_acknowledged(self, session_id: str) -> bool:
        """True where some receiver has accepted the session's event."""
        return any(
            each.session_id == session_id and each.accepted and each.is_genuine for each in self.delivery_attempts
        )

    def ended_at(self, record_id: str) -> Instant | None:
        """When a record came into its final state."""
        end = self._ends.get(record_id)
        return end.at if end is not None else None

    def ended_with(self, exchange: JournalEntry, record_id: str) -> bool:
        """True where a rule brought a record into its final state in the instant of the call that made it: before the answer."""
        end = self._ends.get(record_id)
        return end is not None and "rule" in end.cause and end.at == exchange.at

    def gap(self, earlier: JournalEntry, later: JournalEntry) -> Duration | None:
        """
        How long the client let pass between two calls; None where no clock tells.

        By the sandbox's clock where that was moved, else in real time where at least a second went by. A client whose
        sleep was taken out of the test lets nothing pass that could be seen.
        """
        virtual, real = later.at - earlier.at, _real(earlier, later)
        if virtual - real > _OWN_MOVE:
            return virtual
        return real if real >= SECOND else None

    def _repeated_by_transports(self) -> frozenset[int]:
        """The calls that no client has made twice: its HTTP library repeated the bytes on a new connection."""
        repeats: set[int] = set()
        for each in self.exchanges:
            again = self.next_repetition(each) if each.is_reused and each.n not in repeats else None
            if again is not None and _is_repeated_by_transport(each, again):
                repeats.add(again.n)
        return frozenset(repeats)

    def _has_waits(self) -> bool:
        """True where some call was made again after a wait that a clock has seen."""
        latest: dict[Any, JournalEntry] = {}
        for each in self.exchanges:
            key = (each.operation, tuple(each.call.params.items()))
            if key in latest and self.gap(latest[key], each) is not None:
                return True
            latest[key] = each
        return False


def _as_received(exchanges: Iterable[JournalEntry]) -> tuple[JournalEntry, ...]:
    """
    The exchanges as their clients received them.

    An answer that a rule still holds has reached nobody; one that was sent after its client had repeated the call
    reached nobody who waited for it.
    """
    shown: list[JournalEntry] = []
    repeated_at: dict[Any, Duration | None] = {}  # by caller and request, when the next such call arrived
    for each in reversed(list(exchanges)):
        again = None
        if each.operation:
            who = client_key(each), request_of(each)
            again, repeated_at[who] = repeated_at.get(who), each.monotonic_us
        is_late = each.left is not None and again is not None and again < each.left
        shown.append(each._replace(status=None, headers=(), answer=b"") if each.is_held or is_late else each)
    return tuple(reversed(shown))


def _is_repeated_by_transport(first: JournalEntry, again: JournalEntry) -> bool:
    """
    Return True if an HTTP library has sent a call again by itself, as curl and browsers do.

    They do so if a connection that had carried another call ends without a byte: the same bytes, immediately, once.
    """
    ended = first.status is None and first.fault is not None and not WITHOUT_RESPONSE.isdisjoint(first.fault.effects)
    if not (ended and first.is_reused) or first.monotonic_us is None or again.monotonic_us is None:
        return False
    agent = first.call.headers.get("user-agent", "").lower()
    is_alike = first.call.headers == again.call.headers and not any(name in agent for name in _NEVER_REPEAT)
    return is_alike and 0 <= again.monotonic_us - first.monotonic_us <= _TRANSPORT_REPEATS_WITHIN


def _number(exchange: JournalEntry) -> int:
    return exchange.n


def _real(earlier: JournalEntry, later: JournalEntry) -> Duration:
    return (
        0 if earlier.monotonic_us is None or later.monotonic_us is None else later.monotonic_us - earlier.monotonic_us
    )


def was_received(exchange: JournalEntry) -> bool:
    """True where the whole answer reached the client as the API gave it."""
    bent = exchange.fault is not None and not UNREADABLE.isdisjoint(exchange.fault.effects)
    return exchange.status is not None and not bent


def succeeded(exchange: JournalEntry) -> bool:
    """True where the client heard a 2xx."""
    return was_received(exchange) and exchange.status is not None and 200 <= exchange.status < 300


def has_failed(exchange: JournalEntry) -> bool:
    """True where the client heard nothing whole, or a 5xx."""
    return not was_received(exchange) or (exchange.status or 0) >= 500


def request_of(exchange: JournalEntry) -> Any:
    """What makes two calls ask for the same."""
    call = exchange.call
    return exchange.operation, tuple(call.params.items()), tuple(call.query), call.body, call.cut_from_bytes


def client_key(exchange: JournalEntry) -> tuple[str, str]:
    """Who calls, as far as headers tell: workers that share a key are told apart by their user agent."""
    headers: Mapping[str, str] = exchange.call.headers
    return headers.get("x-api-key", ""), headers.get("user-agent", "")


def body_of(exchange: JournalEntry) -> Mapping[str, Any]:
    """The request's JSON object; empty where it is none."""
    return exchange.body if isinstance(exchange.body, dict) else {}


def numbers(exchanges: Iterable[JournalEntry]) -> tuple[int, ...]:
    return tuple(each.n for each in exchanges)


def requested_wait(exchange: JournalEntry) -> Duration | None:
    """The wait that the answer's Retry-After asks for; None where it has none that can be read."""
    written = next((value for name, value in exchange.headers if name.lower() == "retry-after"), "")
    return retry_after(written, exchange.at)
