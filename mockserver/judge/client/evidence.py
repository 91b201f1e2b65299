"""
What a trace shows of the client's conduct, for the judges: what it was shown, what it repeated, how long it waited.

A client did not receive an answer that was cut, garbled, lost, or sent after it had repeated the call: no judge blames a client
for the content of such an answer.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, Final

from mockserver.contract.endpoints import CREATING, ENDPOINTS
from mockserver.contract.lifecycles import CAMPAIGN
from mockserver.core.instants import MILLISECOND, SECOND, Duration, Instant, retry_after, retry_after_date
from mockserver.trace.exchange import DeliveryAttempt, Exchange
from mockserver.trace.records import SeenSession
from mockserver.trace.sightings import sighted
from mockserver.trace.trace import Trace

OF_ALL_CALLS: Final = (401, 403)  # a refusal of the key or the tenant, whatever the request
WITH_FILTERS: Final = tuple(row.id for row in ENDPOINTS.values() if "filters" in dict(row.field_clauses))
RETRIED: Final = 3  # calls in a row that failed: a client that gives up then has retried
HOPELESS: Final = (400, 401, 403, 404, 409, 422)
# Transports that repeat a POST by themselves if a connection that was in use before ends without a byte, by the beginning
# of their User-Agent: libcurl, browsers, and Java's HttpURLConnection. Those of Go, Ruby and Java's HttpClient repeat only
# what is idempotent, and those of Python and Node nothing.
REPEATS_POSTS: Final = ("curl/", "guzzlehttp/", "java/", "libcurl", "mozilla/", "php-curl", "pycurl/")
# A clock that follows the process's and advanced this much more than real time was moved.
_MOVED: Final = 10 * MILLISECOND
_HTTP_DATE: Final = SECOND  # of which an HTTP date has no fractions, and a client's own clock in seconds neither


def may_have_received(exchange: Exchange) -> bool:
    """Return True if the client received a 2xx, or may have: an equal call that was sent before the answer may be another user's."""
    return exchange.succeeded or (exchange.late_status is not None and 200 <= exchange.late_status < 300)


def between(trace: Trace, first: Exchange, last: Exchange, *operations: str) -> list[Exchange]:
    """Return the calls of these operations after one exchange and before another, as the client sent the two."""
    calls = (call for call in trace.sent_between(first, last) if call.number != first.number)
    return [call for call in calls if call.operation in operations]


def is_in_a_row(trace: Trace, first: Exchange, last: Exchange) -> bool:
    """Return True if in between their client sent only calls that concern the same record: they are of one user then."""
    ids = set(first.params.values())
    own = (call for call in trace.sent_between(first, last) if call.client == first.client)
    return not any(ids.isdisjoint(call.params.values()) and call.request != first.request for call in own)


def failures_at_end(calls: Sequence[Exchange]) -> int:
    """Return how many of the last calls in a row have to be repeated."""
    return sum(1 for _ in takewhile(lambda call: call.has_to_be_retried, reversed(calls)))


def is_locked_out(trace: Trace, after: Exchange) -> bool:
    """Return True if a call of the client after this one was refused by its key or its account: only a person can go on then."""
    return trace.once(_last_lock_outs).get(after.client, 0) > after.number


def _last_lock_outs(trace: Trace) -> Mapping[object, int]:
    """Return the number of each client's last call that was refused by its key or its account, not for one resource."""
    refused = (call for call in trace.calls if call.status in OF_ALL_CALLS and call.was_received)
    return {call.client: call.number for call in refused if call.code != "RESOURCE_ACCESS_DENIED"}


def transport_repeats(trace: Trace) -> Mapping[int, bool]:
    """
    Return the numbers of calls that the client's HTTP library may have repeated by itself, on a new connection.

    True for one that is known to do so. It does so once if a connection that had carried another call ends without a
    byte, with the same head, before it sends anything else.
    """
    return trace.once(_transport_repeats)


