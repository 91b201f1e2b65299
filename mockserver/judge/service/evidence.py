"""
What the answers and events of a recording show of the service's records, and what follows from their order.

1. A sighting is what one answer or event shows of one record, at some instant of the recorder's interval.
2. Of two intervals that overlap no order is known, so a contradiction needs either a proven order or none at all.
3. A call without an answer, or with a failure (5xx), has an unknown effect. A refusal is a 4xx.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from itertools import groupby
from typing import Any, Final, NamedTuple, TypeVar

from mockserver.contract.endpoints import ENDPOINTS
from mockserver.contract.lifecycles import CAMPAIGN, EVENTS
from mockserver.contract.schemas import ABSENT
from mockserver.trace.exchanges import RecordedDelivery, RecordedExchange

Cited = RecordedExchange | RecordedDelivery
Instant = int  # microseconds since 1970 by the service's clock
Row = TypeVar("Row")

SECOND: Final = 1_000_000
MINUTE: Final = 60 * SECOND
# How far the clock of a Date may be from that of the dates in bodies: a proxy writes the one, the service the other.
SKEW: Final = 5 * SECOND
_DELIVERY_MARGIN_MS: Final = 2_000  # the service notes a delivery a little after its end
_UNTIMED_DURATION_MS: Final = 60_000  # how long a call may have taken whose recording has no times
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = EPOCH.resolution
_NOT_DRAFT: Final = tuple(status for status in CAMPAIGN.states if status != CAMPAIGN.initial)
_OF_SESSIONS: Final = ("createConnectionSession", "readConnectionSession")
_ENDED: Final = tuple(status for status in CAMPAIGN.states if status in CAMPAIGN.final)


class Sighting(NamedTuple):
    """
    What one answer or event shows of a record.

    Attributes:
        cited: The exchange or delivery.
        how: created, started, canceled, listed, read, event, or refused for a refusal that depends on the state.
        kind: The kind of the record.
        id: Its id.
        shown: Its fields by their names in the document; of a creation also what its body sent.
        statuses: The states that it may have been in; empty if nothing is shown.
    """

    cited: Cited
    how: str
    kind: str
    id: str
    shown: Mapping[str, Any]
    statuses: tuple[str, ...] = ()

    @property
    def status(self) -> str | None:
        """The state that is shown, if it is one."""
        return self.statuses[0] if len(self.statuses) == 1 else None


class Ranked(NamedTuple):
    """A sighting with the least and the greatest rank of what it shows: a rank that cannot fall as time passes."""

    sighting: Sighting
    low: Any
    high: Any


def around(call: RecordedExchange, rows: Sequence[Row], cited: Callable[[Row], Cited]) -> tuple[Row, Row] | None:
    """Return the last row that was shown before a call and the first one after it; None if either is missing."""
    before = next((row for row in reversed(rows) if precedes(cited(row), call)), None)
    after = next((row for row in rows if precedes(call, cited(row))), None)
    return (before, after) if before is not None and after is not None else None


def precedes(first: Cited, second: Cited) -> bool:
    """
    Return True if the first was over before the second began.

    Two of one file are compared by its recorder's clock, calls of two files by the service's own; a delivery in another file
    has no order, since its receiver's clock is unknown.
    """
    if isinstance(first, RecordedExchange) and isinstance(second, RecordedExchange):
        if first.source == second.source:
            return first.precedes(second) and not _is_later(first, second)
        one, other = window(first), window(second)
    else:
        is_one_clock = first.source == second.source
        one, other = (_interval(first), _interval(second)) if is_one_clock else (None, None)
    return one is not None and other is not None and one[1] < other[0]


def _is_later(first: RecordedExchange, second: RecordedExchange) -> bool:
    """Return True if the service's clock has the first after the second: then one of the two clocks was set back."""
    one, other = window(first), window(second)
    return one is not None and other is not None and other[1] < one[0]


_Interval = tuple[int, int]


