"""
Sends as arithmetic: how many positions of an execution were processed at an instant, and when a position is due.

1. Positions go in the order of the targets; position i of a segment is due at start + (i - first) minutes / rate.
2. A position is processed at every instant at or after its own; rates are exact rationals, nothing is rounded.
3. Counts are cut, never rewritten: `cut` fixes what lies before an instant and stops the rest.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from mockserver.core.instants import MINUTE, Instant
from mockserver.core.records import Segment, Sends


class Counts(NamedTuple):
    """What an execution shows at an instant; `sent + failed` never exceeds `target`."""

    target: int
    sent: int
    failed: int

    @property
    def processed(self) -> int:
        return self.sent + self.failed


def plan(total: int, start: Instant, per_minute: int, failed: Sequence[int]) -> Sends:
    """The sends of `total` targets, evenly at `per_minute` from `start` on, the first at `start` itself."""
    return Sends(total, total, (Segment(0, start, per_minute),), failed)


def processed(sends: Sends, at: Instant) -> int:
    """How many positions were due at or before `at` and were not stopped."""
    bound = sends.stop
    for segment in reversed(sends.segments):
        if at >= segment.start:
            due = (at - segment.start) * segment.per_minute // MINUTE + 1 if segment.per_minute else 0
            return min(bound, segment.first + due)
        bound = min(bound, segment.first)
    return 0


def counts(sends: Sends, at: Instant) -> Counts:
    """Target, sent and failed at an instant."""
    done = processed(sends, at)
    failed = bisect_left(sends.failed, done)
    return Counts(sends.total, done - failed, failed)


def due(sends: Sends, position: int) -> tuple[int, int] | None:
    """
    The exact instant of a position as (microseconds x rate, rate); None where it is never sent.

    Both numbers are whole, so that the caller rounds, once, in the direction that it needs.
    """
    if position >= sends.stop:
        return None
    segment = next(segment for segment in reversed(sends.segments) if segment.first <= position)
    if not segment.per_minute:
        return None
    return segment.start * segment.per_minute + (position - segment.first) * MINUTE, segment.per_minute


def settled_at(sends: Sends, position: int) -> Instant | None:
    """The first whole microsecond at which the position counts as processed."""
    exact = due(sends, position)
    return None if exact is None else -(-exact[0] // exact[1])


def shown_at(sends: Sends, position: int) -> Instant | None:
    """The instant of the position cut to the microsecond, as it is shown."""
    exact = due(sends, position)
    return None if exact is None else exact[0] // exact[1]


def is_failed(sends: Sends, position: int) -> bool:
    """True where the send of this position fails."""
    place = bisect_left(sends.failed, position)
    return place < len(sends.failed) and sends.failed[place] == position


def nth_sent(sends: Sends, count: int) -> Instant | None:
    """The first whole microsecond at which `count` positions were sent, failed ones left out; None where that never comes."""
    if count > sends.stop - bisect_left(sends.failed, sends.stop):
        return None
    position = bisect_left(range(sends.stop), count, key=lambda place: place + 1 - bisect_left(sends.failed, place + 1))
    return settled_at(sends, position)


def turn(sends: Sends, first: int, start: Instant, per_minute: int) -> Sends:
    """The same sends, from position `first` on at another rate, that position at `start`; at 0 a minute they stand still."""
    kept = tuple(segment for segment in sends.segments if segment.first < first)
    return replace(sends, segments=(*kept, Segment(first, start, per_minute)))


def failing(sends: Sends, first: int, positions: Sequence[int]) -> Sends:
    """The same sends, of whose positions from `first` on those fail, ascending, and no others; what lies before stays."""
    before = sends.failed[: bisect_left(sends.failed, first)]
    if not before:
        return replace(sends, failed=positions)
    return replace(sends, failed=[*before, *positions])


def cut(sends: Sends, last: Instant) -> Sends:
    """The same sends, with nothing processed that is due after `last`."""
    return replace(sends, stop=processed(sends, last))
