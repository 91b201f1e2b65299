"""
The judge of calls that got a 429: each is repeated once its time to wait is over.

Equal calls of equal clients may be those of several workers, threads or users of one app, which no call shows. So the judge
looks for a way to share them among careful workers: each repeats its own call in time, or gives up after `RETRIED` tries. It
accuses a call that is left over in the best way that it finds, if the next equal call follows too soon.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise, takewhile
from typing import Final, Literal, NamedTuple

from mockserver.contract.durations import duration_text
from mockserver.core.instants import MILLISECOND, MINUTE, SECOND, Duration, Instant
from mockserver.judge.check import MET, Check, NotAssessable, Proof, Verdict
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
from mockserver.trace.trace import Trace, number_of, numbers, sent_after

UNMEASURED = "no clock moved between a 429 and the next call, nor between any other two"
_PACE_CALLS = 8  # before one, at most, by which a loop is known
_PACE_GAPS_MIN = 5  # between them and the one: a few calls of several workers may be even too
_EVEN = 0.02  # of the longest of three waits: how much those of a loop differ at most
_NO_WAIT = 20 * MILLISECOND  # in which a call may be answered
_EXACT = 0.02  # of a time to wait: how much later a worker is that waits exactly as long
_FOLLOWED = (16, 256)  # ways to share the calls that are followed at once: more where the fewer leave a call
_STEPS_MAX = 10_000  # of the search through one group: through a long one fewer are followed


def ignore_retry_after(trace: Trace) -> Iterator[Verdict]:
    limited = list(filter(_is_limited, trace.calls))
    if not limited:
        return
    yield MET
    is_unmeasured = is_over = False
    equal = _equal_to(limited, trace)
    excused = _excused(trace, equal)
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
            if first.number not in excused and is_early(trace, first, again[0]):
                after = "while no clock moved" if waited is None else f"after {duration_text(waited)}"
                message = f"{first.operation} was repeated {after}; its Retry-After was {duration_text(requested)}"
                yield Proof(message, numbers((first, again[0])))
        elif first.number not in excused and _is_burst(trace, first, again, same):
            message = f"{first.operation} was sent three times within a second, despite a 429"
            yield Proof(message, numbers((first, *again)))
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


def _excused(trace: Trace, equal: Mapping[object, Sequence[Exchange]]) -> set[int]:
    """
    Return the numbers of the limited calls that careful workers may have sent.

    Polls of a record are left out: a loop that does not wait repeats each of its calls at any time later.
    """
    searched = (calls for calls in equal.values() if calls[0].reads not in ALL_POLLED)
    return set().union(*(_EqualCalls(trace, calls).excused() for calls in searched))


class _Waiting(NamedTuple):
    """A call that its worker may repeat from the instant `due` on: it got a 429, or failed otherwise."""

    due: Instant
    n: int


class _Sharing(NamedTuple):
    """
    One way in which the calls so far may be those of workers.

    Attributes:
        waiting: the calls that their workers may still repeat, by the tries up to them, from one to `RETRIED` and more; in the
            order in which they are due.
        left: the numbers of the limited calls that no worker has repeated in time, and after which none has given up.
    """

    waiting: tuple[tuple[_Waiting, ...], ...]
    left: tuple[int, ...]

    def having(self, tries: int, waiting: tuple[_Waiting, ...], left: Iterable[int] = ()) -> _Sharing:
        """Return the sharing with these calls after so many tries, and with those that are left besides."""
        rows = (*self.waiting[: tries - 1], waiting, *self.waiting[tries:])
        return _Sharing(rows, (*self.left, *left))

    @property
    def needed(self) -> int:
        """How many calls the workers who wait have to send before all of them may give up."""
        return sum(missing * len(calls) for missing, calls in enumerate(reversed(self.waiting)))


class _EqualCalls:
    """Equal calls of equal clients, in their order; some got a 429. Lifetime: one judgement."""

    def __init__(self, trace: Trace, calls: Sequence[Exchange]) -> None:
        self._trace = trace
        self._calls = calls
        self._by_number = {call.number: call for call in calls}
        self._limited = [call for call in calls if _is_limited(call)]
        self._repeated = {call.number for call in self._limited if call is not calls[-1]}
        self._phases: dict[tuple[int, int], Literal["early", "ready", "over"]] = {}

    def excused(self) -> set[int]:
        """Return the numbers of the limited calls, but for the last call, that careful workers may have sent."""
        left: list[int] = []
        most = max(1, _STEPS_MAX // len(self._calls))
        for followed in sorted({min(most, each) for each in _FOLLOWED}):
            left = self._left(followed)
            if not left:
                break
        return self._repeated.difference(left)

    def _left(self, followed: int) -> list[int]:
        """Return the limited calls that are left in the best way to share the calls, if so many ways are followed at once."""
        sharings = [_Sharing(((),) * RETRIED, ())]
        for call in self._calls:
            ways = [after for each in sharings for after in self._continued(each, call)]
            sharings = _best(ways, followed)
        ends = [self._left_at_end(sharing) for sharing in sharings]
        return min(ends, key=lambda left: (len(left), -sum(map(self._is_repeated_too_soon, left))))

    def _continued(self, sharing: _Sharing, call: Exchange) -> Iterator[_Sharing]:
        """Yield the ways to share one call more: it is the first of its worker, or a repetition by one who waits."""
        for tries in range(1, RETRIED + 1):
            waiting = sharing.waiting[tries - 1]
            over = list(takewhile(lambda each: self._phase(each, call) == "over", waiting))
            if over:
                sharing = sharing.having(tries, waiting[len(over) :], self._unexcused(tries, over))
        yield self._with_call(sharing, call, 1)
        for tries, waiting in enumerate(sharing.waiting, 1):
            if waiting and self._phase(waiting[0], call) == "ready":
                yield self._with_call(sharing.having(tries, waiting[1:]), call, min(tries + 1, RETRIED))

    def _with_call(self, sharing: _Sharing, call: Exchange, tries: int) -> _Sharing:
        """Return the sharing with the worker of this call, who waits after so many tries if it has failed."""
        if not call.has_to_be_retried:
            return sharing
        wait = call.requested_wait if _is_limited(call) else 0
        waiting = list(sharing.waiting[tries - 1])
        insort(waiting, _Waiting(call.at + (SECOND if wait is None else wait), call.number))
        return sharing.having(tries, tuple(waiting))

    def _phase(self, waiting: _Waiting, call: Exchange) -> Literal["early", "ready", "over"]:
        """Return whether the call comes too early to be the repetition of one that waits, in time, or too late."""
        key = waiting.n, call.number
        if key not in self._phases:
            first = self._by_number[waiting.n]
            if (gap(self._trace, first, call) or 0) > waiting.due - first.at + MINUTE:
                self._phases[key] = "over"
            elif call.follows < first.number or (_is_limited(first) and _comes_too_soon(self._trace, first, call)):
                self._phases[key] = "early"
            else:
                self._phases[key] = "ready"
        return self._phases[key]

    def _left_at_end(self, sharing: _Sharing) -> list[int]:
        left = list(sharing.left)
        for tries, waiting in enumerate(sharing.waiting, 1):
            left += self._unexcused(tries, waiting)
        return left

    def _unexcused(self, tries: int, waiting: Iterable[_Waiting]) -> list[int]:
        """Return the numbers of the limited calls after which no worker has given up: after fewer tries, or in a loop."""
        return [
            each.n for each in waiting if each.n in self._repeated and (tries < RETRIED or self._is_in_loop(each.n))
        ]

    def _is_repeated_too_soon(self, n: int) -> bool:
        """Return True if the next call comes before the time to wait is over."""
        place = bisect_right(self._calls, n, key=number_of)
        following = self._calls[place : place + 1]
        return any(_comes_too_soon(self._trace, self._by_number[n], call) for call in following)

    def _is_in_loop(self, n: int) -> bool:
        """
        Return True if the limited calls up to this one, and the next call, are as even as those of one loop.

        Workers that wait exactly as long as they have to repeat the gaps between them: such calls are no loop, unless these are
        the same but for a tenth.
        """
        place = bisect_right(self._limited, n, key=number_of)
        following = bisect_right(self._calls, n, key=number_of)
        sent = [*self._limited[max(0, place - _PACE_CALLS) : place], *self._calls[following : following + 1]]
        gaps = [gap(self._trace, *pair) or 0 for pair in pairwise(sent)]
        if len(gaps) < _PACE_GAPS_MIN or not 0 < 2 * max(gaps) <= 3 * min(gaps):
            return False
        return 10 * max(gaps) <= 11 * min(gaps) or not self._is_of_exact_workers(sent)

    def _is_of_exact_workers(self, sent: Sequence[Exchange]) -> bool:
        """Return True if each call is repeated, as far as these go, when its time to wait is just over."""
        within = [call for call in sent if call.at + (call.requested_wait or 0) <= sent[-1].at and _is_limited(call)]
        instants = [call.at for call in sent]
        return len(within) >= 2 and all(_is_repeated_exactly(call, instants) for call in within)


def _is_repeated_exactly(call: Exchange, instants: Sequence[Instant]) -> bool:
    """Return True if a call is sent at one of these instants when the time to wait of this one is over, or if it has none."""
    wait = call.requested_wait
    return not wait or any(abs(at - call.at - wait) <= _EXACT * wait for at in instants)


def _best(sharings: Iterable[_Sharing], most: int) -> list[_Sharing]:
    """Return the sharings that leave the fewest calls, and of those the ones that need the fewest more; none twice."""
    best: dict[object, _Sharing] = {}
    for sharing in sorted(sharings, key=lambda sharing: (len(sharing.left), sharing.needed)):
        if len(best) == most:
            break
        best.setdefault(sharing.waiting, sharing)
    return list(best.values())


CHECKS: Final[tuple[Check, ...]] = (
    Check(
        id="ignore-retry-after",
        clause="advice.back-off",
        line="L436",
        severity=2,
        proof="the same call before the 429's Retry-After was over, or, without one, three times at once, or four times at an even pace below half a second",
        advice="Wait for the time in Retry-After, seconds or a date; without one, back off exponentially.",
        needs=frozenset(("times",)),
        judge=ignore_retry_after,
    ),
)
