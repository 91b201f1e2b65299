"""Ids, records that are unknown later, templates, and the pages of a chat's messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from mockserver.contract.endpoints import READING
from mockserver.judge.service.campaigns import listed_once
from mockserver.judge.service.evidence import Rows, before, described, is_repetition, shown_of
from mockserver.judge.service.sessions import deadline
from mockserver.judge.service.verdicts import (
    ONE_ANSWER,
    ONE_SERVICE,
    TENANTS,
    UNCHANGED,
    ClauseCheck,
    Excused,
    Found,
    Kept,
    breach,
    fixed,
    judged,
    never_falls,
)
from mockserver.trace.exchange import Cited, Exchange
from mockserver.trace.order import Ranked, instant, precedes, window
from mockserver.trace.sightings import Kind, Sighting, next_cursor, rows_of, sighted, sightings_of
from mockserver.trace.trace import Trace

_STATUSES: Final = ("APPROVED", "PENDING", "REJECTED", "PAUSED", "DISABLED")  # others are open
_PREFIXES: Final[Mapping[str, str]] = {"campaign": "campaign_", "entrypoint": "entrypoint_"}
# Kinds whose records show their ids where they are read: a form's policy does not.
_WITH_ID: Final = tuple(kind for kind in READING if kind != "form")


def ids(trace: Trace) -> Found:
    """An id is assigned once, and is of one kind."""
    kinds: dict[str, Sighting] = {}
    created: dict[tuple[str, str], Sighting] = {}
    all_cited: list[Cited] = [*trace.calls, *trace.deliveries]
    for cited in all_cited:
        for row in sightings_of(cited):
            earlier = kinds.setdefault(row.id, row)
            values = f"{row.id} is of a {earlier.kind}", f"the same id of a {row.kind}"
            yield judged("base.ids", earlier.kind == row.kind, values, earlier, row)
            prefix = _PREFIXES.get(row.kind, "")
            values = f"a {row.kind}", f"an id that does not begin with {prefix}"
            yield judged("base.ids", row.id.startswith(prefix), values, row)
            # Equal files may have one id.
            if not isinstance(cited, Exchange) or row.kind == "media" or cited.creates != row.kind:
                continue
            made = created.setdefault((row.kind, row.id), row)
            if made is not row and not is_repetition(made.cited, cited):
                yield breach("base.ids", (f"{row.id} is assigned", "and is assigned again"), made, row)


def answers_about_another(trace: Trace) -> Found:
    """A read shows the record whose id is in its path."""
    for kind in _WITH_ID:
        endpoint, field = READING[kind], "sessionId" if kind == "session" else "id"
        for call in trace.reads_of(kind):
            body = call.field("entrypoint") if kind == "entrypoint" else call.response_json
            id = body.get(field) if call.succeeded and isinstance(body, dict) else None
            if isinstance(id, str):
                asked = call.params[endpoint.record_parameter]
                values = f"asked for {asked}", f"the answer is of {id}"
                yield judged(endpoint.clause, id == asked, values, call, assumption=ONE_SERVICE, record=asked)


def _was_there(row: Sighting, _call: Exchange) -> bool:
    return row.how != "refused"


def _is_of_campaign(row: Sighting, call: Exchange) -> bool:
    return row.shown.get("campaignId") == call.params.get("id")


def _is_not_over(row: Sighting, call: Exchange) -> bool:
    """Return True if a session was created whose deadline is later than the call: until then it is not unknown."""
    expires, at = deadline(row), window(call)
    return row.how == "created" and expires is not None and at is not None and at[1] <= expires


@dataclass(frozen=True, slots=True, kw_only=True)
class _Existence:
    """
    What forbids that a record is unknown.

    Attributes:
        kind: The kind of the record.
        param: The parameter of the path that has its id.
        clauses: By the operation that refuses it.
        code: That of the refusal; empty for any 404.
        is_there: Whether a sighting from before a call forbids the refusal.
        assumption: On which that rests.
    """

    kind: Kind
    param: str
    clauses: Mapping[str, str]
    code: str = ""
    is_there: Callable[[Sighting, Exchange], bool]
    assumption: str = UNCHANGED


_EXISTENCES: Final = (
    _Existence(
        kind="campaign",
        param="id",
        clauses={
            "readCampaign": "campaigns.detail",
            "startCampaign": "start.unknown",
            "cancelCampaign": "cancel.unknown",
        },
        code="CAMPAIGN_NOT_FOUND",
        is_there=_was_there,
    ),
    _Existence(
        kind="execution",
        param="executionId",
        clauses={"readExecution": "execution.read"},
        is_there=_is_of_campaign,
    ),
    _Existence(
        kind="session",
        param="sessionId",
        clauses={"readConnectionSession": "session.read"},
        is_there=_is_not_over,
        assumption=ONE_SERVICE,
    ),
)


def existence(trace: Trace) -> Found:
    """A record that there was is not unknown later."""
    for row in _EXISTENCES:
        for operation, clause in row.clauses.items():
            for call in trace.of(operation):
                is_unknown = call.code == row.code if row.code else call.status == 404
                if is_unknown:
                    yield from _unknown(row, clause, call, shown_of(trace, row.kind, call.params.get(row.param)))
                else:
                    yield Kept(clause)


def _unknown(row: _Existence, clause: str, call: Exchange, shown: Rows) -> Found:
    seen = before((sighting for sighting in shown if row.is_there(sighting, call)), call)
    if seen is not None:
        values = f"{described(seen)}: {seen.id}", row.code or f"{call.status} {call.code}"
        yield breach(clause, values, seen, call, assumption=row.assumption)


def templates(trace: Trace) -> Found:
    """A template is listed once; its creation is fixed, its update never falls; exactly an approved one is official."""
    for listing in trace.of("listTemplates"):
        if listing.succeeded:
            yield from listed_once("templates.list", listing, "templates")
    for rows in sighted(trace, "template").values():
        yield from fixed("templates.list", "createdAt", rows)
        updates = [(row, instant(row.shown.get("updatedAt"))) for row in rows]
        dated = [Ranked(row, at, at) for row, at in updates if at is not None]
        yield from never_falls("templates.list", dated, "updatedAt")
        for row in rows:
            status, is_official = row.shown.get("providerTemplateStatus"), row.shown.get("isOfficial")
            if row.how == "listed" and (not status or status in _STATUSES):
                values = f"providerTemplateStatus {status}", f"isOfficial {is_official}"
                yield judged("templates.official", is_official is (status == "APPROVED"), values, row)


def messages(trace: Trace) -> Found:
    """A chat's messages are listed newest first, page by page."""
    for rows in sighted(trace, "message").values():
        yield from fixed("messages.record", "createdAt", rows)
        yield from fixed("messages.list", "chat", rows)
    for chat, calls in trace.grouped_by("chatId", "listMessages"):
        pages = [call for call in calls if call.succeeded]
        for page in pages:
            yield from _newest_first(chat, list(_rows(page)))
        for chain in _chains(pages):
            yield from _chain(chat, chain)


