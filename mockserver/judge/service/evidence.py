"""What a trace shows of one tenant's records, and of their order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, Final

from mockserver.contract.endpoints import ENDPOINTS
from mockserver.contract.lifecycles import Lifecycle
from mockserver.trace.exchange import Cited, Exchange
from mockserver.trace.order import Ranked, around, precedes
from mockserver.trace.recorded import names_tenant
from mockserver.trace.sightings import Kind, Sighting, sighted, sightings_of
from mockserver.trace.trace import Trace

Rows = Sequence[Sighting]
_OF_SESSIONS: Final = tuple(row.id for row in ENDPOINTS.values() if "session" in (row.creates, row.reads))
_WORDS: Final[Mapping[str, str]] = {
    "created": "created",
    "started": "started, so processing",
    "canceled": "canceled with 204, so ended",
    "refused": "refused as not a draft",
}


def tenants(trace: Trace) -> Iterator[Trace]:
    """Yield the trace of each key: its exchanges, and the events about its sessions."""
    for key, exchanges in trace.by_key.items():
        of_sessions = [exchange for exchange in exchanges if exchange.operation in _OF_SESSIONS]
        known = {row.id for exchange in of_sessions for row in sightings_of(exchange)}
        deliveries = [
            delivery for delivery in trace.deliveries if any(row.id in known for row in sightings_of(delivery))
        ]
        knows = trace.knows if names_tenant(key) else trace.knows - {"tenants"}
        yield replace(trace, exchanges=exchanges, deliveries=deliveries, knows=knows)


def shown_of(trace: Trace, kind: Kind, id: Any) -> Rows:
    """Return the sightings of one record; none if the id is no text, or unknown."""
    return sighted(trace, kind).get(id, ()) if isinstance(id, str) else ()


def first(rows: Iterable[Sighting], how: str) -> Sighting | None:
    """Return the first sighting that was shown so."""
    return next((row for row in rows if row.how == how), None)


def before(rows: Iterable[Sighting], call: Cited) -> Sighting | None:
    """Return the first sighting that was over before a call."""
    return next((row for row in rows if precedes(row.cited, call)), None)


def after(call: Cited, rows: Iterable[Sighting]) -> Sighting | None:
    """Return the first sighting that began after a call."""
    return next((row for row in rows if precedes(call, row.cited)), None)


def shown_around(call: Exchange, rows: Rows) -> tuple[Sighting, Sighting] | None:
    """Return what was shown last before a call and first after it: a template is edited outside of the API."""
    return around(call, rows, attrgetter("cited"))


def ends(rows: Rows, lifecycle: Lifecycle) -> Rows:
    """Return the sightings that show a record's end."""
    final = lifecycle.final
    return [row for row in rows if row.status in final]


def ranked(rows: Rows, lifecycle: Lifecycle) -> list[Ranked]:
    """Return the sightings whose states are of the document, with their ranks; final states have the highest one."""
    final = lifecycle.final
    ongoing = [state for state in lifecycle.states if state not in final]
    ranks = {state: place for place, state in enumerate(ongoing)} | dict.fromkeys(final, len(ongoing))
    known = [(row, [ranks[status] for status in row.statuses if status in ranks]) for row in rows]
    return [Ranked(row, min(values), max(values)) for row, values in known if values]


def described(row: Sighting) -> str:
    """Return what a sighting shows of a record's state, in words."""
    if row.how == "event":
        return f"status {row.status} by its event"
    return _WORDS.get(row.how, f"status {row.status}")


def both(one: Sighting, other: Sighting) -> tuple[str, str]:
    """Return what two sightings show of a record's state, in words."""
    return described(one), described(other)


def date_of(row: Sighting) -> str:
    """Return the Date of the answer that shows a record, whose `window` is known."""
    assert isinstance(row.cited, Exchange)
    return row.cited.response_headers["date"]


def is_refused(exchange: Exchange) -> bool:
    """Return True if the service refused the call, so that it changed nothing."""
    return exchange.code is not None and exchange.status is not None and 400 <= exchange.status < 500


def is_repetition(first: Cited, second: Cited) -> bool:
    """
    Return True if two calls may be one: in the files of two recorders, or a repetition with the same Idempotency-Key.
    """
    if not isinstance(first, Exchange) or not isinstance(second, Exchange):
        return False
    key = first.request_headers.get("idempotency-key")
    return first.source != second.source or (key is not None and key == second.request_headers.get("idempotency-key"))
