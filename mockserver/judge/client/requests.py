"""
Judges of requests: bodies, filters, keys and uploads with another meaning than intended; and paging of messages.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from decimal import Decimal
from itertools import islice, pairwise
from typing import Any

from mockserver.contract import schemas
from mockserver.contract.endpoints import OPERATIONS
from mockserver.contract.filters import FIELDS
from mockserver.contract.limits import CADENCE_MAX_PER_MINUTE
from mockserver.contract.text import closest_match, whole_number
from mockserver.core.instants import MINUTE, parse
from mockserver.core.state.calls import ApiError
from mockserver.core.state.journal import JournalEntry
from mockserver.judge.client.former_evidence import WITH_FILTERS, Evidence, body_of, client_key, numbers, succeeded
from mockserver.judge.client.rules import Proof

_ON_CHANNEL = ("chat.platform", "chat.entrypointId")
_MINUTES_A_DAY = 1440
_SECRET = re.compile(r"\bsk_[A-Za-z0-9_\-]{8,}")
_PART_FIELD = re.compile(rb'[; ]name="?([^";\r\n]*)')
_BROWSER_HEADERS = frozenset(("origin", "referer", "sec-fetch-mode"))
_OF_PROXIES = frozenset(("forwarded", "via", "x-forwarded-for"))
_BEFORE_A_CREATE = frozenset(("listTemplates", "readTemplate", "readFilterSchema", "uploadMedia", "listCampaigns"))
_FILES_MAX = 10  # of one upload that are compared
_CITED = 3  # a habit is proved by this many exchanges


def lost_filters(evidence: Evidence) -> Iterator[Proof]:
    starts = dict(evidence.grouped_by("id", "startCampaign"))
    for _, campaign in evidence.campaigns():
        create = evidence.creating_exchange(campaign.id)
        start = next((start for start in starts.get(campaign.id, ()) if start.applied), None)
        if create is None or start is None or campaign.filters:
            continue
        if preview := _preview_for(evidence, create):
            message = f"campaign {campaign.id} was started for every chat, after a preview with filters"
            yield Proof(message, numbers((preview, create, start)))
    yield from _misspelt_filters(evidence)


def _preview_for(evidence: Evidence, create: JournalEntry) -> JournalEntry | None:
    """
    Return the preview with filters that belongs to this create.

    The filters of a preview that some campaign has are not lost, nor are they known to be meant for a campaign that is
    created later, or after other calls: another user may send to every chat.
    """
    creates, previews = evidence.of("createCampaign"), _previews_before(evidence, create)
    filters = body_of(previews[-1]).get("filters") if previews else None
    if not filters or any(body_of(each).get("filters") == filters for each in creates):
        return None
    others = (name for name in OPERATIONS if name not in _BEFORE_A_CREATE)
    is_for_it = create.at - previews[-1].at <= MINUTE and not evidence.between(previews[-1], create, *others)
    return previews[-1] if is_for_it else None


def _previews_before(evidence: Evidence, create: JournalEntry) -> Sequence[JournalEntry]:
    """Return the client's previews since the create before; none if it has compared an audience with every chat."""
    since = max((earlier.n for earlier in evidence.of("createCampaign") if earlier.n < create.n), default=0)
    previews = [each for each in evidence.of("previewAudience") if since < each.n < create.n and succeeded(each)]
    is_own = all(client_key(each) == client_key(create) for each in previews[-1:])
    return previews if is_own and all(body_of(each).get("filters") for each in previews) else ()


def _misspelt_filters(evidence: Evidence) -> Iterator[Proof]:
    for call in evidence.of(*WITH_FILTERS):
        known, body = schemas.load(f"{call.operation}.request")["properties"], body_of(call)
        unknown = (key for key in body if key not in known)
        similar = [
            key
            for key in unknown
            if closest_match(key.lower(), ("filters",), likeness=0.8) or any(statements(body[key]))
        ]
        if similar and succeeded(call):
            message = f"{call.operation} got {similar[0][:40]!r}, which is not `filters` and restricts nothing"
            yield Proof(message, (call.n,))


