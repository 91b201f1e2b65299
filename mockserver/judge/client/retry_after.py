"""
The judge of calls that got a 429: each is repeated once its time to wait is over.

Equal calls of equal clients may be those of several workers, threads or users of one app, which no call shows. So the judge
accuses a call that is followed too soon only if such workers cannot be careful: if not each of their calls can be repeated in
time by one of its own, or be the last of `RETRIED` tries.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Final

from mockserver.contract.durations import duration_text
from mockserver.core.instants import MILLISECOND, MINUTE, SECOND, Duration, Instant
from mockserver.judge.check import Check, NotAssessable, Verdict, proof
from mockserver.judge.client.evidence import (
    RETRIED,
    elapsed,
    gap,
    has_observed_waits,
    is_date_over,
    is_early,
    may_be_of_another_user,
)
from mockserver.judge.client.polling import ALL_POLLED
from mockserver.trace.exchange import TOO_MANY, Exchange
from mockserver.trace.trace import Trace, grouped, number_of, numbers, sent_after

UNMEASURED = "no clock moved between a 429 and the next call, nor between any other two"
_EVEN = 0.02  # of the longest of three waits: how much those of a loop differ at most
_NO_WAIT = 20 * MILLISECOND  # in which a call may be answered


def ignore_retry_after(trace: Trace) -> Iterator[Verdict]:
    limited = list(filter(_is_limited, trace.calls))
    if not limited:
        return
    is_unmeasured = is_over = False
    equal = _equal_to(limited, trace)
    careless = {number for calls in equal.values() for number in _careless(trace, calls)}
    for first in limited:
        same = equal[_key(first)]
        again = list(islice(sent_after(first, same), 2))
        if not again or may_be_of_another_user(trace, again[0]):
            continue
        waited, requested = gap(trace, first, again[0]), first.requested_wait
        if waited is None and not has_observed_waits(trace):
            is_unmeasured = True
        elif requested is not None:
            is_over |= is_date_over(first)
            if first.number in careless and is_early(trace, first, again[0]):
                after = "while no clock moved" if waited is None else f"after {duration_text(waited)}"
                message = f"{first.operation} was repeated {after}; its Retry-After was {duration_text(requested)}"
                yield proof(message, first, again[0])
        elif first.number in careless and _is_burst(trace, first, again, same):
            message = f"{first.operation} was sent three times within a second, despite a 429"
            yield proof(message, first, *again)
    if is_unmeasured:
        yield NotAssessable(UNMEASURED)
    if is_over:
        yield NotAssessable(
            "the date in a Retry-After, by the sandbox's clock, was over by the clock of the process: "
            "freeze both at one instant, or let the sandbox follow"
        )


def _is_burst(trace: Trace, first: Exchange, again: Sequence[Exchange], equal: Sequence[Exchange]) -> bool:
    """Return True for three calls at once, or four at an even pace: the waits of a backoff grow, or are drawn at random."""
    if len(again) < 2 or again[0].succeeded:
        return False
    pairs = list(pairwise((first, *again)))
    waits = [_time(trace, *pair) for pair in pairs]
    is_growing = waits[0] < waits[1] and all(gap(trace, *pair) is not None for pair in pairs)
    is_at_once = max(waits) < _NO_WAIT and not is_growing
    return sum(waits) < SECOND and (is_at_once or _is_at_an_even_pace(trace, first, equal))


def _is_at_an_even_pace(trace: Trace, first: Exchange, equal: Sequence[Exchange]) -> bool:
    """Return True if the wait after this call is one of three in a row that are as long as each other."""
    place = bisect_right(equal, first.number, key=number_of)
    waits = [_time(trace, *pair) for pair in pairwise(equal[max(0, place - 3) : place + 3])]
    windows = (waits[start : start + 3] for start in range(len(waits) - 2))
    return any(max(window) - min(window) <= _EVEN * max(window) for window in windows)


def _time(trace: Trace, earlier: Exchange, later: Exchange) -> Duration:
    """Return how long the client waited, also for less than a second of real time."""
    measured = gap(trace, earlier, later)
    return elapsed(earlier, later) if measured is None else measured


def _key(call: Exchange) -> object:
    """Return what equal calls of equal clients have in common."""
    return call.client, call.request


def _equal_to(limited: Sequence[Exchange], trace: Trace) -> Mapping[object, Sequence[Exchange]]:
    """Return the calls that are equal to one that the client received a 429 for, in order, by what they have in common."""
    equal: dict[object, list[Exchange]] = {_key(call): [] for call in limited}
    for call in trace.calls:
        same = equal.get(_key(call))
        if same is not None:
            same.append(call)
    return equal


def _comes_too_soon(trace: Trace, first: Exchange, again: Exchange) -> bool:
    """Return True for a repetition before the time to wait is over: a second without a `Retry-After`."""
    if first.requested_wait is None:
        return (gap(trace, first, again) or 0) < SECOND
    return is_early(trace, first, again)


def _is_limited(call: Exchange) -> bool:
    """Return True if the client has received a 429."""
    return call.status == TOO_MANY and call.was_received


def _careless(trace: Trace, calls: Sequence[Exchange]) -> Sequence[int]:
    """
    Return the numbers of as many equal calls, followed too soon, as are surely not repeated in time: the latest ones.

    Of polls of a record all: a loop that does not wait repeats each of its calls at any time later.
    """
    if calls[0].reads in ALL_POLLED:
        return numbers(calls)
    to_repeat = _to_repeat(trace, calls)
    count = _left(trace, calls, to_repeat)
    hasty = [
        first.number
        for first, again in pairwise(calls)
        if first.number in to_repeat and _comes_too_soon(trace, first, again)
    ]
    return hasty[max(0, len(hasty) - count) :]


def _to_repeat(trace: Trace, calls: Sequence[Exchange]) -> dict[int, int]:
    """
    Return the places of the first calls that may be their repetition, by the number of each limited call that is no worker's last try.

    A worker may give up after `RETRIED` tries: a call that as many may lead to, each in time, is no proof.
    """
    to_repeat: dict[int, int] = {}
    due: dict[int, list[tuple[int, Exchange]]] = {}  # calls that failed, with their tries, by that place
    latest: dict[int, Exchange] = {}  # of those that may be repeated now, by their tries
    for place, call in enumerate(calls):
        latest.update(due.pop(place, ()))
        if not call.has_to_be_retried:
            continue
        continued = [tries for tries, earlier in latest.items() if not _is_over(trace, earlier, call)]
        tries = min(1 + max(continued, default=0), RETRIED)
        again = _place_of_repetition(trace, calls, place)
        due.setdefault(again, []).append((tries, call))
        if _is_limited(call) and call is not calls[-1] and tries < RETRIED:
            to_repeat[call.number] = again
    return to_repeat


def _left(trace: Trace, calls: Sequence[Exchange], to_repeat: Mapping[int, int]) -> int:
    """Return how many of these calls no other one can repeat in time, if each repeats the one that was due first."""
    due = grouped((to_repeat.get(call.number), call) for call in calls)
    left = len(due.get(len(calls), ()))  # no call may be their repetition
    waiting: deque[Exchange] = deque()
    for place, call in enumerate(calls):
        waiting.extend(sorted(due.get(place, ()), key=_due_at))
        while waiting and _is_over(trace, waiting[0], call):
            waiting.popleft()
            left += 1
        if waiting:
            waiting.popleft()
    return left + len(waiting)


def _due_at(call: Exchange) -> Instant:
    """Return when a call that failed may be repeated."""
    if not _is_limited(call):
        return call.at
    return call.at + (SECOND if call.requested_wait is None else call.requested_wait)


def _place_of_repetition(trace: Trace, calls: Sequence[Exchange], place: int) -> int:
    """Return the place of the first call that may be a repetition in time of the one at a place; the count of calls without one."""
    first = calls[place]

    def is_in_time(call: Exchange) -> bool:
        is_answered = call.follows >= first.number
        return is_answered and not (_is_limited(first) and _comes_too_soon(trace, first, call))

    return bisect_left(calls, True, lo=place + 1, key=is_in_time)


def _is_over(trace: Trace, first: Exchange, call: Exchange) -> bool:
    """Return True if a call comes too late to be the repetition of another one."""
    return (gap(trace, first, call) or 0) > _due_at(first) - first.at + MINUTE


CHECKS: Final[tuple[Check, ...]] = (
    Check(
        id="ignore-retry-after",
        clause="advice.back-off",
        severity=2,
        proof="the same call before the 429's Retry-After was over, or, without one, three times at once, or four times at an even pace below half a second",
        advice="Wait for the time in Retry-After, seconds or a date; without one, back off exponentially.",
        needs=("times",),
        judge=ignore_retry_after,
    ),
)