def _interval(cited: Cited) -> _Interval | None:
    """Return start and end in milliseconds of the recorder; None for a call without times."""
    if isinstance(cited, RecordedExchange):
        return (cited.started, cited.ended) if cited.is_timed else None
    return cited.started - _DELIVERY_MARGIN_MS, cited.ended + _DELIVERY_MARGIN_MS


def reversal(rows: Iterable[Ranked]) -> tuple[Ranked, Ranked] | None:
    """Return the earlier and the later of two sightings between which the rank has fallen; None if it may have risen only."""
    files: dict[str, list[Ranked]] = defaultdict(list)
    for row in rows:
        files[row.sighting.cited.source].append(row)
    for in_file in files.values():
        fallen = _reversal_in_time(in_file, _interval) or _reversal_in_order(in_file)
        if fallen is not None and precedes(fallen[0].sighting.cited, fallen[1].sighting.cited):
            return fallen
    if len(files) < 2:
        return None
    together = [row for in_file in files.values() for row in in_file]
    return _reversal_in_time(together, window)


def _reversal_in_time(
    rows: Sequence[Ranked], interval: Callable[[Cited], _Interval | None]
) -> tuple[Ranked, Ranked] | None:
    spans = [(interval(row.sighting.cited), row) for row in rows]
    timed = [(span, row) for span, row in spans if span is not None]
    by_end = sorted(timed, key=lambda pair: pair[0][1])
    highest: Ranked | None = None
    place = 0
    for span, row in sorted(timed, key=lambda pair: pair[0][0]):
        while place < len(by_end) and by_end[place][0][1] < span[0]:
            if highest is None or by_end[place][1].low > highest.low:
                highest = by_end[place][1]
            place += 1
        if highest is not None and highest.low > row.high:
            return highest, row
    return None


def _reversal_in_order(rows: Sequence[Ranked]) -> tuple[Ranked, Ranked] | None:
    """Compare the calls of a file in its order, if that is the order of the calls."""
    highest: Ranked | None = None
    ordered = [
        row for row in rows if isinstance(row.sighting.cited, RecordedExchange) and row.sighting.cited.is_ordered
    ]
    for _, group in groupby(sorted(ordered, key=_place), key=_place):
        same_answer = list(group)
        for row in same_answer:
            if highest is not None and highest.low > row.high:
                return highest, row
        best = max(same_answer, key=lambda row: row.low)
        highest = best if highest is None or best.low > highest.low else highest
    return None


def _place(row: Ranked) -> int:
    return row.sighting.cited.index


def instant(text: Any) -> Instant | None:
    """Return the instant of a date-time; None for any other value, and for one without an offset."""
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return (moment - EPOCH) // _MICROSECOND if moment.tzinfo is not None else None


def window(exchange: Cited) -> tuple[Instant, Instant] | None:
    """
    Return the instants, by the service's clock, between which it read or changed its state for an answer.

    The `Date` of an answer is cut to the second, and is written after the state was read: at most as long as the call took.
    None without a `Date`.
    """
    if not isinstance(exchange, RecordedExchange) or exchange.date is None:
        return None
    date = exchange.date * SECOND
    duration_ms = exchange.ended - exchange.started if exchange.is_timed else _UNTIMED_DURATION_MS
    return date - duration_ms * 1000 - SKEW, date + SECOND + SKEW


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
        exchanges: Sequence[RecordedExchange],
        deliveries: Iterable[RecordedDelivery] = (),
        keyed_sources: frozenset[str] = frozenset(),
    ) -> None:
        self.exchanges = exchanges
        self.keyed_sources = keyed_sources
        of_sessions = (exchange for exchange in exchanges if exchange.operation in _OF_SESSIONS)
        known = {row.id for exchange in of_sessions for row in _sightings(exchange)}
        events = [(delivery, _event(delivery)) for delivery in deliveries]
        self.deliveries = [delivery for delivery, row in events if row is not None and row.id in known]
        self._events = [row for _, row in events if row is not None and row.id in known]

    @cached_property
    def sightings(self) -> Sequence[Sighting]:
        """Every sighting, those of the exchanges first."""
        return [*(row for exchange in self.exchanges for row in _sightings(exchange)), *self._events]

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
    def _by_operation(self) -> Mapping[str, Sequence[RecordedExchange]]:
        rows: dict[str, list[RecordedExchange]] = {}
        for exchange in self.exchanges:
            rows.setdefault(exchange.operation or "", []).append(exchange)
        return rows

    def calls(self, operation: str) -> Sequence[RecordedExchange]:
        """Return the calls of an operation."""
        return self._by_operation.get(operation, ())


