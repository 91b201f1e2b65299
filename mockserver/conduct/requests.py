"""
Judges of requests: bodies, filters, keys and uploads that mean something else than their sender believes.

Judges of paging through the messages of a chat.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from mockserver.conduct.evidence import Evidence, body_of, numbers, succeeded
from mockserver.conduct.rules import Proof
from mockserver.contract.filters import FIELDS
from mockserver.contract.text import nearest, whole_number
from mockserver.core.instants import parse
from mockserver.core.state.journal import JournalEntry

_CAMPAIGN_KEYS = ("name", "description", "platform", "templateId", "cadence", "filters")
_WITH_FILTERS = ("previewAudience", "createCampaign")
_ON_CHANNEL = ("chat.platform", "chat.entrypointId")
_MINUTES_A_DAY = 1440
_SECRET = re.compile(r"\bsk_[A-Za-z0-9_\-]{8,}")
_PART_FIELD = re.compile(rb'[; ]name="?([^";\r\n]*)')
_SHOWN = 3  # as many exchanges prove a habit


def lost_filters(seen: Evidence) -> Iterator[Proof]:
    creates, starts = seen.of("createCampaign"), dict(seen.grouped_by("id", "startCampaign"))
    for _, campaign in seen.campaigns():
        create = seen.creating_exchange(campaign.id)
        start = next((each for each in starts.get(campaign.id, ()) if each.applied), None)
        if create is None or start is None or campaign.filters:
            continue
        since = max((each.n for each in creates if each.n < create.n), default=0)
        previews = [each for each in seen.of("previewAudience") if since < each.n < create.n and succeeded(each)]
        if previews and body_of(previews[-1]).get("filters"):
            told = f"campaign {campaign.id} was started for every chat, after a preview with filters"
            yield Proof(told, numbers((previews[-1], create, start)))
    for each in seen.of(*_WITH_FILTERS):
        odd = [
            key
            for key in body_of(each)
            if key not in _CAMPAIGN_KEYS and nearest(key.lower(), ("filters",), likeness=0.8)
        ]
        if odd and succeeded(each):
            yield Proof(
                f"{each.operation} was sent {odd[0][:40]!r}, which is not `filters` and restricts nothing", (each.n,)
            )


def platform_is_not_audience(seen: Evidence) -> Iterator[Proof]:
    for tenant, execution in seen.executions():
        campaign, start = tenant.campaigns[execution.campaign_id], seen.creating_exchange(execution.id)
        create = seen.creating_exchange(campaign.id)
        chosen = {each.get("field") for each in _statements(campaign.filters)}
        if start is None or not chosen.isdisjoint(_ON_CHANNEL):
            continue
        others = sorted({chat.platform for chat in execution.targets} - {campaign.platform})
        if others:
            told = (
                f"campaign {campaign.id} is for {campaign.platform}, and its audience has chats of {', '.join(others)}"
            )
            yield Proof(told, numbers(each for each in (create, start) if each is not None))


def _statements(filters: Any) -> Iterator[Mapping[str, Any]]:
    """The statements of a body's filters, as far as they can be read."""
    for group in filters if isinstance(filters, list | tuple) else ():
        listed = group.get("statements") if isinstance(group, Mapping) else None
        yield from (
            (each for each in listed or () if isinstance(each, Mapping)) if isinstance(listed, list | tuple) else ()
        )


def cadence_units(seen: Evidence) -> Iterator[Proof]:
    ceilings: Any = seen.sandbox.choices["throughput-ceilings"]
    for sent in seen.of("createCampaign"):
        cadence = body_of(sent).get("cadence")
        if cadence is not None and not _is_whole(cadence):
            came = f'"{cadence}"' if isinstance(cadence, str) else str(cadence)
            yield Proof(f"cadence came as {came[:40]}", (sent.n,))
    for tenant, execution in seen.executions():
        campaign, start = tenant.campaigns[execution.campaign_id], seen.creating_exchange(execution.id)
        create, ceiling = seen.creating_exchange(campaign.id), ceilings.get(campaign.platform)
        if start is None or create is None or not ceiling:
            continue
        slow = campaign.cadence * 60 < ceiling and len(execution.targets) > campaign.cadence * _MINUTES_A_DAY
        if campaign.cadence > 10 * ceiling or slow:
            told = f"cadence {campaign.cadence} a minute for {len(execution.targets)} chats; {campaign.platform} sends {ceiling} a minute"
            yield Proof(told, numbers((create, start)))


