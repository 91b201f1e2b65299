"""
Judges of requests: bodies, filters and keys with another meaning than intended; and paging of messages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final

from mockserver.contract import schemas
from mockserver.contract.endpoints import OPERATIONS
from mockserver.contract.filters import FIELDS, statements
from mockserver.contract.limits import CADENCE_MAX_PER_MINUTE
from mockserver.contract.text import closest_match, whole_number
from mockserver.core.instants import MINUTE, parse
from mockserver.judge.check import Check, Proof, Verdict, proof, unless_known
from mockserver.judge.client.evidence import OF_ALL_CALLS, WITH_FILTERS, between
from mockserver.trace.exchange import TOO_MANY, Exchange
from mockserver.trace.records import SeenCampaign, SeenExecution
from mockserver.trace.sightings import next_cursor
from mockserver.trace.trace import Trace

_ON_CHANNEL: Final = ("chat.platform", "chat.entrypointId")
_MINUTES_A_DAY: Final = 1440
_SECRET: Final = re.compile(r"\bsk_[A-Za-z0-9_\-]{8,}")
_BROWSER_HEADERS: Final = frozenset(("origin", "referer", "sec-fetch-mode"))
_OF_PROXIES: Final = frozenset(("forwarded", "via", "x-forwarded-for"))
_BEFORE_A_CREATE: Final = frozenset(
    ("listTemplates", "readTemplate", "readFilterSchema", "uploadMedia", "listCampaigns")
)
_CITED: Final = 3  # a habit is proved by this many exchanges
_NO_CURSOR: Final = ("", "null", "none", "undefined", "nil")
_SAME: Final = 10  # reads of a page that several users may each have opened: a loop that never ends reads it more often
_UNREAD: Final = (*OF_ALL_CALLS, TOO_MANY)  # statuses of calls that are refused before their body is read
_RESTARTED: Final = (
    10  # lists at one instant: a loop that never ends restarts more often, a test reads a list a few times
)


def lost_filters(trace: Trace) -> Iterator[Verdict]:
    starts = dict(trace.grouped_by("id", "startCampaign"))
    for campaign in trace.records.campaigns.values():
        create = trace.creating(campaign.id)
        start = next((start for start in starts.get(campaign.id, ()) if start.applied), None)
        if create is None or start is None or campaign.filters:
            continue
        preview = _preview_for(trace, create)
        if preview is not None:
            message = f"campaign {campaign.id} was started for every chat, after a preview with filters"
            yield proof(message, preview, create, start)
    yield from _misspelt_filters(trace)


def _preview_for(trace: Trace, create: Exchange) -> Exchange | None:
    """
    Return the preview with filters that belongs to this create.

    The filters of a preview that some campaign has are not lost, nor are they known to be meant for a campaign that is
    created later, or after other calls: another user may send to every chat.
    """
    previews = _previews_before(trace, create)
    if not previews:
        return None
    last = previews[-1]
    filters = last.sent.get("filters")
    creates = (each for each in trace.of("createCampaign") if each.status not in _UNREAD)
    if any(each.sent.get("filters") == filters for each in creates):
        return None
    others = (name for name in OPERATIONS if name not in _BEFORE_A_CREATE)
    is_for_it = create.at - last.at <= MINUTE and not between(trace, last, create, *others)
    return last if is_for_it else None


def _previews_before(trace: Trace, create: Exchange) -> Sequence[Exchange]:
    """Return the client's previews since the create before; none if it has compared an audience with every chat."""
    earlier = [preview for preview in trace.of("previewAudience") if preview.number < create.number]
    if not earlier:
        return ()
    since = max((each.number for each in trace.of("createCampaign") if each.number < create.number), default=0)
    previews = [preview for preview in earlier if preview.number > since and preview.succeeded]
    is_of_client = bool(previews) and previews[-1].client == create.client
    return previews if is_of_client and all(preview.sent.get("filters") for preview in previews) else ()


def _misspelt_filters(trace: Trace) -> Iterator[Proof]:
    for call in trace.of(*WITH_FILTERS):
        known = schemas.load(f"{call.operation}.request")["properties"]
        similar = [key for key, value in call.sent.items() if key not in known and _may_be_filters(key, value)]
        if similar and call.succeeded:
            message = f"{call.operation} got {similar[0][:40]!r}, which is not `filters` and restricts nothing"
            yield proof(message, call)


