"""
Evidence for the rules of conduct: indexes over exchanges, delivery attempts and visits, with the predicates of judges.

1. Only the judge of browsers reads HEAD and OPTIONS calls.
2. A client did not receive a response that was cut, garbled, lost, or sent after it had repeated the call: no judge
   blames a client for the content of such a response.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Any, NamedTuple

from mockserver.contract.effects import UNREADABLE, WITHOUT_RESPONSE
from mockserver.contract.text import json_value
from mockserver.core import ledger
from mockserver.core.instants import MILLISECOND, SECOND, Duration, Instant, retry_after, retry_after_date
from mockserver.core.run import Run
from mockserver.core.state.journal import JournalEntry, Transition
from mockserver.core.state.records import Campaign, Execution, PageVisit, Session
from mockserver.core.state.rules import Rule
from mockserver.core.state.tenant import Tenant


class DeliveryAttempt(NamedTuple):
    """One attempt to deliver an event to one endpoint; `fault` is the delivery fault or forgery of a rule, if any."""

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
        """Return True for the event itself and its copies, False for a forged request."""
        return self.fault in (None, "duplicate")

    @property
    def label(self) -> str:
        """The name of the attempt in findings."""
        return f"{self.event_id} at {self.endpoint}"


def delivery_attempts(run: Run) -> Sequence[DeliveryAttempt]:
    """Return every attempt that was sent to an endpoint, in the order of sending."""
    attempts = [
        DeliveryAttempt(
            endpoint=delivery.webhook_id,
            event_id=delivery.event.id,
            kind=delivery.event.kind,
            session_id=delivery.event.record.id,
            happened_at=delivery.event.at,
            at=attempt.at,
            status=attempt.status,
            duration_ms=attempt.duration_ms,
            fault=attempt.fault,
            headers=attempt.headers,
            body=attempt.body,
            answer=attempt.answer,
        )
        for delivery in run.deliveries.values()
        for attempt in delivery.attempts
    ]
    return sorted(attempts, key=lambda attempt: attempt.at)


TOO_MANY = 429
OF_ALL_CALLS = (401, 403)  # a refusal of the key or the tenant, whatever the request
FINAL = ("completed", "failed", "canceled", "expired")
WITH_FILTERS = ("previewAudience", "createCampaign")
# Transports that repeat a POST by themselves if a connection that was in use before ends without a byte, by the beginning
# of their User-Agent: libcurl, browsers, and Java's HttpURLConnection. Those of Go, Ruby and Java's HttpClient repeat only
# what is idempotent, and those of Python and Node nothing.
_REPEATS_POSTS = ("curl/", "guzzlehttp/", "java/", "libcurl", "mozilla/", "php-curl", "pycurl/")
_ALLOWED_IN = {"startCampaign": ("draft",), "cancelCampaign": ("draft", "processing")}
_MOVED = 10 * MILLISECOND  # a clock that follows the process's and advanced this much more than real time was moved
_HTTP_DATE = SECOND  # of which an HTTP date has no fractions, and a client's own clock in seconds neither


Slept = Callable[[int, int], Duration]


def never(_earlier: int, _later: int) -> Duration:
    """Return 0: the client did not sleep in real time."""
    return 0


class Evidence:
    """
    Calls, deliveries and visits of one run. Reads, never writes.

    Args:
        run: What has happened in the sandbox.
        exchanges: The calls to judge, oldest first; by default those of the journal. Evidence of given calls
            contains no deliveries and no visits.
        slept: Returns the real time that the client is known to have slept between two calls, by their numbers. Each
            wait is then this and what the sandbox's clock has moved; a stopwatch, which a loaded machine changes, counts
            no more. `never` is for a client whose only way to wait is to advance that clock, as in a state machine.

    Lock:
        The caller holds the sandbox's lock, or passes a copy, for as long as it uses the evidence: indexes are built
        when a judge first needs them.
    """

    def __init__(
        self,
        run: Run,
        exchanges: Sequence[JournalEntry] | None = None,
        *,
        slept: Slept | None = None,
    ) -> None:
        self.run = run
        self.now: Instant = run.now
        self._exchanges = run.exchanges if exchanges is None else exchanges
        self.everything = _as_received(self._exchanges)
        self._by_operation: dict[str, list[JournalEntry]] = {}
        self.troubled: list[JournalEntry] = []  # that did not succeed, or that a rule changed on the wire
        self.filtering: list[JournalEntry] = []  # previews and creates with filters in their body
        received: list[JournalEntry] = []
        for exchange in self.everything:  # one loop: each test of a suite is judged
            operation, status = exchange.operation, exchange.status
            if not operation or exchange.call.method in ("HEAD", "OPTIONS"):
                continue
            received.append(exchange)
            self._by_operation.setdefault(operation, []).append(exchange)
            if exchange.fault is not None or status is None or not 200 <= status < 300:
                self.troubled.append(exchange)
            if operation in WITH_FILTERS and body_of(exchange).get("filters"):
                self.filtering.append(exchange)
        self.exchanges = tuple(received)
        self._is_partial = exchanges is not None
        self._slept = slept
        self._answers: dict[int, Any] = {}

    @cached_property
    def made(self) -> Mapping[str, int]:
        """The number of the exchange that created each campaign, execution and session, by the record's id."""
        return ledger.creating_exchanges(self.run)

    @cached_property
    def delivery_attempts(self) -> Sequence[DeliveryAttempt]:
        """Every attempt to deliver an event, in the order of sending."""
        return () if self._is_partial else delivery_attempts(self.run)

    @cached_property
    def visits(self) -> Sequence[PageVisit]:
        """The visits to hosted pages, oldest first."""
        return () if self._is_partial else tuple(self.run.visits)

    @cached_property
    def statuses_read(self) -> frozenset[Any]:
        """The final statuses of campaigns, executions and sessions that the client received by reading them."""
        if not self.may_show_final:
            return frozenset()
        reads = self.of("readCampaign", "readExecution", "readConnectionSession")
        statuses = (self.answer_field(read, "status") for read in reads if succeeded(read))
        return frozenset(status for status in statuses if status in FINAL)

    @property
    def is_whole(self) -> bool:
        """Return False if the journal, which is bounded, has dropped calls."""
        exchanges = self.run.exchanges
        return not exchanges or exchanges[0].n == 1

    @property
    def may_show_final(self) -> bool:
        """Return False if no record has ended and no rule has replaced a response, so that no body needs to be read."""
        transitions = self.run.transitions
        for transition in transitions:
            if transition.target in FINAL:
                return True
        return not self.run.has_all_transitions or any(exchange.fault is not None for exchange in self.troubled)

    @property
    def rules_of_deferred_calls(self) -> Iterator[Rule]:
        """The rules that delay a call now whose client has disconnected."""
        ids = (rule_id for deferred in self.run.deferred.values() for rule_id in deferred.rule_ids)
        return (self.run.rules[rule_id] for rule_id in ids if rule_id in self.run.rules)

    @cached_property
    def transport_repeats(self) -> Mapping[int, bool]:
        """
        The numbers of calls that the client's HTTP library may have repeated by itself, on a new connection.

        True for one that is known to do so. It does so once if a connection that had carried another call ends without a
        byte, with the same head, before it sends anything else.
        """
        repeats: dict[int, bool] = {}
        latest: dict[Any, JournalEntry] = {}  # of each client
        for again in self.exchanges:
            key = client_key(again)
            first, latest[key] = latest.get(key), again
            if first is None or not first.is_reused or first.status is not None or first.n in repeats:
                continue
            ended = first.fault is not None and not WITHOUT_RESPONSE.isdisjoint(first.fault.effects)
            if ended and request_of(first) == request_of(again) and first.call.headers == again.call.headers:
                agent = again.call.headers.get("user-agent", "").lower()
                repeats[again.n] = agent.startswith(_REPEATS_POSTS)
        return repeats

    @cached_property
    def has_observed_waits(self) -> bool:
        """Return True if some call was repeated after a wait that a clock has measured."""
        if self._slept is not None:
            return True
        latest: dict[Any, JournalEntry] = {}
        for exchange in self.exchanges:
            key = (exchange.operation, tuple(exchange.call.params.items()))
            if key in latest and self.gap(latest[key], exchange) is not None:
                return True
            latest[key] = exchange
        return False

    @cached_property
    def _answered(self) -> Mapping[int, JournalEntry]:
        """The exchanges as they were answered, by their numbers."""
        return {exchange.n: exchange for exchange in self._exchanges}

    @cached_property
    def _by_number(self) -> Mapping[int, JournalEntry]:
        return {exchange.n: exchange for exchange in self.exchanges}

    @cached_property
    def _by_request(self) -> Mapping[Any, list[JournalEntry]]:
        return _grouped((request_of(exchange), exchange) for exchange in self.exchanges)

    @cached_property
    def _by_id(self) -> Mapping[Any, list[JournalEntry]]:
        return _grouped(
            (record_id, exchange) for exchange in self.exchanges for record_id in exchange.call.params.values()
        )

    @cached_property
    def _ends(self) -> Mapping[str, Transition]:
        return {
            transition.id: transition for transition in reversed(self.run.transitions) if transition.target in FINAL
        }

    @property
    def operations(self) -> AbstractSet[str]:
        """The operations that were called."""
        return self._by_operation.keys()

    def of(self, *operations: str) -> list[JournalEntry]:
        """Return the calls of these operations, in order."""
        if len(operations) == 1:
            return self._by_operation.get(operations[0], [])
        return [exchange for exchange in self.exchanges if exchange.operation in operations]

    def by_number(self, n: int) -> JournalEntry | None:
        """Return the exchange with this number, or None if the journal no longer has it."""
        return self._by_number.get(n)

    def repetitions(self, exchange: JournalEntry) -> Iterator[JournalEntry]:
        """Return the calls with the same request, byte for byte, that the client sent after this exchange."""
        return sent_after(exchange, self._by_request[request_of(exchange)])

    def next_repetition(self, exchange: JournalEntry) -> JournalEntry | None:
        """Return the first of `repetitions`, or None."""
        return next(self.repetitions(exchange), None)

    def concerning(self, record_id: str | None) -> list[JournalEntry]:
        """Return the calls with this id in their path, in order."""
        return self._by_id.get(record_id, [])

    @cached_property
    def _arrivals(self) -> Mapping[int, int]:
        """Of each call that a rule has delayed, by its number, the last exchange when it arrived."""
        calls = (record for record in self.run.commands if record.command == "call")
        return {record.arguments["call"].number: record.exchanges for record in calls}

    def _span(self, first: JournalEntry, last: JournalEntry) -> tuple[int, int]:
        """Return the numbers of the calls after which, and up to which, lies what the client received between two calls."""
        since = first.n if first.given_up is None else first.follows
        return min(since, self._arrivals.get(first.call.number, since)), last.follows

    def may_have_received(self, exchange: JournalEntry) -> bool:
        """
        Return True if the client received a 2xx, or may have: an equal call that was sent before the response may be another user's.
        """
        if succeeded(exchange):
            return True
        sent = self._answered[exchange.n]
        return not sent.is_held and succeeded(sent)

    def is_locked_out(self, after: JournalEntry) -> bool:
        """Return True if a call of the client after this one was refused by its key or its account: only a person can go on then."""
        return self._last_lock_outs.get(client_key(after), 0) > after.n

    @cached_property
    def _last_lock_outs(self) -> Mapping[Any, int]:
        """The number of each client's last call that was refused by its key or its account, not for one resource."""
        refused = (call for call in self.troubled if call.status in OF_ALL_CALLS and was_received(call))
        return {client_key(call): call.n for call in refused if self.code(call) != "RESOURCE_ACCESS_DENIED"}

    def between(self, first: JournalEntry, last: JournalEntry, *operations: str) -> list[JournalEntry]:
        """Return the calls of these operations after one exchange and before another, as the client sent the two."""
        start, end = (bisect_right(self.exchanges, n, key=number) for n in self._span(first, last))
        calls = (call for call in self.exchanges[start:end] if call.n != first.n)
        return [call for call in calls if call.operation in operations]

    def is_invited(self, first: JournalEntry, again: JournalEntry) -> bool:
        """
        Return True for a start or a cancel that the client repeats since it was shown a campaign in a state that allows it.

        A service that lags behind shows the former state, also after it has refused the call or answered it.
        """
        since, until = self._span(first, again)
        shown = self.shown(again.call.params.get("id"))
        place = bisect_right(shown, until, key=lambda each: each[0]) - 1
        return place >= 0 and shown[place][0] > since and shown[place][1] in _ALLOWED_IN.get(again.operation or "", ())

    def may_be_of_another_user(self, again: JournalEntry) -> bool:
        """
        Return True for a start or a cancel if the client was shown a state that allows it as often as it sent one.

        The campaign's creation shows a draft too, to the user who sends the first one before any read.
        """
        if again.operation not in _ALLOWED_IN:
            return False
        campaign_id, allowed = again.call.params["id"], _ALLOWED_IN[again.operation]
        shown = [n for n, status in self.shown(campaign_id) if n <= again.follows and status in allowed]
        sent = [
            call for call in self.concerning(campaign_id) if call.operation == again.operation and call.n <= again.n
        ]
        if len(sent) > 1 and len(shown) == len(sent) - 1 and self._follows_creation(sent[0], shown):
            return not self.is_in_a_row(sent[-2], again)
        return len(shown) >= len(sent)

    def _follows_creation(self, first: JournalEntry, shown: Sequence[int]) -> bool:
        """Return True if the client created the campaign, and sent this call before it was shown the campaign by a read."""
        created = self.creating_exchange(first.call.params["id"])
        is_own = created is not None and succeeded(created) and client_key(created) == client_key(first)
        return is_own and all(n > first.n for n in shown)

    def is_in_a_row(self, first: JournalEntry, last: JournalEntry) -> bool:
        """Return True if in between their client sent only calls that concern the same record: they are of one user then."""
        start, end = (bisect_right(self.exchanges, n, key=number) for n in self._span(first, last))
        caller, ids = client_key(first), set(first.call.params.values())
        return not any(
            ids.isdisjoint(call.call.params.values()) and request_of(call) != request_of(first)
            for call in self.exchanges[start:end]
            if client_key(call) == caller
        )

    def shown(self, campaign_id: str | None, client_of: JournalEntry | None = None) -> Sequence[tuple[int, Any]]:
        """
        Return the statuses of a campaign and of its executions that clients received, each with the number of its call.

        Args:
            campaign_id: The campaign.
            client_of: A call of the one client whose reads count; None for those of all.
        """
        shown = self._shown.get(campaign_id, [])
        if client_of is None:
            return shown
        client = client_key(client_of)
        return [(n, status) for n, status in shown if client_key(self._by_number[n]) == client]

    @cached_property
    def _shown(self) -> Mapping[Any, list[tuple[int, Any]]]:
        """The statuses of each campaign, and of its executions, that the client received, by the number of the call."""
        shown: dict[Any, list[tuple[int, Any]]] = {}
        for read in self.of("readCampaign", "listCampaigns", "readExecution"):
            if read.operation == "readExecution":
                shown.setdefault(read.call.params["id"], []).append((read.n, self.answer_field(read, "status")))
                continue
            listed = self.answer_field(read, "campaigns")
            for row in listed if isinstance(listed, list) else [self.answer(read)]:
                if isinstance(row, dict) and isinstance(row.get("id"), str):
                    shown.setdefault(row["id"], []).append((read.n, row.get("status")))
        return shown

    def answer(self, exchange: JournalEntry) -> Any:
        """Return the JSON value of the response as the client received it, or None if it received none."""
        if exchange.n not in self._answers:
            self._answers[exchange.n] = json_value(exchange.answer) if was_received(exchange) else None
        return self._answers[exchange.n]

    def answer_field(self, exchange: JournalEntry, field: str) -> Any:
        """Return a field of the response's JSON object, or None."""
        answer = self.answer(exchange)
        return answer.get(field) if isinstance(answer, dict) else None

    def code(self, exchange: JournalEntry) -> str | None:
        """Return the error code that the client received, or None."""
        code = self.answer_field(exchange, "code") if exchange.status and exchange.status >= 400 else None
        return code if isinstance(code, str) else None

    def grouped_by(self, parameter: str, *operations: str) -> Iterator[tuple[str, list[JournalEntry]]]:
        """Yield each id that these operations have in their path, with the calls of it."""
        if calls := self.of(*operations):
            yield from _grouped((exchange.call.params.get(parameter, ""), exchange) for exchange in calls).items()

    def creating_exchange(self, record_id: str) -> JournalEntry | None:
        """Return the exchange that created a record, or None if no call did."""
        return self.by_number(self.made.get(record_id, 0))

    def campaigns(self) -> Iterator[tuple[Tenant, Campaign]]:
        """Yield every campaign with its tenant."""
        for tenant in self.run.tenants.values():
            yield from ((tenant, campaign) for campaign in tenant.campaigns.values())

    def executions(self) -> Iterator[tuple[Tenant, Execution]]:
        """Yield every execution with its tenant."""
        for tenant in self.run.tenants.values():
            yield from ((tenant, execution) for execution in tenant.executions.values())

    def sessions(self) -> Iterator[tuple[Session, JournalEntry]]:
        """Yield the sessions that a call created, each with that call."""
        for tenant in self.run.tenants.values():
            creates = ((session, self.creating_exchange(session.id)) for session in tenant.sessions.values())
            yield from ((session, create) for session, create in creates if create is not None)

    def reads(self, session_id: str) -> list[JournalEntry]:
        """Return the reads of a session whose success its client received."""
        calls = self.concerning(session_id)
        return [call for call in calls if call.operation == "readConnectionSession" and succeeded(call)]

    def is_acknowledged(self, session_id: str) -> bool:
        """Return True if a receiver accepted an event of the session."""
        return self.acknowledged_at(session_id) is not None

    def acknowledged_at(self, session_id: str) -> Instant | None:
        """Return the instant at which a receiver first accepted an event of the session, or None."""
        return next(
            (
                attempt.at
                for attempt in self.delivery_attempts
                if attempt.session_id == session_id and attempt.accepted and attempt.is_genuine
            ),
            None,
        )

    def is_event_under_way(self, session_id: str) -> bool:
        """Return True if an event of the session is still to be delivered: its receiver may yet accept it."""
        deliveries = self.run.deliveries.values()
        return any(each.event.record.id == session_id and not each.has_ended for each in deliveries)

    def end_of(self, record_id: str) -> Transition | None:
        """Return the transition to the record's final state, or None."""
        return self._ends.get(record_id)

    def ended_at(self, record_id: str) -> Instant | None:
        """Return the instant at which a record reached its final state, or None."""
        end = self.end_of(record_id)
        return end.at if end is not None else None

    def ended_with(self, exchange: JournalEntry, record_id: str) -> bool:
        """Return True if a rule ended a record in the instant of the call that created it: before the response."""
        end = self._ends.get(record_id)
        return end is not None and "rule" in end.cause and end.at == exchange.at

    def gap(self, earlier: JournalEntry, later: JournalEntry) -> Duration | None:
        """
        Return how long the client waited between two calls, or None if no clock measured it.

        The sandbox's clock counts if it was advanced, however little, and real time of at least a second; of both the
        longer one. A test may take the sleep out of its client: neither clock sees that wait.
        """
        virtual, real = later.at - earlier.at, elapsed(earlier, later)
        if self._slept is not None:
            return virtual + self._slept(earlier.n, later.n) * self.run.clock.frozen
        is_moved = virtual > 0 if self.run.clock.frozen else virtual - real > _MOVED
        measured = [*([virtual] if is_moved else []), *([real] if real >= SECOND else [])]
        return max(measured, default=None)

    def is_date_over(self, limited: JournalEntry) -> bool:
        """Return True if a 429's Retry-After is a date that is past already by the client's own clock."""
        date = retry_after_date(retry_after_text(limited))
        return date is not None and limited.limited_at is not None and limited.limited_at > date - _HTTP_DATE

    def is_early(self, limited: JournalEntry, again: JournalEntry) -> bool:
        """
        Return True if a client that got a 429 calls again before its Retry-After is over.

        A date is over by the sandbox's clock, which the response's Date shows, or by the clock of the process: most
        clients subtract their own clock from the date and wait for the difference, on whichever clock.
        """
        written, waited = retry_after_text(limited), self.gap(limited, again) or 0
        date = retry_after_date(written)
        if date is None:
            return waited < (retry_after(written, limited.at) or 0)
        latest = limited.at + waited
        if limited.limited_at is not None:
            virtual, real = again.at - limited.at, elapsed(limited, again)
            by_process = again.process if again.process is not None else limited.limited_at + real
            latest = max(latest, by_process + (virtual if self.run.clock.frozen else max(0, virtual - real)))
        return latest < date - _HTTP_DATE