_Row = tuple[Exchange, Mapping[str, Any]]


def _rows(page: Exchange) -> Iterator[_Row]:
    for row in rows_of(page.response_json, "records"):
        yield page, row


def _newest_first(chat: str, rows: Sequence[_Row]) -> Found:
    for (page, row), (other, below) in pairwise(rows):
        at, later = instant(row.get("createdAt")), instant(below.get("createdAt"))
        if at is not None and later is not None:
            values = f"createdAt {row['createdAt']}", f"then createdAt {below['createdAt']}"
            assumption = ONE_ANSWER if page is other else ONE_SERVICE
            yield judged("messages.list", at >= later, values, page, other, assumption=assumption, record=chat)


def _chains(pages: Sequence[Exchange]) -> list[list[Exchange]]:
    """Return the pages that were read one after the other, each with the cursor of the one before it."""
    waiting: dict[str, list[Exchange]] = {}
    chains: list[list[Exchange]] = []
    for page in pages:
        cursor = page.query_value("cursor")
        chain = [] if cursor is None else waiting.pop(cursor, None)
        if chain is None or (chain and not precedes(chain[-1], page)):
            continue
        if not chain:
            chains.append(chain)
        chain.append(page)
        following = next_cursor(page)
        if following:
            waiting[following] = chain
    return [chain for chain in chains if len(chain) > 1]


def _chain(chat: str, chain: Sequence[Exchange]) -> Found:
    rows = [row for page in chain for row in _rows(page)]
    yield from _newest_first(chat, rows)
    ids = [row["id"] for _, row in rows]
    if len(ids) > len({*ids}):
        yield Excused("messages.list", "page-stability")


CHECKS: Final = (
    ClauseCheck(tuple(clause for row in _EXISTENCES for clause in row.clauses.values()), existence, needs=TENANTS),
    ClauseCheck(("base.ids",), ids),
    ClauseCheck(tuple(READING[kind].clause for kind in _WITH_ID), answers_about_another),
    ClauseCheck(("templates.list", "templates.official"), templates),
    ClauseCheck(("messages.record", "messages.list"), messages),
    ClauseCheck(("templates.read-only",), unshown="only calls that the document does not contain could show it"),
)
