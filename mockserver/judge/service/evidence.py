"""The history of one tenant: its exchanges in order, and what they and its events show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

from mockserver.trace.exchange import Cited, DeliveryAttempt, Exchange
from mockserver.trace.sightings import Sighting, sightings_of

_OF_SESSIONS: Final = ("createConnectionSession", "readConnectionSession")


class History:
    """
    The exchanges of one tenant's key in the order of the recording, and the events about its sessions.

    Attributes:
        exchanges: Those whose answer is the service's word, and those without one.
        deliveries: Events about sessions of these exchanges.
        keyed_sources: The files that have the keys of calls.
    """

    def __init__(
        self,
        exchanges: Sequence[Exchange],
        deliveries: Iterable[DeliveryAttempt] = (),
        keyed_sources: frozenset[str] = frozenset(),
    ) -> None:
        self.exchanges = exchanges
        self.keyed_sources = keyed_sources
        of_sessions = (exchange for exchange in exchanges if exchange.operation in _OF_SESSIONS)
        known = {row.id for exchange in of_sessions for row in sightings_of(exchange)}
        events = [(delivery, next(iter(sightings_of(delivery)), None)) for delivery in deliveries]
        self.deliveries = [delivery for delivery, row in events if row is not None and row.id in known]
        self._events = [row for _, row in events if row is not None and row.id in known]

    @cached_property
    def sightings(self) -> Sequence[Sighting]:
        """Every sighting, those of the exchanges first."""
        return [*(row for exchange in self.exchanges for row in sightings_of(exchange)), *self._events]

    @cached_property
    def _by_kind(self) -> Mapping[str, Mapping[str, Sequence[Sighting]]]:
        rows: dict[str, dict[str, list[Sighting]]] = {}
        for row in self.sightings:
            rows.setdefault(row.kind, {}).setdefault(row.id, []).append(row)
        return rows

    def records(self, kind: str) -> Mapping[str, Sequence[Sighting]]:
        """Return the sightings of each record of a kind, by its id."""
        return self._by_kind.get(kind, {})

    @cached_property
    def _by_operation(self) -> Mapping[str, Sequence[Exchange]]:
        rows: dict[str, list[Exchange]] = {}
        for exchange in self.exchanges:
            rows.setdefault(exchange.operation or "", []).append(exchange)
        return rows

    def calls(self, operation: str) -> Sequence[Exchange]:
        """Return the calls of an operation."""
        return self._by_operation.get(operation, ())


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