def _grouped(pairs: Iterable[tuple[Any, JournalEntry]]) -> dict[Any, list[JournalEntry]]:
    groups: dict[Any, list[JournalEntry]] = {}
    for key, exchange in pairs:
        groups.setdefault(key, []).append(exchange)
    return groups


def _as_received(exchanges: Sequence[JournalEntry]) -> tuple[JournalEntry, ...]:
    """
    Return the exchanges as their clients received them.

    No client has received a response that a rule still holds, or that was sent after the client had repeated its call.
    """
    for exchange in exchanges:
        if exchange.is_held or exchange.left is not None:
            break
    else:
        return tuple(exchanges)
    received: list[JournalEntry] = []
    repeated_at: dict[Any, Duration | None] = {}  # by caller and request, when the next such call arrived
    for exchange in reversed(exchanges):
        again = None
        if exchange.operation:
            key = client_key(exchange), request_of(exchange)
            again, repeated_at[key] = repeated_at.get(key), exchange.monotonic_us
        is_late = exchange.left is not None and again is not None and again < exchange.left
        is_unreceived = exchange.is_held or is_late
        received.append(exchange._replace(status=None, headers=(), answer=b"") if is_unreceived else exchange)
    return tuple(reversed(received))


def number(exchange: JournalEntry) -> int:
    """Return the exchange's number, by which those of a run are in order."""
    return exchange.n