def _transport_repeats(trace: Trace) -> Mapping[int, bool]:
    repeats: dict[int, bool] = {}
    latest: dict[object, Exchange] = {}  # of each client
    for again in trace.calls:
        first, latest[again.client] = latest.get(again.client), again
        if first is None or not first.is_reset or first.number in repeats:
            continue
        if first.request == again.request and first.request_headers == again.request_headers:
            agent = again.request_headers.get("user-agent", "").lower()
            repeats[again.number] = agent.startswith(REPEATS_POSTS)
    return repeats


# What the client was shown.


def shown(trace: Trace, campaign_id: str | None, client_of: Exchange | None = None) -> Sequence[tuple[int, Any]]:
    """
    Return the statuses of a campaign and of its executions that clients received, each with the number of its call.

    Args:
        trace: The trace.
        campaign_id: The campaign.
        client_of: A call of the one client whose reads count; None for those of all.
    """
    rows = trace.once(_shown).get(campaign_id, ())
    if client_of is None:
        return rows
    clients = ((row, trace.by_number(row[0])) for row in rows)
    return [row for row, call in clients if call is not None and call.client == client_of.client]


def _shown(trace: Trace) -> Mapping[str | None, Sequence[tuple[int, Any]]]:
    found: dict[str | None, list[tuple[int, Any]]] = {}
    for id, rows in sighted(trace, "campaign").items():
        found[id] = [(row.cited.number, row.status) for row in rows if row.how in ("read", "listed")]
    for rows in sighted(trace, "execution").values():
        for row in rows:
            if row.how == "read":
                found.setdefault(row.shown["campaignId"], []).append((row.cited.number, row.status))
    return {id: sorted(rows, key=lambda row: row[0]) for id, rows in found.items()}


def is_invited(trace: Trace, first: Exchange, again: Exchange) -> bool:
    """
    Return True for a start or a cancel that the client repeats since it was shown a campaign in a state that allows it.

    A service that lags behind shows the former state, also after it has refused the call or answered it.
    """
    rows = shown(trace, again.params.get("id"))
    place = bisect_right(rows, again.follows, key=lambda row: row[0]) - 1
    return place >= 0 and rows[place][0] > first.since and rows[place][1] in _allowed_in(again)


def may_be_of_another_user(trace: Trace, again: Exchange) -> bool:
    """
    Return True for a start or a cancel if the client was shown a state that allows it as often as it sent one.

    The campaign's creation shows a draft too, to the user who sends the first one before any read.
    """
    allowed = _allowed_in(again)
    if not allowed:
        return False
    campaign_id = again.params["id"]
    invited = [n for n, status in shown(trace, campaign_id) if n <= again.follows and status in allowed]
    calls = trace.concerning(campaign_id)
    sent = [call for call in calls if call.operation == again.operation and call.number <= again.number]
    if len(sent) > 1 and len(invited) == len(sent) - 1 and _follows_creation(trace, sent[0], invited):
        return not is_in_a_row(trace, sent[-2], again)
    return len(invited) >= len(sent)


def _allowed_in(call: Exchange) -> Sequence[str]:
    """Return the states of a campaign in which a start or a cancel is allowed; none for any other call."""
    return CAMPAIGN.sources(call.trigger) if call.trigger is not None else ()


def _follows_creation(trace: Trace, first: Exchange, invited: Sequence[int]) -> bool:
    """Return True if the client created the campaign, and sent this call before it was shown the campaign by a read."""
    created = trace.creating(first.params["id"])
    is_own = created is not None and created.succeeded and created.client == first.client
    return is_own and all(n > first.number for n in invited)


# Sessions and their events.


def sessions(trace: Trace) -> list[tuple[SeenSession, Exchange]]:
    """Return the sessions that a call created, each with that call."""
    if not trace.of(CREATING["session"].id):
        return []
    pairs = [(session, trace.creating(session.id)) for session in trace.records.sessions.values()]
    return [(session, created) for session, created in pairs if created is not None]