def is_refused(exchange: RecordedExchange) -> bool:
    """Return True if the service refused the call, so that it changed nothing."""
    return exchange.code is not None and exchange.status is not None and 400 <= exchange.status < 500


def is_repetition(first: Cited, second: Cited) -> bool:
    """
    Return True if two calls may be one: in the files of two recorders, or a repetition with the same Idempotency-Key.
    """
    if not isinstance(first, RecordedExchange) or not isinstance(second, RecordedExchange):
        return False
    key = first.request_headers.get("idempotency-key")
    return first.source != second.source or (key is not None and key == second.request_headers.get("idempotency-key"))


def _sightings(exchange: RecordedExchange) -> Iterator[Sighting]:
    read = _READERS.get(exchange.operation or "")
    if read is None:
        return
    if exchange.succeeded:
        yield from read(exchange, exchange.response_json)
    elif exchange.operation == "startCampaign" and exchange.code in (
        "CAMPAIGN_NOT_DRAFT",
        "CAMPAIGN_ALREADY_PROCESSING",
    ):
        yield Sighting(
            cited=exchange, how="refused", kind="campaign", id=exchange.params["id"], shown={}, statuses=_NOT_DRAFT
        )


def rows_of(value: Any, key: str) -> list[Mapping[str, Any]]:
    """Return the objects with an id of a list that a body has under a key."""
    rows = value.get(key) if isinstance(value, dict) else None
    if not isinstance(rows, list):
        return []
    return [row for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str)]


def sent(exchange: RecordedExchange) -> Mapping[str, Any] | None:
    """Return the object that a call sent, {} for no body where that is allowed; None if it is unknown."""
    if exchange.request_body is None:
        return None
    if not exchange.request_body.strip():
        return {} if ENDPOINTS[exchange.operation or ""].optional_body else None  # its recorder has left it out
    return exchange.request_json if isinstance(exchange.request_json, dict) else None


def _row(exchange: RecordedExchange, how: str, kind: str, shown: Mapping[str, Any], key: str = "id") -> list[Sighting]:
    id, status = shown.get(key), shown.get("status")
    if not isinstance(id, str) or not id:
        return []
    return [
        Sighting(
            cited=exchange,
            how=how,
            kind=kind,
            id=id,
            shown=shown,
            statuses=(status,) if isinstance(status, str) else (),
        )
    ]


def _created_campaign(exchange: RecordedExchange, body: Any) -> Iterable[Sighting]:
    if not isinstance(body, dict):
        return []
    given = sent(exchange) or {}
    fields = {
        key: given[key] for key in ("name", "platform", "templateId", "cadence") if given.get(key, None) is not None
    }
    described = {"description": given.get("description")} if given else {}
    return _row(exchange, "created", "campaign", {**fields, **described, **body}, "campaignId")


def _listed_campaigns(exchange: RecordedExchange, body: Any) -> Iterable[Sighting]:
    return [row for entry in rows_of(body, "campaigns") for row in _row(exchange, "listed", "campaign", entry)]


def _read_campaign(exchange: RecordedExchange, body: Any) -> Iterator[Sighting]:
    if not isinstance(body, dict):
        return
    yield from _row(exchange, "read", "campaign", body)
    for entry in rows_of(body, "executions"):
        yield from _row(exchange, "listed", "execution", {**entry, "campaignId": exchange.params["id"]})


