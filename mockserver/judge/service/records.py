"""Histories of ids, templates, and the pages of a chat's messages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final
from urllib.parse import parse_qsl

from mockserver.judge.service.campaigns import once
from mockserver.judge.service.evidence import History, is_repetition
from mockserver.judge.service.verdicts import ONE_ANSWER, ONE_SERVICE, Verdicts
from mockserver.trace.exchange import Exchange
from mockserver.trace.order import Ranked, instant, precedes, reversal
from mockserver.trace.sightings import Sighting, rows_of

_STILL: Final = "no message arrived or left between the answers: the newest one is the same before and after"
_STATUSES: Final = ("APPROVED", "PENDING", "REJECTED", "PAUSED", "DISABLED")  # others are open
_NEAR: Final = 100  # pages before and after a chain of pages that are compared with it
_PREFIXES: Final[Mapping[str, str]] = {"campaign": "campaign_", "entrypoint": "entrypoint_"}
# Operations that assign ids, and the kind of the record. Equal files may have one id.
_CREATED: Final[Mapping[str, str]] = {
    "createCampaign": "campaign",
    "startCampaign": "execution",
    "createConnectionSession": "session",
}


# Operations that read one record: the parameter of the path and the field that have its id, and the clause.
_OWN_IDS: Final = (
    ("readCampaign", "id", "id", "campaigns.detail"),
    ("readExecution", "executionId", "id", "execution.read"),
    ("readConnectionSession", "sessionId", "sessionId", "session.read"),
    ("readTemplate", "id", "id", "templates.detail"),
    ("readEntrypoint", "id", "id", "entrypoints.read"),
)


def ids(history: History, verdicts: Verdicts) -> None:
    """An id is assigned once, and is of one kind."""
    kinds: dict[str, Sighting] = {}
    created: dict[tuple[str, str], Sighting] = {}
    for row in history.sightings:
        first = kinds.setdefault(row.id, row)
        values = f"{row.id} is of a {first.kind}", f"the same id of a {row.kind}"
        verdicts.judge("base.ids", first.kind == row.kind, [first.cited, row.cited], row.id, values)
        prefix = _PREFIXES.get(row.kind, "")
        values = f"a {row.kind}", f"an id that does not begin with {prefix}"
        verdicts.judge("base.ids", row.id.startswith(prefix), [row.cited], row.id, values, ONE_ANSWER)
        operation = row.cited.operation if isinstance(row.cited, Exchange) else None
        if _CREATED.get(operation or "") != row.kind or not isinstance(row.cited, Exchange):
            continue
        before = created.setdefault((row.kind, row.id), row)
        if before is row or is_repetition(before.cited, row.cited):
            continue
        values = f"{row.id} is assigned", "and is assigned again"
        verdicts.broken("base.ids", [before.cited, row.cited], row.id, values)


def answers_about_another(history: History, verdicts: Verdicts) -> None:
    """A read shows the record whose id is in its path."""
    for operation, param, key, clause in _OWN_IDS:
        for call in history.calls(operation):
            body: Any = call.response_json
            shown = body.get("entrypoint") if operation == "readEntrypoint" and isinstance(body, dict) else body
            id = shown.get(key) if call.succeeded and isinstance(shown, dict) else None
            if isinstance(id, str):
                asked = call.params.get(param, "")
                values = f"asked for {asked}", f"the answer is of {id}"
                verdicts.judge(clause, id == asked, [call], asked, values, ONE_SERVICE)


def templates(history: History, verdicts: Verdicts) -> None:
    """A template is listed once; its creation is fixed, its update never falls; exactly an approved one is official."""
    for listing in history.calls("listTemplates"):
        if listing.succeeded:
            once("templates.list", listing, "templates", verdicts)
    for id, rows in history.records("template").items():
        verdicts.fixed("templates.list", "createdAt", rows)
        updates = [(row, instant(row.shown.get("updatedAt"))) for row in rows]
        fallen = reversal(Ranked(row, at, at) for row, at in updates if at is not None)
        if fallen is not None:
            earlier, later = (row.sighting for row in fallen)
            values = f"updatedAt {earlier.shown['updatedAt']}", f"then {later.shown['updatedAt']}"
            verdicts.broken("templates.list", [earlier.cited, later.cited], id, values)
        for row in rows:
            status = row.shown.get("providerTemplateStatus")
            if row.how == "listed" and (not status or status in _STATUSES):
                values = f"providerTemplateStatus {status}", f"isOfficial {row.shown.get('isOfficial')}"
                is_kept = row.shown.get("isOfficial") is (status == "APPROVED")
                verdicts.judge("templates.official", is_kept, [row.cited], id, values, ONE_ANSWER)


def messages(history: History, verdicts: Verdicts) -> None:
    """A chat's messages are listed newest first, page by page, each once."""
    for rows in history.records("message").values():
        verdicts.fixed("messages.record", "createdAt", rows)
        verdicts.fixed("messages.list", "chat", rows)
    by_chat: dict[str, list[Exchange]] = defaultdict(list)
    for call in history.calls("listMessages"):
        if call.succeeded:
            by_chat[call.params.get("chatId", "")].append(call)
    for chat, pages in by_chat.items():
        for page in pages:
            _newest_first(chat, [(page, row) for row in rows_of(page.response_json, "records")], verdicts)
        places = {page.number: place for place, page in enumerate(pages)}
        for chain in _chains(pages):
            begin, end = places[chain[0].number], places[chain[-1].number]
            _chain(chat, chain, pages[max(0, begin - _NEAR) : end + 1 + _NEAR], verdicts)