def platform_used_as_audience(evidence: Evidence) -> Iterator[Proof]:
    for tenant, execution in evidence.executions():
        campaign, start = tenant.campaigns[execution.campaign_id], evidence.creating_exchange(execution.id)
        create = evidence.creating_exchange(campaign.id)
        fields = {statement.get("field") for statement in statements(campaign.filters)}
        if start is None or not fields.isdisjoint(_ON_CHANNEL):
            continue
        others = sorted({chat.attributes.platform for chat in execution.targets} - {campaign.platform})
        if others:
            message = (
                f"campaign {campaign.id} is for {campaign.platform}, and its audience has chats of {', '.join(others)}"
            )
            yield Proof(message, numbers(call for call in (create, start) if call is not None))


def statements(filters: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the readable statements of a body's filters."""
    for group in filters if isinstance(filters, list | tuple) else ():
        rows = group.get("statements") if isinstance(group, Mapping) else None
        if isinstance(rows, list | tuple):
            yield from (row for row in rows if isinstance(row, Mapping))


def cadence_units(evidence: Evidence) -> Iterator[Proof]:
    ceilings: Any = evidence.run.choices["throughput-ceilings"]
    for create in evidence.of("createCampaign"):
        cadence = body_of(create).get("cadence")
        if cadence is not None and not _is_whole(cadence):
            received = f'"{cadence}"' if isinstance(cadence, str) else str(cadence)
            yield Proof(f"cadence: got {received[:40]}; expected a whole number of at least 1", (create.n,))
    for tenant, execution in evidence.executions():
        campaign, start = tenant.campaigns[execution.campaign_id], evidence.creating_exchange(execution.id)
        created_by, ceiling = evidence.creating_exchange(campaign.id), ceilings.get(campaign.platform)
        if start is None or created_by is None or not ceiling:
            continue
        is_slow = campaign.cadence * 60 < ceiling and len(execution.targets) > campaign.cadence * _MINUTES_A_DAY
        is_fast = 10 * ceiling < campaign.cadence < CADENCE_MAX_PER_MINUTE  # the largest one is no mistake of the unit
        if is_fast or is_slow:
            message = f"cadence {campaign.cadence} per minute for {len(execution.targets)} chats; {campaign.platform} sends {ceiling} per minute"
            yield Proof(message, numbers((created_by, start)))


def _is_whole(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return False
    return 0 < value < 2**53 and value == value // 1


def nulls_for_omitted(evidence: Evidence) -> Iterator[Proof]:
    for exchange in evidence.exchanges:
        error = exchange.error
        if error is not None and error.code == "VALIDATION_ERROR" and _is_null(exchange.body, error.location):
            yield Proof(f"{exchange.operation} was refused for the null at {error.location}", (exchange.n,))


def _is_null(value: Any, pointer: str) -> bool:
    """Return True if the body has a null at this JSON pointer."""
    if not pointer.startswith("/"):
        return False
    for key in pointer[1:].split("/"):
        if isinstance(value, list) and (place := whole_number(key)) is not None and place < len(value):
            value = value[place]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            return False
    return value is None


def naive_dates(evidence: Evidence) -> Iterator[Proof]:
    naive = [
        call
        for call in evidence.of(*WITH_FILTERS)
        if any(_is_naive(statement) for statement in statements(body_of(call).get("filters")))
    ]
    if naive:
        message = f"{len(naive)} {'body has' if len(naive) == 1 else 'bodies have'} a filter date without offset"
        yield Proof(message, numbers(naive[:_CITED]))


def has_date(statement: Mapping[str, Any]) -> bool:
    """Return True if the field of a filter statement is a date."""
    field = FIELDS.get(str(statement.get("field")))
    return field is not None and field.type == "date"


def _is_naive(statement: Mapping[str, Any]) -> bool:
    if not has_date(statement):
        return False
    value = statement.get("value")
    values = [*(value if isinstance(value, list) else [value]), statement.get("value2")]
    for date in (value for value in values if isinstance(value, str)):
        parsed = parse(date.replace(" ", "T"))
        if not parsed[1] if parsed is not None else re.fullmatch(r"\d{4}-\d{2}-\d{2}", date):
            return True
    return False


def secret_in_browser(evidence: Evidence) -> Iterator[Proof]:
    candidates = (
        exchange
        for exchange in evidence.everything
        if exchange.call.method == "OPTIONS" or not _BROWSER_HEADERS.isdisjoint(exchange.call.headers)
    )
    signs = [(exchange, _browser_sign(exchange)) for exchange in candidates]
    calls = [(exchange, sign) for exchange, sign in signs if sign]
    if calls:
        headers = ", ".join(dict.fromkeys(sign for _, sign in calls))
        message = f"a browser sent {len(calls)} call{'s' * (len(calls) > 1)} with a secret key ({headers})"
        yield Proof(message, numbers(exchange for exchange, _ in calls[:_CITED]))


def _browser_sign(exchange: JournalEntry) -> str:
    """
    Return the header by which a browser shows itself in a call with a secret key, or "preflight", or an empty text.

    A proxy of the back end may have added the key to a call of a browser that has none. Sec-Fetch-Mode alone is not a
    sign: Node's own fetch sends it too.
    """
    headers = exchange.call.headers
    if exchange.call.method == "OPTIONS":
        asks_for_key = "x-api-key" in headers.get("access-control-request-headers", "").lower()
        return "preflight" if asks_for_key and "/embed-frame-policy" not in exchange.call.path else ""
    if not headers.get("x-api-key", "").strip().startswith("sk_") or not _OF_PROXIES.isdisjoint(headers):
        return ""
    agent = headers.get("user-agent", "")
    is_browser = agent.startswith("Mozilla/") and "compatible;" not in agent
    if "sec-fetch-mode" in headers and ("sec-fetch-site" in headers or is_browser):
        return "Sec-Fetch-Mode"
    return next((name.capitalize() for name in ("origin", "referer") if name in headers), "")


def key_in_wrong_place(evidence: Evidence) -> Iterator[Proof]:
    """In a body, whose texts are the user's, only a key of this run is one: a campaign may be named sk_newsletter."""
    misplaced: dict[str, list[JournalEntry]] = {}
    suspects = list(filter(_may_misplace_key, evidence.everything))
    known = _known_keys(evidence) if suspects else frozenset()
    for exchange in suspects:
        for place in places_of_keys(exchange, _SECRET.search):
            if place != "body" or not known.isdisjoint(
                _SECRET.findall((exchange.call.body or b"").decode("utf-8", "replace"))
            ):
                misplaced.setdefault(place, []).append(exchange)
    for place, exchanges in misplaced.items():
        calls = "1 call" if len(exchanges) == 1 else f"{len(exchanges)} calls"
        yield Proof(f"{calls} had a secret key in the {place}", numbers(exchanges[:_CITED]))


def _known_keys(evidence: Evidence) -> AbstractSet[str]:
    """Return the secret keys of the tenants, and what calls have sent as one."""
    sent = {exchange.call.headers.get("x-api-key", "").strip() for exchange in evidence.everything}
    return sent.union(tenant.secret_key for tenant in evidence.run.tenants.values())


def _may_misplace_key(exchange: JournalEntry) -> bool:
    """Return False for most calls, in which no place but X-API-Key has the beginning of a key: each call is judged."""
    call = exchange.call
    if call.query or "sk_" in call.path or (call.body is not None and b"sk_" in call.body) or _basic(call.headers):
        return True
    whole = "\n".join(call.headers.values())
    first = whole.find("sk_")  # mostly the only one, that of X-API-Key
    return first >= 0 and ("sk_" in whole[first + 3 :] or "sk_" not in call.headers.get("x-api-key", ""))


def places_of_keys(exchange: JournalEntry, contains_key: Callable[[str], object]) -> Iterator[str]:
    """Yield the places other than X-API-Key where a request carries a key."""
    call = exchange.call
    if contains_key(call.path):
        yield "path"
    if any(contains_key(value) for _, value in call.query):
        yield "query"
    yield from (f"header {name}" for name, value in call.headers.items() if name != "x-api-key" and contains_key(value))
    if contains_key(_basic(call.headers)):
        yield "header authorization"
    if call.body and contains_key(call.body.decode("utf-8", "replace")):
        yield "body"


def _basic(headers: Mapping[str, str]) -> str:
    """Return the user and password of HTTP's Basic authentication, which are in Base64 (RFC 7617); "" without one."""
    scheme, _, encoded = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return b64decode(encoded).decode("utf-8", "replace")
    except ValueError:
        return ""


def multipart_by_hand(evidence: Evidence) -> Iterator[Proof]:
    for upload in evidence.of("uploadMedia"):
        fault = _multipart_fault(upload.call.headers.get("content-type", ""), upload.call.body or b"")
        if fault and not upload.applied and upload.error is not None:
            yield Proof(f"the upload {fault}", (upload.n,))


def _multipart_fault(content_type: str, body: bytes) -> str:
    if not body:
        return ""
    if not content_type.lower().startswith("multipart/form-data"):
        return f"has the content type {content_type.partition(';')[0][:40] or 'none'}"
    if "boundary=" not in content_type.lower():
        return "has a Content-Type without boundary"
    fields = {name.decode("latin-1")[:40] for name in _PART_FIELD.findall(body)}
    return "" if not fields or "files" in fields else f"has its file in the field {', '.join(sorted(fields))}"


def media_all_or_nothing(evidence: Evidence) -> Iterator[Proof]:
    """Files of the same names that have other bytes, are sent later, or by another client, are others."""
    uploads = [(upload, upload_results(evidence, upload)) for upload in evidence.of("uploadMedia")]
    for place, (first, results) in enumerate(uploads):
        later = (pair for pair in uploads[place + 1 :] if _may_be_repeated(first, pair[0]))
        repetitions = ((again, results.keys() & others.keys()) for again, others in later)
        mixed = ((again, files) for again, files in repetitions if {results[file] for file in files} == {True, False})
        for again, files in islice(mixed, 1):
            sent, sent_again = _contents(first), _contents(again)
            others = {file for file in sent.keys() & sent_again.keys() if sent[file].isdisjoint(sent_again[file])}
            stored = sorted(file for file in files - others if results[file])
            if stored:
                message = f"{', '.join(stored)[:80]} had been uploaded, and was sent again with the file that failed"
                yield Proof(message, numbers((first, again)))


def _contents(upload: JournalEntry) -> Mapping[str, AbstractSet[bytes]]:
    """Return the bytes of the files by their names; of an upload that is too large to be kept, or refused as one, none."""
    contents: dict[str, set[bytes]] = {}
    with suppress(ApiError):
        for file in upload.call.upload(_FILES_MAX).files:
            contents.setdefault(file.name, set()).add(file.content)
    return contents


def _may_be_repeated(first: JournalEntry, again: JournalEntry) -> bool:
    return client_key(first) == client_key(again) and again.at - first.at <= 10 * MINUTE


def upload_results(evidence: Evidence, upload: JournalEntry) -> dict[str, bool]:
    """Return by the name of a file whether it was stored, as the client received it."""
    answer = evidence.answer(upload)
    rows = answer if isinstance(answer, list) else []
    return {str(row.get("name")): row.get("success") is True for row in rows if isinstance(row, dict)}


_NO_CURSOR = ("", "null", "none", "undefined", "nil")
_OFFSETS = ("offset", "page", "skip", "start")
_SAME = 10  # reads of a page that several users may each have opened: a loop that never ends reads it more often
_RESTARTED = 10  # lists at one instant: a loop that never ends restarts more often, and a test reads a list a few times


def _lists(evidence: Evidence) -> Iterator[tuple[str, list[JournalEntry]]]:
    yield from evidence.grouped_by("chatId", "listMessages")


def _cursor(exchange: JournalEntry) -> str | None:
    return dict(exchange.call.query).get("cursor")


def next_cursor(evidence: Evidence, exchange: JournalEntry) -> str:
    """Return the cursor of the page after this one, or an empty text."""
    cursor = evidence.answer_field(exchange, "nextCursor")
    return cursor if isinstance(cursor, str) else ""


def page_length(evidence: Evidence, exchange: JournalEntry) -> int:
    """Return the number of messages of a page."""
    records = evidence.answer_field(exchange, "records")
    return len(records) if isinstance(records, list) else 0


def page_early_stop(evidence: Evidence) -> Iterator[Proof]:
    """A client can only mistake a page for the last if it is shorter than requested, or than the one before."""
    for chat_id, lists in _lists(evidence):
        read = [page for page in lists if succeeded(page)]
        if not read or read[-1] is not lists[-1]:
            continue
        last, cursor = read[-1], next_cursor(evidence, read[-1])
        before = [page for page in read[:-1] if next_cursor(evidence, page) == _cursor(last)]
        full = whole_number(dict(last.call.query).get("limit", ""))
        if full is None:
            full = max((page_length(evidence, page) for page in before), default=0)
        length = page_length(evidence, last)
        if cursor and length < full and all(_cursor(page) != cursor for page in lists):
            message = f"the paging of {chat_id} ended with {length} of {full} messages and a nextCursor"
            yield Proof(message, numbers((*before[-1:], last)))


def page_endless(evidence: Evidence) -> Iterator[Proof]:
    for chat_id, lists in _lists(evidence):
        yield from _blank_cursors(evidence, chat_id, lists)
        yield from _same_cursors(evidence, chat_id, lists)
        yield from _restarted_lists(evidence, chat_id, lists)


def _blank_cursors(evidence: Evidence, chat_id: str, lists: Sequence[JournalEntry]) -> Iterator[Proof]:
    blank = [page for page in lists if _is_blank(_cursor(page))]
    if blank:
        ends = [page for page in lists if page.n < blank[0].n and _is_last(evidence, page)]
        message = f"{chat_id} was read with the cursor {_cursor(blank[0])!r}"
        yield Proof(message, numbers((*ends[-1:], *blank[:2])))


def _same_cursors(evidence: Evidence, chat_id: str, lists: Sequence[JournalEntry]) -> Iterator[Proof]:
    """A page that is read again by the page before it, as for another user, may be followed again."""
    read = [page for page in lists if succeeded(page)]
    links = [(_cursor(page), next_cursor(evidence, page)) for page in read]
    returned = Counter(following for own, following in links if following != own)
    for cursor in dict.fromkeys(map(_cursor, read)):
        same = [page for page in read if _cursor(page) == cursor]
        if cursor and not _is_blank(cursor) and len(same) >= _SAME + max(returned[cursor], 1):
            yield Proof(f"{chat_id} was read {len(same)} times with the same cursor", numbers(same[:3]))


def _restarted_lists(evidence: Evidence, chat_id: str, lists: Sequence[JournalEntry]) -> Iterator[Proof]:
    ends = [page for page in lists if _cursor(page) and _is_last(evidence, page)]
    following = {last.n: following for last, following in pairwise(lists)}
    again = []
    for last in ends:
        first = following.get(last.n)
        if first and _cursor(first) is None and succeeded(first) and first.at == last.at:
            again.append(first)
    if len(again) >= _RESTARTED:
        message = f"{chat_id} was read from the first page again immediately after the last, {len(again)} times"
        yield Proof(message, numbers((ends[0], *again[:2])))


def _is_blank(cursor: str | None) -> bool:
    """Return True for the text of a cursor that is none, such as `null`."""
    return cursor is not None and cursor.strip().lower() in _NO_CURSOR


def _is_last(evidence: Evidence, page: JournalEntry) -> bool:
    return succeeded(page) and not next_cursor(evidence, page)


def page_skip(evidence: Evidence) -> Iterator[Proof]:
    """A page of which the journal has the beginning only may have returned any cursor."""
    for chat_id, lists in _lists(evidence):
        returned: set[str] = set()
        is_known = evidence.is_whole and not any(page.answer_cut_from_bytes for page in lists)
        for page in lists:
            cursor = _cursor(page)
            if cursor and is_known and cursor.lower() not in _NO_CURSOR and cursor not in returned:
                yield Proof(f"{chat_id} was read with a cursor that no page returned", (page.n,))
            offsets = [name for name in dict(page.call.query) if name in _OFFSETS]
            if offsets:
                yield Proof(f"{chat_id} was read by {offsets[0]}", (page.n,))
            returned.add(next_cursor(evidence, page))
