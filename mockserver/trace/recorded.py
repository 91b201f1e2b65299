"""Exchanges and traces as a recorder has them: it shows no more than what was sent and received."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from mockserver.core.instants import MINUTE, SECOND, Instant, retry_after_date
from mockserver.trace.exchange import DeliveryAttempt, Exchange, trouble_of
from mockserver.trace.facts import Fact
from mockserver.trace.seen import records_seen
from mockserver.trace.trace import Trace

_LONG: Final = 2 * MINUTE  # an answer that took so long was waited for


def recorded_exchange(
    *,
    number: int,
    source: str,
    method: str,
    path: str,
    operation: str | None,
    params: Mapping[str, str],
    request_headers: Mapping[str, str],
    request_body: bytes | None,
    status: int | None,
    response_headers: Mapping[str, str],
    response_body: bytes | None,
    key: str | None,
    sent_at: Instant,
    ended_at: Instant,
    is_timed: bool = True,
    is_ordered: bool,
) -> Exchange:
    """Return an exchange with what follows from these values; for them see `Exchange`."""
    trouble = trouble_of(status, response_headers, response_body, method)
    took = ended_at - sent_at
    exchange = Exchange(
        number=number,
        source=source,
        method=method,
        path=path,
        operation=operation,
        params=params,
        request_headers=request_headers,
        request_body=request_body,
        status=status,
        response_headers=response_headers,
        response_body=response_body,
        key=key,
        trouble=trouble,
        sent_at=sent_at,
        at=sent_at,
        ended_at=ended_at,
        retry_after=response_headers.get("retry-after", ""),
        follows=number - 1,
        since=number,
        applied=None,
        is_timed=is_timed,
        is_ordered=is_ordered,
        delay=took // SECOND * SECOND if took >= _LONG else 0,
        # A library may have repeated it: the recording does not show on which connection it was.
        is_reset=trouble in ("no-answer", "broken-body"),
        stopwatch=sent_at if is_timed else None,
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
    yield "first calls"
    if not exchanges or any(names_tenant(exchange.key) for exchange in exchanges):
        yield "tenants"
    if all(exchange.is_timed for exchange in exchanges):
        yield "times"
    if deliveries:
        yield "deliveries"
