"""
What is proved about the order of calls and deliveries.

1. Of two intervals that overlap no order is known, so a contradiction needs either a proved order or none at all.
2. A service's own instants order the calls of two recorders, whose clocks may differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple, TypeVar

from mockserver.core.instants import MINUTE, SECOND, Instant, parse
from mockserver.trace.exchange import Cited, Exchange
from mockserver.trace.sightings import Sighting

# How far the clock of a Date may be from that of the dates in bodies: a proxy writes the one, the service the other.
SKEW: Final = 5 * SECOND
_DELIVERY_MARGIN: Final = 2 * SECOND  # the service notes a delivery a little after its end
_UNTIMED_DURATION: Final = MINUTE  # how long a call may have taken whose recording has no times

Interval = tuple[Instant, Instant]
Row = TypeVar("Row")


class Ranked(NamedTuple):
    """A sighting with the least and the greatest rank of what it shows: a rank that cannot fall as time passes."""

    sighting: Sighting
    low: Any
    high: Any


def precedes(first: Cited, second: Cited) -> bool | None:
    """
    Return True if the first was over before the second began, None if that is not proved.

    Two of one source are compared by its recorder's clock or its order, calls of two sources by the service's own clock; a
    delivery of another source has no order, since its receiver's clock is unknown.
    """
    if first.source != second.source:
        both = isinstance(first, Exchange) and isinstance(second, Exchange)
        return _is_before(window(first), window(second)) if both else None
    if isinstance(first, Exchange) and isinstance(second, Exchange):
        is_set_back = _is_before(window(second), window(first))  # one of the two clocks was
        if is_set_back:
            return None
        if first.is_ordered and second.is_ordered:
            return first.number < second.number or None
    return _is_before(_interval(first), _interval(second))


def _is_before(one: Interval | None, other: Interval | None) -> bool | None:
    return (one is not None and other is not None and one[1] < other[0]) or None


def _interval(cited: Cited) -> Interval | None:
    """Return start and end by the recorder's clock; None for a call without times."""
    if isinstance(cited, Exchange):
        return (cited.sent_at, cited.ended_at) if cited.is_timed else None
    return cited.at - _DELIVERY_MARGIN, cited.ended_at + _DELIVERY_MARGIN


def window(cited: Cited) -> Interval | None:
    """
    Return the instants, by the service's clock, between which it read or changed its state for an answer.

    The `Date` of an answer is cut to the second, and is written after the state was read: at most as long as the call took.
    None without a `Date`.
    """
    if not isinstance(cited, Exchange) or cited.date is None:
        return None
    duration = cited.ended_at - cited.sent_at if cited.is_timed else _UNTIMED_DURATION
    return cited.date - duration - SKEW, cited.date + SECOND + SKEW


def around(call: Exchange, rows: Sequence[Row], cited: Callable[[Row], Cited]) -> tuple[Row, Row] | None:
    """Return the last row that was shown before a call and the first one after it; None if either is missing."""
    before = next((row for row in reversed(rows) if precedes(cited(row), call)), None)
    after = next((row for row in rows if precedes(call, cited(row))), None)
    return (before, after) if before is not None and after is not None else None


def instant(text: Any) -> Instant | None:
    """Return the instant of a date-time; None for any other value, and for one without an offset."""
    parsed = parse(text) if isinstance(text, str) else None
    return parsed[0] if parsed is not None and parsed[1] else None


def reversal(rows: Iterable[Ranked]) -> tuple[Sighting, Sighting] | None:
    """Return the earlier and the later of two sightings between which the rank has fallen; None if it may have risen only."""
    files: dict[str, list[Ranked]] = defaultdict(list)
    for row in rows:
        files[row.sighting.cited.source].append(row)
    for in_file in files.values():
        fallen = _reversal_in_time(in_file, _interval) or _reversal_in_order(in_file)
        if fallen is not None and precedes(fallen[0].cited, fallen[1].cited):
            return fallen
    if len(files) < 2:
        return None
    return _reversal_in_time([row for in_file in files.values() for row in in_file], window)


def _reversal_in_time(
    rows: Sequence[Ranked], interval: Callable[[Cited], Interval | None]
) -> tuple[Sighting, Sighting] | None:
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
            return highest.sighting, row.sighting
    return None


def _reversal_in_order(rows: Sequence[Ranked]) -> tuple[Sighting, Sighting] | None:
    """Compare the calls of a source in its order, if that is the order of the calls."""
    highest: Ranked | None = None
    ordered = [row for row in rows if isinstance(row.sighting.cited, Exchange) and row.sighting.cited.is_ordered]
    for _, group in groupby(sorted(ordered, key=_place), key=_place):
        same_answer = list(group)
        for row in same_answer:
            if highest is not None and highest.low > row.high:
                return highest.sighting, row.sighting
        best = max(same_answer, key=lambda row: row.low)
        highest = best if highest is None or best.low > highest.low else highest
    return None


def _place(row: Ranked) -> int:
    return row.sighting.cited.number
