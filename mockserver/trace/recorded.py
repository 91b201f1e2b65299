"""Exchanges and traces as a recorder has them: it shows no more than what was sent and received."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from mockserver.contract.endpoints import ENDPOINTS
from mockserver.core.instants import MINUTE, SECOND, Instant, as_shown, retry_after_date
from mockserver.trace.entries import Entry
from mockserver.trace.exchange import NOT_RECEIVED, DeliveryAttempt, Exchange, trouble_of
from mockserver.trace.facts import Fact
from mockserver.trace.seen import records_seen
from mockserver.trace.trace import Trace
from mockserver.wire.router import route

_LONG: Final = 2 * MINUTE  # an answer that took so long was waited for


def recorded_exchange(entry: Entry, number: int, at: Instant) -> Exchange:
    """
    Return the exchange of an entry, with what follows from it.

    Args:
        entry: Its `url` is the path from `/v1` on, and it has hashes of keys, or stand-ins for them.
        number: As of an exchange.
        at: When it was sent, or counts as sent if the entry has no times.
    """
    match = route(entry.method, entry.url.partition("?")[0])
    trouble = trouble_of(entry.status, entry.response_headers, entry.response_body, entry.method)
    ended_at = at if entry.ended_at is None else entry.ended_at
    is_timed = entry.sent_at is not None
    is_lost = trouble in NOT_RECEIVED
    waited = 0 if is_lost else ended_at - at
    exchange = Exchange(
        number=number,
        source=entry.source,
        method=entry.method,
        path=entry.url,
        operation=match.target.id if match.target is not None and entry.method != "HEAD" else None,
        params=match.params,
        request_headers=entry.request_headers,
        request_body=entry.request_body,
        status=entry.status,
        response_headers=entry.response_headers,
        response_body=entry.response_body,
        key=entry.request_headers.get("x-api-key"),
        trouble=trouble,
        sent_at=at,
        at=at,
        ended_at=ended_at,
        retry_after=entry.response_headers.get("retry-after", ""),
        follows=number - 1,
        since=number,
        applied=None,
        is_timed=is_timed,
        is_ordered=entry.is_ordered,
        delay=as_shown(waited, SECOND) if waited >= _LONG else 0,
        # A library may have repeated it: the recording does not show on which connection it was.
        is_reset=is_lost,
        stopwatch=at if is_timed else None,
    )
    return replace(exchange, applied=exchange.succeeded or None, retry_after=_seconds_to_wait(exchange))


def _seconds_to_wait(exchange: Exchange) -> str:
    """Return a Retry-After; of a date the seconds of the shortest wait that reaches it, by whichever clock."""
    until = retry_after_date(exchange.retry_after)
    if until is None:
        return exchange.retry_after
    return str(max(0, (until - max(exchange.ended_at, exchange.date or 0)) // SECOND - 1))


def recorded_trace(
    exchanges: Sequence[Exchange],
    deliveries: Sequence[DeliveryAttempt] = (),
    *,
    prefix: str,
    sources: Sequence[str],
    left_out: Mapping[str, int],
) -> Trace:
    """Return the trace of recorded exchanges; for the arguments see `Trace`."""
    return Trace(
        exchanges=exchanges,
        deliveries=deliveries,
        knows=frozenset(_known(exchanges, deliveries)),
        now=max((exchange.ended_at for exchange in exchanges), default=0),
        sources=sources,
        prefix=prefix,
        left_out=left_out,
        read_records=records_seen,
    )


def names_tenant(key: str | None) -> bool:
    """Return True if a recorded key is one of the API, whose calls are all of one tenant, and not what a recorder put instead."""
    return (key or "").startswith(("sk_", "pk_"))


def _known(exchanges: Sequence[Exchange], deliveries: Sequence[DeliveryAttempt]) -> Iterator[Fact]:
    if not exchanges or any(names_tenant(exchange.key) for exchange in exchanges):
        yield "tenants"
    if all(exchange.is_timed for exchange in exchanges):
        yield "times"
    if not any(exchange.request_body is None for exchange in exchanges if _has_json(exchange)):
        yield "bodies"
    if deliveries:
        yield "deliveries"


def _has_json(exchange: Exchange) -> bool:
    """Return True for a call whose body the API reads as JSON: recorders leave out the files of others."""
    return exchange.operation is not None and ENDPOINTS[exchange.operation].body == "json"