def was_received(exchange: JournalEntry) -> bool:
    """Return True if the client received the whole response as the API sent it."""
    is_unreadable = exchange.fault is not None and not UNREADABLE.isdisjoint(exchange.fault.effects)
    return exchange.status is not None and not is_unreadable


def succeeded(exchange: JournalEntry) -> bool:
    """Return True if the client received a 2xx."""
    return was_received(exchange) and exchange.status is not None and 200 <= exchange.status < 300


def has_failed(exchange: JournalEntry) -> bool:
    """Return True if the client received no whole response, or a 5xx."""
    return not was_received(exchange) or (exchange.status or 0) >= 500


def has_to_retry(exchange: JournalEntry) -> bool:
    """Return True if the client received no whole response, a 5xx or a 429."""
    return has_failed(exchange) or exchange.status == TOO_MANY


def outcome(exchange: JournalEntry) -> str:
    """Return what the client received, as text: the status, or no answer."""
    return f"status {exchange.status}" if was_received(exchange) else "no answer"


def request_of(exchange: JournalEntry) -> Any:
    """Return a key that is equal for equal requests."""
    call = exchange.call
    return exchange.operation, tuple(call.params.items()), tuple(call.query), call.body, call.cut_from_bytes


def client_key(exchange: JournalEntry) -> tuple[str, str]:
    """Return the caller's API key and user agent: workers that share a key differ in the latter, if at all."""
    headers: Mapping[str, str] = exchange.call.headers
    return headers.get("x-api-key", ""), headers.get("user-agent", "")


