"""Judges of paging through the messages of a chat."""

from __future__ import annotations

from collections.abc import Iterator

from mockserver.contract.reading import whole_number
from mockserver.core.conduct.evidence import Evidence, numbers, succeeded
from mockserver.core.conduct.records import Proof
from mockserver.core.journal import Exchange

_NO_CURSOR = ("", "null", "none", "undefined", "nil")
_OFFSETS = ("offset", "page", "skip", "start")


def _lists(seen: Evidence) -> Iterator[tuple[str, list[Exchange]]]:
    yield from seen.about("chatId", "listMessages")


def _asked(exchange: Exchange) -> str | None:
    return dict(exchange.call.query).get("cursor")


def _next(seen: Evidence, exchange: Exchange) -> str:
    found = seen.told(exchange, "nextCursor")
    return found if isinstance(found, str) else ""


def _length(seen: Evidence, exchange: Exchange) -> int:
    records = seen.told(exchange, "records")
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


def _following(lists: list[Exchange], end: Exchange) -> int | None:
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