def _may_be_filters(key: str, value: Any) -> bool:
    return bool(closest_match(key.lower(), ("filters",), likeness=0.8)) or any(statements(value))


def platform_used_as_audience(trace: Trace) -> Iterator[Verdict]:
    for campaign, execution, start in _started(trace):
        fields = {statement.get("field") for statement in statements(campaign.filters)}
        if not fields.isdisjoint(_ON_CHANNEL):
            continue
        others = sorted({chat.attributes.platform for chat in execution.targets} - {campaign.platform})
        if others:
            message = (
                f"campaign {campaign.id} is for {campaign.platform}, and its audience has chats of {', '.join(others)}"
            )
            create = trace.creating(campaign.id)
            yield proof(message, create, start)


def _started(trace: Trace) -> Iterator[tuple[SeenCampaign, SeenExecution, Exchange]]:
    """Yield each execution that a call started, with its campaign and that call."""
    for execution in trace.records.executions.values():
        start = trace.creating(execution.id)
        if start is not None:
            yield trace.records.campaigns[execution.campaign_id], execution, start


def cadence_units(trace: Trace) -> Iterator[Verdict]:
    yield from _no_whole_cadences(trace.of("createCampaign"))
    yield from _odd_cadences(trace)
    yield from unless_known("settings", trace)


def _no_whole_cadences(creates: Sequence[Exchange]) -> Iterator[Proof]:
    for create in creates:
        cadence = create.sent.get("cadence")
        if cadence is not None and not _is_whole(cadence):
            received = f'"{cadence}"' if isinstance(cadence, str) else str(cadence)
            yield proof(f"cadence: got {received[:40]}; expected a whole number of at least 1", create)