def polls(trace: Trace, session_id: str) -> list[Exchange]:
    """Return the calls that read a session."""
    return [call for call in trace.concerning(session_id) if call.reads == "session"]


def reads(trace: Trace, session_id: str) -> list[Exchange]:
    """Return the reads of a session whose success its client received."""
    return [call for call in polls(trace, session_id) if call.succeeded]


def is_acknowledged(trace: Trace, session_id: str) -> bool:
    """Return True if a receiver accepted an event of the session."""
    of_session = (attempt for attempt in trace.deliveries if attempt.session_id == session_id)
    return any(attempt.accepted and attempt.is_genuine for attempt in of_session)


def ended_at(trace: Trace, record_id: str) -> Instant | None:
    """Return the instant at which a record reached its final state, or None."""
    end = trace.records.ends.get(record_id)
    return end.at if end is not None else None


def ended_with(trace: Trace, created: Exchange, record_id: str) -> bool:
    """Return True if a rule ended a record in the instant of the call that created it: before the answer."""
    end = trace.records.ends.get(record_id)
    return end is not None and end.is_by_rule and end.at == created.at


def plain_attempts(trace: Trace, session_id: str) -> list[DeliveryAttempt]:
    """Return the attempts to deliver a session's event that no rule has modified."""
    return [attempt for attempt in trace.deliveries if attempt.session_id == session_id and attempt.fault is None]


# How long the client waited.


def elapsed(earlier: Exchange, later: Exchange) -> Duration:
    """Return the real time between two calls, 0 if no stopwatch measured it."""
    if earlier.stopwatch is None or later.stopwatch is None:
        return 0
    return later.stopwatch - earlier.stopwatch


def gap(trace: Trace, earlier: Exchange, later: Exchange) -> Duration | None:
    """
    Return how long the client waited between two calls, or None if no clock measured it.

    The sandbox's clock counts if it was advanced, however little, and real time of at least a second; of both the
    longer one. A test may take the sleep out of its client: neither clock sees that wait.
    """
    virtual, real, is_frozen = later.at - earlier.at, elapsed(earlier, later), trace.sandbox.is_frozen
    if trace.slept is not None:
        return virtual + trace.slept(earlier.number, later.number) * is_frozen
    is_moved = virtual > 0 if is_frozen else virtual - real > _MOVED
    measured = [*([virtual] if is_moved else []), *([real] if real >= SECOND else [])]
    return max(measured, default=None)


def has_observed_waits(trace: Trace) -> bool:
    """Return True if some call was repeated after a wait that a clock has measured."""
    return trace.slept is not None or trace.once(_has_observed_waits)


def _has_observed_waits(trace: Trace) -> bool:
    latest: dict[object, Exchange] = {}
    for call in trace.calls:
        key = (call.operation, tuple(call.params.items()))
        if key in latest and gap(trace, latest[key], call) is not None:
            return True
        latest[key] = call
    return False


def is_date_over(limited: Exchange) -> bool:
    """Return True if a 429's Retry-After is a date that is past already by the client's own clock."""
    date = retry_after_date(limited.retry_after)
    return date is not None and limited.limited_at is not None and limited.limited_at > date - _HTTP_DATE


def is_early(trace: Trace, limited: Exchange, again: Exchange) -> bool:
    """
    Return True if a client that got a 429 calls again before its Retry-After is over.

    A date is over by the sandbox's clock, which the answer's Date shows, or by the clock of the process: most
    clients subtract their own clock from the date and wait for the difference, on whichever clock.
    """
    waited, date = gap(trace, limited, again) or 0, retry_after_date(limited.retry_after)
    if date is None:
        return waited < (retry_after(limited.retry_after, limited.at) or 0)
    latest = limited.at + waited
    if limited.limited_at is not None:
        virtual, real = again.at - limited.at, elapsed(limited, again)
        by_process = again.process_at if again.process_at is not None else limited.limited_at + real
        latest = max(latest, by_process + (virtual if trace.sandbox.is_frozen else max(0, virtual - real)))
    return latest < date - _HTTP_DATE