def _read_execution(exchange: RecordedExchange, body: Any) -> Iterable[Sighting]:
    shown = {**body, "campaignId": exchange.params["id"]} if isinstance(body, dict) else {}
    return _row(exchange, "read", "execution", shown)


def _started(exchange: RecordedExchange, body: Any) -> Iterator[Sighting]:
    campaign = exchange.params["id"]
    yield Sighting(cited=exchange, how="started", kind="campaign", id=campaign, shown={}, statuses=("processing",))
    if isinstance(body, dict):
        yield from _row(exchange, "started", "execution", {**body, "campaignId": campaign}, "executionId")


def _canceled(exchange: RecordedExchange, _body: Any) -> Iterable[Sighting]:
    return [
        Sighting(cited=exchange, how="canceled", kind="campaign", id=exchange.params["id"], shown={}, statuses=_ENDED)
    ]


def _created_session(exchange: RecordedExchange, body: Any) -> Iterable[Sighting]:
    given = sent(exchange)
    shown = {**body, "sent": given} if isinstance(body, dict) else {}
    return _row(exchange, "created", "session", shown, "sessionId")


def _read_session(exchange: RecordedExchange, body: Any) -> Iterable[Sighting]:
    return _row(exchange, "read", "session", body, "sessionId") if isinstance(body, dict) else []


def _listed_templates(exchange: RecordedExchange, body: Any) -> Iterable[Sighting]:
    return [row for entry in rows_of(body, "templates") for row in _row(exchange, "listed", "template", entry)]


def _read_template(exchange: RecordedExchange, body: Any) -> Iterable[Sighting]:
    return _row(exchange, "read", "template", body) if isinstance(body, dict) else []


def _read_entrypoint(exchange: RecordedExchange, body: Any) -> Iterable[Sighting]:
    shown = body.get("entrypoint") if isinstance(body, dict) else None
    return _row(exchange, "read", "entrypoint", shown) if isinstance(shown, dict) else []


def _listed_messages(exchange: RecordedExchange, body: Any) -> Iterable[Sighting]:
    chat = exchange.params["chatId"]
    rows = [
        row
        for entry in rows_of(body, "records")
        for row in _row(exchange, "listed", "message", {**entry, "chat": chat})
    ]
    return [row._replace(statuses=()) for row in rows]  # a message has no lifecycle in the document


def _uploaded(exchange: RecordedExchange, body: Any) -> Iterable[Sighting]:
    return [row for entry in rows_of({"files": body}, "files") for row in _row(exchange, "created", "media", entry)]


_READERS: Final[Mapping[str, Callable[[RecordedExchange, Any], Iterable[Sighting]]]] = {
    "createCampaign": _created_campaign,
    "listCampaigns": _listed_campaigns,
    "readCampaign": _read_campaign,
    "readExecution": _read_execution,
    "startCampaign": _started,
    "cancelCampaign": _canceled,
    "createConnectionSession": _created_session,
    "readConnectionSession": _read_session,
    "listTemplates": _listed_templates,
    "readTemplate": _read_template,
    "readEntrypoint": _read_entrypoint,
    "listMessages": _listed_messages,
    "uploadMedia": _uploaded,
}


def _event(delivery: RecordedDelivery) -> Sighting | None:
    """Return what an event shows of its session; None for one that is not an event of the document."""
    envelope = delivery.json if delivery.json is not ABSENT else None
    kind = EVENTS.get(str(envelope.get("event"))) if isinstance(envelope, dict) else None
    data = envelope.get("data") if isinstance(envelope, dict) else None
    if kind is None or not isinstance(data, dict) or not isinstance(data.get("sessionId"), str):
        return None
    status = "completed" if kind.data == "entrypoint" else data.get("status")
    return Sighting(
        cited=delivery,
        how="event",
        kind="session",
        id=data["sessionId"],
        shown=data,
        statuses=(status,) if isinstance(status, str) else (),
    )