def _is_whole(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return False
    return 0 < value < 2**53 and value == value // 1


def _odd_cadences(trace: Trace) -> Iterator[Proof]:
    """Yield the campaigns whose cadence is far above what the platform sends, or does not end within a day."""
    ceilings: Any = trace.sandbox.choices.get("throughput-ceilings", {})
    for campaign, execution, start in _started(trace):
        create, ceiling = trace.creating(campaign.id), ceilings.get(campaign.platform)
        if create is None or not ceiling:
            continue
        cadence, chats = campaign.cadence, len(execution.targets)
        is_slow = cadence * 60 < ceiling and chats > cadence * _MINUTES_A_DAY
        is_fast = 10 * ceiling < cadence < CADENCE_MAX_PER_MINUTE  # the largest one is no mistake of the unit
        if is_fast or is_slow:
            message = f"cadence {cadence} per minute for {chats} chats; {campaign.platform} sends {ceiling} per minute"
            yield proof(message, create, start)


def naive_dates(trace: Trace) -> Iterator[Verdict]:
    naive = []
    for call in trace.of(*WITH_FILTERS):
        dates = [statement for statement in statements(call.sent.get("filters")) if _has_date(statement)]
        if any(map(_is_naive, dates)):
            naive.append(call)
    if naive:
        message = f"{len(naive)} {'body has' if len(naive) == 1 else 'bodies have'} a filter date without offset"
        yield proof(message, *naive[:_CITED])


def _has_date(statement: Mapping[str, Any]) -> bool:
    """Return True if the field of a filter statement is a date."""
    field = FIELDS.get(str(statement.get("field")))
    return field is not None and field.type == "date"


def _is_naive(statement: Mapping[str, Any]) -> bool:
    """Return True if a statement on a date has one without an offset."""
    value = statement.get("value")
    values = [*(value if isinstance(value, list) else [value]), statement.get("value2")]
    return any(isinstance(value, str) and _lacks_offset(value) for value in values)


def _lacks_offset(text: str) -> bool:
    parsed = parse(text.replace(" ", "T"))
    if parsed is None:
        return re.fullmatch(r"\d{4}-\d{2}-\d{2}", text) is not None
    return not parsed[1]


def secret_in_browser(trace: Trace) -> Iterator[Verdict]:
    signs = [(call, _browser_sign(call)) for call in trace.exchanges]
    calls = [(call, sign) for call, sign in signs if sign]
    if calls:
        headers = ", ".join(dict.fromkeys(sign for _, sign in calls))
        message = f"a browser sent {len(calls)} call{'s' * (len(calls) > 1)} with a secret key ({headers})"
        yield proof(message, *(call for call, _ in calls[:_CITED]))


def _has_secret(call: Exchange) -> bool:
    """Return True if the key of a call is a secret one."""
    return call.request_headers.get("x-api-key", "").strip().startswith("sk_")


def _browser_sign(call: Exchange) -> str:
    """
    Return the header by which a browser shows itself in a call with a secret key, or "preflight", or an empty text.

    A proxy of the back end may have added the key to a call of a browser that has none. Sec-Fetch-Mode alone is not a
    sign: Node's own fetch sends it too.
    """
    headers = call.request_headers
    if call.method == "OPTIONS":
        asks_for_key = "x-api-key" in headers.get("access-control-request-headers", "").lower()
        return "preflight" if asks_for_key and "/embed-frame-policy" not in call.path else ""
    if _BROWSER_HEADERS.isdisjoint(headers) or not _has_secret(call) or not _OF_PROXIES.isdisjoint(headers):
        return ""
    agent = headers.get("user-agent", "")
    is_browser = agent.startswith("Mozilla/") and "compatible;" not in agent
    if "sec-fetch-mode" in headers and ("sec-fetch-site" in headers or is_browser):
        return "Sec-Fetch-Mode"
    return next((name.capitalize() for name in ("origin", "referer") if name in headers), "")


def key_in_wrong_place(trace: Trace) -> Iterator[Verdict]:
    """In a body, whose texts are the user's, only a key of this run is one: a campaign may be named sk_newsletter."""
    sent = {call.request_headers.get("x-api-key", "").strip() for call in trace.exchanges}
    known_keys = sent | trace.sandbox.secret_keys
    misplaced: dict[str, list[Exchange]] = {}
    for call in trace.exchanges:
        for place in _places_of_keys(call, known_keys):
            misplaced.setdefault(place, []).append(call)
    for place, found in misplaced.items():
        calls = "1 call" if len(found) == 1 else f"{len(found)} calls"
        yield proof(f"{calls} had a secret key in the {place}", *found[:_CITED])


def _places_of_keys(call: Exchange, known_keys: AbstractSet[str]) -> Iterator[str]:
    """Yield the places other than X-API-Key where a request carries a key."""
    if _SECRET.search(call.path.partition("?")[0]):
        yield "path"
    if any(_SECRET.search(value) for _, value in call.query):
        yield "query"
    for name, value in call.request_headers.items():
        if name != "x-api-key" and _SECRET.search(value):
            yield f"header {name}"
    body = (call.request_body or b"").decode("utf-8", "replace")
    if not known_keys.isdisjoint(_SECRET.findall(body)):
        yield "body"


def page_length(page: Exchange) -> int:
    """Return the number of messages of a page."""
    records = page.field("records")
    return len(records) if isinstance(records, list) else 0


def _is_last(page: Exchange) -> bool:
    return page.succeeded and not next_cursor(page)


def page_early_stop(trace: Trace) -> Iterator[Verdict]:
    """A client can only mistake a page for the last if it is shorter than requested, or than the one before."""
    for chat_id, pages in trace.grouped_by("chatId", "listMessages"):
        last = pages[-1]
        cursor = next_cursor(last)
        if not last.succeeded or not cursor or any(page.query_value("cursor") == cursor for page in pages):
            continue
        before = [page for page in pages[:-1] if page.succeeded and next_cursor(page) == last.query_value("cursor")]
        full = whole_number(last.query_value("limit") or "")
        if full is None:
            full = max(map(page_length, before), default=0)
        if page_length(last) < full:
            message = (
                f"the paging of {chat_id} ended at a page of {page_length(last)} messages, fewer than {full}, "
                "although it had a nextCursor"
            )
            yield proof(message, *before[-1:], last)


def page_endless(trace: Trace) -> Iterator[Verdict]:
    for chat_id, pages in trace.grouped_by("chatId", "listMessages"):
        yield from _blank_cursors(chat_id, pages)
        yield from _same_cursors(chat_id, pages)
        yield from _restarted_lists(chat_id, pages)


def _blank_cursors(chat_id: str, pages: Sequence[Exchange]) -> Iterator[Proof]:
    blank = [page for page in pages if _is_blank(page.query_value("cursor"))]
    if blank:
        ends = [page for page in pages if page.number < blank[0].number and _is_last(page)]
        message = f"{chat_id} was read with the cursor {blank[0].query_value('cursor')!r}"
        yield proof(message, *ends[-1:], *blank[:2])


def _is_blank(cursor: str | None) -> bool:
    """Return True for the text of a cursor that is none, such as `null`."""
    return cursor is not None and cursor.strip().lower() in _NO_CURSOR


def _same_cursors(chat_id: str, pages: Sequence[Exchange]) -> Iterator[Proof]:
    """A page that is read again by the page before it, as for another user, may be followed again."""
    read = [page for page in pages if page.succeeded]
    links = [(page.query_value("cursor"), next_cursor(page)) for page in read]
    returned = Counter(following for own, following in links if following != own)
    for cursor in dict.fromkeys(page.query_value("cursor") for page in read):
        same = [page for page in read if page.query_value("cursor") == cursor]
        if cursor and not _is_blank(cursor) and len(same) >= _SAME + max(returned[cursor], 1):
            yield proof(f"{chat_id} was read {len(same)} times with the same cursor", *same[:3])


def _restarted_lists(chat_id: str, pages: Sequence[Exchange]) -> Iterator[Proof]:
    ends = [(last, after) for last, after in pairwise(pages) if last.query_value("cursor") and _is_last(last)]
    again = [
        first for last, first in ends if first.query_value("cursor") is None and first.succeeded and first.at == last.at
    ]
    if len(again) >= _RESTARTED:
        message = f"{chat_id} was read from the first page again immediately after the last, {len(again)} times"
        yield proof(message, ends[0][0], *again[:2])


CHECKS: Final[tuple[Check, ...]] = (
    Check(
        id="lost-filters",
        clause="audience.all",
        severity=1,
        proof="a campaign without filters, created within a minute of a preview with some, was started; or a key like `filters`",
        advice="Send the previewed filters under the name `filters`; without them every chat is messaged.",
        needs=("bodies",),
        judge=lost_filters,
    ),
    Check(
        id="platform-used-as-audience",
        clause="audience.platform-free",
        severity=1,
        proof="a started audience has chats of other platforms, and no filter names chat.platform or chat.entrypointId",
        advice="Add a chat.platform filter: a campaign's platform does not restrict its audience.",
        needs=("audiences",),
        judge=platform_used_as_audience,
    ),
    Check(
        id="cadence-units",
        clause="campaigns.cadence",
        severity=3,
        proof="a cadence that is not an integer, above ten times the platform's ceiling, or too small to finish within a day",
        advice="cadence is a whole number of messages per minute.",
        needs=("bodies",),
        judge=cadence_units,
    ),
    Check(
        id="naive-dates",
        clause="filters.dates",
        severity=2,
        proof="a filter date without offset; other calls with another format of date-times",
        advice="Write and read date-times with their offset.",
        needs=("bodies",),
        judge=naive_dates,
    ),
    Check(
        id="secret-in-browser",
        clause="advice.secret-server-side",
        severity=1,
        proof="a secret key with the headers of a browser, or a browser's preflight for one",
        advice="Call the API from a back end, and replace a secret key that a browser has received.",
        judge=secret_in_browser,
    ),
    Check(
        id="key-in-wrong-place",
        clause="auth.header",
        severity=1,
        proof="a secret key outside the header X-API-Key; in a body one of this run",
        advice="Send the key only in X-API-Key: URLs and bodies are logged.",
        judge=key_in_wrong_place,
    ),
    Check(
        id="page-early-stop",
        clause="messages.list",
        severity=3,
        proof="the last page was short and had a nextCursor, which no call used",
        advice="Continue while there is a nextCursor, however short the page.",
        needs=("later calls",),
        judge=page_early_stop,
    ),
    Check(
        id="page-endless",
        clause="messages.list",
        severity=2,
        proof="eleven reads of a cursor that one page returned, ten lists in a row at once, or an empty or null cursor",
        advice="The end is an absent, null or empty nextCursor.",
        needs=("times",),
        judge=page_endless,
    ),
)