def sent_after(exchange: JournalEntry, calls: Sequence[JournalEntry]) -> Iterator[JournalEntry]:
    """Yield those of the calls, which are in order, that were sent after the response to this exchange."""
    for place in range(bisect_right(calls, exchange.n, key=number), len(calls)):
        if calls[place].follows >= exchange.n:
            yield calls[place]


def body_of(exchange: JournalEntry) -> Mapping[str, Any]:
    """Return the request's JSON object, or an empty one."""
    return exchange.body if isinstance(exchange.body, dict) else {}


def numbers(exchanges: Iterable[JournalEntry]) -> tuple[int, ...]:
    """Return the numbers of the exchanges, as proofs cite them."""
    return tuple(exchange.n for exchange in exchanges)


def requested_wait(exchange: JournalEntry) -> Duration | None:
    """Return the wait that the response's Retry-After specifies, or None if it has no readable one."""
    return retry_after(retry_after_text(exchange), exchange.at)


def retry_after_text(exchange: JournalEntry) -> str:
    """Return the response's Retry-After as it was sent, or an empty text."""
    return next((value for name, value in exchange.headers if name.lower() == "retry-after"), "")


def elapsed(earlier: JournalEntry, later: JournalEntry) -> Duration:
    """Return the real time between two calls, 0 if no stopwatch measured it."""
    if earlier.monotonic_us is None or later.monotonic_us is None:
        return 0
    return later.monotonic_us - earlier.monotonic_us


def reads_final(evidence: Evidence, exchange: JournalEntry) -> bool:
    """Return True if the client received the final status of a campaign, execution or session by this call."""
    is_read = exchange.operation in ("readCampaign", "readExecution", "readConnectionSession")
    return is_read and succeeded(exchange) and evidence.answer_field(exchange, "status") in FINAL