def _is_whole(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return False
    return value == value // 1 and 0 < value < 2**53


def nulls_for_omitted(seen: Evidence) -> Iterator[Proof]:
    for each in seen.exchanges:
        if (
            each.error is not None
            and each.error.code == "VALIDATION_ERROR"
            and _is_null(each.body, each.error.location)
        ):
            yield Proof(f"{each.operation} was refused for the null at {each.error.location}", (each.n,))


def _is_null(value: Any, pointer: str) -> bool:
    """True where the body has a null at this JSON pointer."""
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


def naive_dates(seen: Evidence) -> Iterator[Proof]:
    naive = [
        each
        for each in seen.of(*_WITH_FILTERS)
        if any(_naive(one) for one in _statements(body_of(each).get("filters")))
    ]
    if naive:
        told = f"{len(naive)} {'body has' if len(naive) == 1 else 'bodies have'} a filter date without offset"
        yield Proof(told, numbers(naive[:_SHOWN]))


def _naive(statement: Mapping[str, Any]) -> bool:
    field = FIELDS.get(str(statement.get("field")))
    if field is None or field.type != "date":
        return False
    value = statement.get("value")
    values = [*(value if isinstance(value, list) else [value]), statement.get("value2")]
    return any(isinstance(each, str) and _has_no_offset(each) for each in values)


def _has_no_offset(written: str) -> bool:
    read = parse(written.replace(" ", "T"))
    return not read[1] if read is not None else re.fullmatch(r"\d{4}-\d{2}-\d{2}", written) is not None


def secret_in_browser(seen: Evidence) -> Iterator[Proof]:
    caught = [(each, _browser_sign(each)) for each in seen.everything]
    found = [(each, sign) for each, sign in caught if sign]
    if found:
        signs = ", ".join(dict.fromkeys(sign for _, sign in found))
        yield Proof(
            f"{len(found)} calls came from a browser with a secret key ({signs})",
            numbers(each for each, _ in found[:_SHOWN]),
        )


def _browser_sign(exchange: JournalEntry) -> str:
    """
    The header that only a browser sends beside a secret key, or its preflight for one; empty where there is none.

    Sec-Fetch-Mode alone is none: Node's own fetch sends it too.
    """
    headers = exchange.call.headers
    if exchange.call.method == "OPTIONS":
        asked = "x-api-key" in headers.get("access-control-request-headers", "").lower()
        return "preflight" if asked and "/embed-frame-policy" not in exchange.call.path else ""
    if not headers.get("x-api-key", "").strip().startswith("sk_"):
        return ""
    if "sec-fetch-mode" in headers and (
        "sec-fetch-site" in headers or headers.get("user-agent", "").startswith("Mozilla/")
    ):
        return "Sec-Fetch-Mode"
    return next((name.capitalize() for name in ("origin", "referer") if name in headers), "")


def key_in_wrong_place(seen: Evidence) -> Iterator[Proof]:
    caught: dict[str, list[JournalEntry]] = {}
    for each in seen.everything:
        for place in _places_of_keys(each):
            caught.setdefault(place, []).append(each)
    for place, exchanges in caught.items():
        many = "1 call" if len(exchanges) == 1 else f"{len(exchanges)} calls"
        yield Proof(f"{many} had a secret key in the {place}", numbers(exchanges[:_SHOWN]))


def _places_of_keys(exchange: JournalEntry) -> Iterator[str]:
    call = exchange.call
    if _SECRET.search(call.path):
        yield "path"
    if any(_SECRET.search(value) for _, value in call.query):
        yield "query"
    yield from (
        f"header {name}" for name, value in call.headers.items() if name != "x-api-key" and _SECRET.search(value)
    )
    if call.body and _SECRET.search(call.body.decode("utf-8", "replace")):
        yield "body"


def multipart_by_hand(seen: Evidence) -> Iterator[Proof]:
    for each in seen.of("uploadMedia"):
        wrong = _multipart_fault(each.call.headers.get("content-type", ""), each.call.body or b"")
        if wrong and not each.applied and each.error is not None:
            yield Proof(f"the upload {wrong}", (each.n,))


def _multipart_fault(content_type: str, body: bytes) -> str:
    if not body:
        return ""
    if not content_type.lower().startswith("multipart/form-data"):
        return f"came as {content_type.partition(';')[0][:40] or 'no content type'}"
    if "boundary=" not in content_type.lower():
        return "has a Content-Type without boundary"
    fields = {name.decode("latin-1")[:40] for name in _PART_FIELD.findall(body)}
    return "" if "files" in fields else f"has its file in the field {', '.join(sorted(fields)) or 'without a name'}"


def media_all_or_nothing(seen: Evidence) -> Iterator[Proof]:
    uploads = [(each, _results(seen, each)) for each in seen.of("uploadMedia")]
    for place, (first, results) in enumerate(uploads):
        for again, later in uploads[place + 1 :]:
            sent_again = results.keys() & later.keys()
            if {results[name] for name in sent_again} == {True, False}:
                names = ", ".join(sorted(name for name in sent_again if results[name]))[:80]
                yield Proof(
                    f"{names} had been uploaded, and went again beside the file that failed", numbers((first, again))
                )
                break


def _results(seen: Evidence, upload: JournalEntry) -> dict[str, bool]:
    answer = seen.answer(upload)
    rows = answer if isinstance(answer, list) else []
    return {str(row.get("name")): row.get("success") is True for row in rows if isinstance(row, dict)}


_NO_CURSOR = ("", "null", "none", "undefined", "nil")
_OFFSETS = ("offset", "page", "skip", "start")


def _lists(seen: Evidence) -> Iterator[tuple[str, list[JournalEntry]]]:
    yield from seen.grouped_by("chatId", "listMessages")


def _asked(exchange: JournalEntry) -> str | None:
    return dict(exchange.call.query).get("cursor")


def _next(seen: Evidence, exchange: JournalEntry) -> str:
    found = seen.answer_field(exchange, "nextCursor")
    return found if isinstance(found, str) else ""


def _length(seen: Evidence, exchange: JournalEntry) -> int:
    records = seen.answer_field(exchange, "records")
    return len(records) if isinstance(records, list) else 0


def page_early_stop(seen: Evidence) -> Iterator[Proof]:
    """Only a page that is shorter than what was asked for, or than the one before, can be taken for the last."""
    for chat_id, lists in _lists(seen):
        read = [each for each in lists if succeeded(each)]
        if not read or read[-1] is not lists[-1]:
            continue
        last, cursor = read[-1], _next(seen, read[-1])
        limit = dict(last.call.query).get("limit", "")
        before = [each for each in read[:-1] if _next(seen, each) == _asked(last)]
        wanted = whole_number(limit)
        if wanted is None:
            wanted = max((_length(seen, each) for each in before), default=0)
        if cursor and _length(seen, last) < wanted and all(_asked(each) != cursor for each in lists):
            told = f"the paging of {chat_id} ended with {_length(seen, last)} of {wanted} messages and a nextCursor"
            yield Proof(told, numbers((*before[-1:], last)))


def page_endless(seen: Evidence) -> Iterator[Proof]:
    for chat_id, lists in _lists(seen):
        blank = [each for each in lists if (_asked(each) or "x" * (_asked(each) is None)).strip().lower() in _NO_CURSOR]
        if blank:
            ends = [each for each in lists if each.n < blank[0].n and succeeded(each) and not _next(seen, each)]
            yield Proof(f"{chat_id} was asked for the cursor {_asked(blank[0])!r}", numbers((*ends[-1:], *blank[:2])))
        for cursor in dict.fromkeys(_asked(each) for each in lists):
            same = [each for each in lists if _asked(each) == cursor and succeeded(each)]
            if cursor and cursor.lower() not in _NO_CURSOR and len(same) >= 3:
                yield Proof(f"{chat_id} was asked {len(same)} times for one cursor", numbers(same[:3]))
        starts = [each for each in lists if _asked(each) is None and succeeded(each)]
        ended = [each for each in lists if _asked(each) and succeeded(each) and not _next(seen, each)]
        again = [each for end in ended for each in starts if each.n == _following(lists, end) and each.at == end.at]
        if len(again) >= 2:
            yield Proof(
                f"{chat_id} was read from the top again as soon as it had ended, twice", numbers((ended[0], *again[:2]))
            )


def _following(lists: list[JournalEntry], end: JournalEntry) -> int | None:
    return next((each.n for each in lists if each.n > end.n), None)


def page_skip(seen: Evidence) -> Iterator[Proof]:
    for chat_id, lists in _lists(seen):
        given: set[str] = set()
        for each in lists:
            cursor, query = _asked(each), dict(each.call.query)
            if cursor and cursor.lower() not in _NO_CURSOR and cursor not in given:
                yield Proof(f"{chat_id} was asked for a cursor that was never given out", (each.n,))
            odd = [name for name in query if name in _OFFSETS]
            if odd:
                yield Proof(f"{chat_id} was asked by {odd[0]}", (each.n,))
            given.add(_next(seen, each))