_Record = tuple[Exchange, Mapping[str, Any]]


def _newest_first(chat: str, records: Sequence[_Record], verdicts: Verdicts) -> None:
    dated = [(page, row, instant(row.get("createdAt"))) for page, row in records]
    for (page, row, at), (other, below, later) in pairwise(dated):
        if at is not None and later is not None:
            values = f"createdAt {row['createdAt']}", f"then createdAt {below['createdAt']}"
            assumption = ONE_ANSWER if page is other else ONE_SERVICE
            verdicts.judge("messages.list", at >= later, [page, other], chat, values, assumption)


def _cursor(page: Exchange) -> str | None:
    return dict(parse_qsl(page.path.partition("?")[2], keep_blank_values=True)).get("cursor")


def _chains(pages: Sequence[Exchange]) -> Iterator[list[Exchange]]:
    """Yield the pages that were read one after the other, each with the cursor of the one before it."""
    waiting: dict[str, list[Exchange]] = {}
    chains: list[list[Exchange]] = []
    for page in pages:
        cursor = _cursor(page)
        chain = [page] if cursor is None else waiting.pop(cursor, None)
        if chain is None:
            continue
        if cursor is not None:
            if not precedes(chain[-1], page):
                continue
            chain.append(page)
        else:
            chains.append(chain)
        following = page.response_json.get("nextCursor") if isinstance(page.response_json, dict) else None
        if isinstance(following, str) and following:
            waiting[following] = chain
    yield from (chain for chain in chains if len(chain) > 1)


def _chain(chat: str, chain: list[Exchange], pages: Sequence[Exchange], verdicts: Verdicts) -> None:
    records = [(page, row) for page in chain for row in rows_of(page.response_json, "records")]
    _newest_first(chat, records, verdicts)
    is_still = _is_still(chain, pages)
    first_pages: dict[str, Exchange] = {}
    for page, row in records:
        first = first_pages.setdefault(row["id"], page)
        if first is page:
            continue
        if is_still:
            values = f"{row['id']} on a page", "and on a later page"
            verdicts.broken("messages.list", [first, page], chat, values, _STILL)
        else:
            verdicts.excuse("messages.list", "page-stability")
    if is_still:
        _nothing_lost(chat, records, pages, verdicts)


def _is_still(chain: list[Exchange], pages: Sequence[Exchange]) -> bool:
    """Return True if the newest message is the same in a first page before and in one after the others."""
    newest = _newest(chain[0])
    return newest is not None and any(
        _cursor(page) is None and precedes(chain[-1], page) and _newest(page) == newest for page in pages
    )


def _newest(page: Exchange) -> str | None:
    rows = rows_of(page.response_json, "records")
    return str(rows[0].get("id")) if rows else None


def _nothing_lost(chat: str, records: Sequence[_Record], pages: Sequence[Exchange], verdicts: Verdicts) -> None:
    """A message that is there before and after a chain of pages is on one of them, if older and newer ones are."""
    ids = {row.get("id") for _, row in records}
    first, last = records[0][0], records[-1][0]
    before = {
        row.get("id") for page in pages if precedes(page, first) for row in rows_of(page.response_json, "records")
    }
    for page in pages:
        if not precedes(last, page):
            continue
        for row in rows_of(page.response_json, "records"):
            at = instant(row.get("createdAt"))
            if row.get("id") not in before or row.get("id") in ids or at is None:
                continue
            for (_, newer), (other, older) in pairwise(records):
                above, below = instant(newer.get("createdAt")), instant(older.get("createdAt"))
                if above is not None and below is not None and above > at > below:
                    values = f"{newer.get('id')}, then {older.get('id')}", f"{row.get('id')} is between them"
                    verdicts.broken("messages.list", [other, page], chat, values, _STILL)
