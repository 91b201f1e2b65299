"""
What the answers of the sixteen operations, and the events, show of the service's records.

A sighting is what one answer or event shows of one record, at some instant while its call was on. A call without an answer, or
with a failure (5xx), shows nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, Literal

from mockserver.contract.endpoints import ENDPOINTS
from mockserver.contract.lifecycles import CAMPAIGN, CONNECTED, EVENTS
from mockserver.contract.schemas import ABSENT
from mockserver.trace.exchange import Cited, DeliveryAttempt, Exchange
from mockserver.trace.trace import Trace

Kind = Literal["campaign", "execution", "session", "template", "entrypoint", "message", "media"]
How = Literal["created", "started", "canceled", "refused", "listed", "read", "event"]
_ENDED: Final = tuple(status for status in CAMPAIGN.states if status in CAMPAIGN.final)
_NOT_DRAFT: Final = tuple(status for status in CAMPAIGN.states if status != CAMPAIGN.initial)
OF_NO_DRAFT: Final = ("CAMPAIGN_NOT_DRAFT", "CAMPAIGN_ALREADY_PROCESSING")  # refusals of a start
_SENT: Final = ("name", "platform", "templateId", "cadence", "filters")  # that a campaign keeps


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """
    What one answer or event shows of a record.

    Attributes:
        cited: The exchange or delivery.
        how: `refused` for a refusal that depends on the state.
        kind: The kind of the record.
        id: Its id.
        shown: Its fields by their names in the document; of a creation also what its body sent.
        statuses: The states that it may have been in; empty if nothing is shown.
    """

    cited: Cited
    how: How
    kind: Kind
    id: str
    shown: Mapping[str, Any]
    statuses: tuple[str, ...] = ()

    @property
    def status(self) -> str | None:
        """The state that is shown, if it is one."""
        return self.statuses[0] if len(self.statuses) == 1 else None


def sightings(trace: Trace) -> Mapping[Kind, Mapping[str, list[Sighting]]]:
    """Return what a trace shows of each record, by kind and id: by the answers in their order, then by the events."""
    rows: dict[Kind, dict[str, list[Sighting]]] = {}
    cited: list[Cited] = [*trace.calls, *trace.deliveries]
    for row in chain.from_iterable(map(sightings_of, cited)):
        rows.setdefault(row.kind, {}).setdefault(row.id, []).append(row)
    return rows


def sighted(trace: Trace, kind: Kind) -> Mapping[str, Sequence[Sighting]]:
    """Return the sightings of each record of a kind, by its id; see `sightings`."""
    return trace.once(sightings).get(kind, {})


def sightings_of(cited: Cited) -> Iterable[Sighting]:
    """Return what one exchange or delivery shows."""
    if isinstance(cited, DeliveryAttempt):
        return _event(cited)
    reader = READERS.get(cited.operation or "")
    if reader is not None and cited.succeeded:
        return reader(cited, cited.response_json)
    if cited.creates == "execution" and cited.code in OF_NO_DRAFT:
        return [_of_path(cited, "refused", _NOT_DRAFT)]
    return ()


def first_text(rows: Iterable[Sighting], field: str) -> str | None:
    """Return the first text that these sightings show for a field; None if they show none."""
    values = (row.shown.get(field) for row in rows)
    return next((value for value in values if isinstance(value, str)), None)


def objects_of(value: Any, key: str) -> list[Mapping[str, Any]]:
    """Return the objects of a list that a body has under a key; none if it has no such list."""
    rows = value.get(key) if isinstance(value, dict) else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def rows_of(value: Any, key: str) -> list[Mapping[str, Any]]:
    """Return those of `objects_of` that have an id."""
    return [row for row in objects_of(value, key) if isinstance(row.get("id"), str)]


def variables_of(template: Any) -> dict[str, bool]:
    """Return the manual variables that the detail of a template has, each with whether it is required."""
    return {str(row.get("key")): row.get("required") is True for row in objects_of(template, "commonVariables")}


def next_cursor(page: Exchange) -> str:
    """Return the cursor of the page after this one, or an empty text."""
    cursor = page.field("nextCursor")
    return cursor if isinstance(cursor, str) else ""


def sent(exchange: Exchange) -> Mapping[str, Any] | None:
    """Return the object that a call sent, {} for no body where that is allowed; None if it is unknown."""
    if exchange.request_body is None:
        return None
    if not exchange.request_body.strip():
        return None if ENDPOINTS[exchange.operation or ""].needs_body else {}  # its recorder has left it out
    return exchange.request_json if isinstance(exchange.request_json, dict) else None


def _row(exchange: Exchange, how: How, kind: Kind, shown: Any, key: str = "id") -> Iterator[Sighting]:
    id = shown.get(key) if isinstance(shown, dict) else None
    if isinstance(id, str) and id:
        status = shown.get("status")
        statuses = (status,) if isinstance(status, str) else ()
        yield Sighting(cited=exchange, how=how, kind=kind, id=id, shown=shown, statuses=statuses)


def _of_path(exchange: Exchange, how: How, statuses: tuple[str, ...]) -> Sighting:
    """Return what the success or refusal of a call shows of the campaign in its path."""
    return Sighting(cited=exchange, how=how, kind="campaign", id=exchange.params["id"], shown={}, statuses=statuses)


def _created_campaign(exchange: Exchange, body: Any) -> Iterator[Sighting]:
    if isinstance(body, dict):
        given = sent(exchange) or {}
        fields = {key: given[key] for key in _SENT if given.get(key) is not None}
        described = {"description": given.get("description")} if given else {}
        yield from _row(exchange, "created", "campaign", {**fields, **described, **body}, "campaignId")


def _listed_campaigns(exchange: Exchange, body: Any) -> Iterator[Sighting]:
    for row in rows_of(body, "campaigns"):
        yield from _row(exchange, "listed", "campaign", row)


def _read_campaign(exchange: Exchange, body: Any) -> Iterator[Sighting]:
    yield from _row(exchange, "read", "campaign", body)
    for row in rows_of(body, "executions"):
        yield from _row(exchange, "listed", "execution", {**row, "campaignId": exchange.params["id"]})


def _read_execution(exchange: Exchange, body: Any) -> Iterator[Sighting]:
    if isinstance(body, dict):
        yield from _row(exchange, "read", "execution", {**body, "campaignId": exchange.params["id"]})


def _started(exchange: Exchange, body: Any) -> Iterator[Sighting]:
    yield _of_path(exchange, "started", ("processing",))
    if isinstance(body, dict):
        shown = {**body, "campaignId": exchange.params["id"]}
        yield from _row(exchange, "started", "execution", shown, "executionId")


def _canceled(exchange: Exchange, _body: Any) -> Iterator[Sighting]:
    yield _of_path(exchange, "canceled", _ENDED)


def _created_session(exchange: Exchange, body: Any) -> Iterator[Sighting]:
    if isinstance(body, dict):
        yield from _row(exchange, "created", "session", {**body, "sent": sent(exchange)}, "sessionId")


def _read_session(exchange: Exchange, body: Any) -> Iterator[Sighting]:
    yield from _row(exchange, "read", "session", body, "sessionId")
    yield from _row(exchange, "listed", "entrypoint", body.get("entrypoint") if isinstance(body, dict) else None)


def _listed_templates(exchange: Exchange, body: Any) -> Iterator[Sighting]:
    for row in rows_of(body, "templates"):
        yield from _row(exchange, "listed", "template", row)


def _read_template(exchange: Exchange, body: Any) -> Iterator[Sighting]:
    yield from _row(exchange, "read", "template", body)


def _read_entrypoint(exchange: Exchange, body: Any) -> Iterator[Sighting]:
    yield from _row(exchange, "read", "entrypoint", body.get("entrypoint") if isinstance(body, dict) else None)


def _listed_messages(exchange: Exchange, body: Any) -> Iterator[Sighting]:
    for row in rows_of(body, "records"):
        shown = {**row, "chat": exchange.params["chatId"]}
        # Without a status: a message has no lifecycle in the document.
        yield Sighting(cited=exchange, how="listed", kind="message", id=row["id"], shown=shown)


def _uploaded(exchange: Exchange, body: Any) -> Iterator[Sighting]:
    for row in rows_of({"files": body}, "files"):
        yield from _row(exchange, "created", "media", row)


READERS: Final[Mapping[str, Callable[[Exchange, Any], Iterable[Sighting]]]] = MappingProxyType(
    {
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
)


def _event(delivery: DeliveryAttempt) -> Iterable[Sighting]:
    """Return what an event shows of its session; nothing for one that is not an event of the document."""
    envelope = delivery.json if delivery.json is not ABSENT else None
    kind = EVENTS.get(str(envelope.get("event"))) if isinstance(envelope, dict) else None
    data = envelope.get("data") if isinstance(envelope, dict) else None
    if kind is None or not isinstance(data, dict) or not isinstance(data.get("sessionId"), str):
        return ()
    status = "completed" if kind.name == CONNECTED else data.get("status")
    statuses = (status,) if isinstance(status, str) else ()
    return [Sighting(cited=delivery, how="event", kind="session", id=data["sessionId"], shown=data, statuses=statuses)]
