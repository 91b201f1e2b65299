"""
The waits of a client between its calls, as far as a run shows them.

A wait shows on the sandbox's clock, or as a sleep in real time that this process has recorded. A client that waits by a
function that a test has put in the place of its sleep shows neither, like one that repeats at once: its waits are not
judged before something shows that its sleep moves the sandbox's clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

from mockserver.core.instants import SECOND
from mockserver.core.state.journal import JournalEntry
from mockserver.judge.check import Finding, NotAssessable, Proof
from mockserver.judge.client.evidence import elapsed, gap
from mockserver.judge.client.judge import ConductResult, finding
from mockserver.judge.client.retry_after import UNMEASURED, ignore_retry_after
from mockserver.testing.runs.in_process import RunInProcess
from mockserver.trace.exchange import TOO_MANY, Exchange
from mockserver.trace.trace import Trace

RULE = "ignore-retry-after"
NO_SLEEP_SEEN = "no clock moved between the 429 and the next call, and no sleep was seen: the client may sleep by a function that moves none"
CURED = (NO_SLEEP_SEEN, UNMEASURED)  # by a sleep on the sandbox's clock
_LAST = 20  # calls of a run
_WAITED = 500_000  # microseconds of real time between two calls while the sandbox's clock stays


class EarlyRetries(NamedTuple):
    """
    The calls that were repeated before a 429's Retry-After was over.

    Attributes:
        findings: Those whose clients are known to have waited too little.
        unjudged: Why there may be others; None if there are none.
    """

    findings: Sequence[Finding]
    unjudged: str | None


Bursts = Mapping[Any, int]  # by request


def bursts(trace: Trace) -> Bursts:
    """Return of each request how many equal ones a run made at one instant, such as those of parallel workers."""
    counts = Counter((call.request, call.at) for call in trace.calls)
    most: dict[Any, int] = {}
    for (request, _), count in counts.items():
        most[request] = max(count, most.get(request, 0))
    return most


def early_retries(
    trace: Trace, conduct: ConductResult, in_process: RunInProcess | None, of_clean: Bursts
) -> EarlyRetries:
    """
    Return the repetitions that came too early, by waits that no loaded machine changes.

    Args:
        trace: That of the sandbox after the run. Lock: the caller holds the sandbox's.
        conduct: The judgement on it, which is the only one on a client in another process.
        in_process: The sleeps of the run; None for one in another process.
        of_clean: The bursts of the clean run; empty for that run itself.
    """
    if all(call.status != TOO_MANY for call in trace.calls):
        return EarlyRetries((), None)
    if in_process is None:
        why = next((row.why for row in conduct.not_assessed if row.rule == RULE), None)
        found = [row for row in conduct.findings if row.rule == RULE]
        return EarlyRetries([row for row in found if not is_of_burst(trace, row.exchanges, of_clean)], why)
    return _by_known_sleeps(replace(trace, slept=in_process.slept), in_process, of_clean)


def _by_known_sleeps(trace: Trace, in_process: RunInProcess, of_clean: Bursts) -> EarlyRetries:
    judged: list[Finding] = []
    unseen: str | None = None
    unmeasured: str | None = None
    for verdict in ignore_retry_after(trace):
        if isinstance(verdict, NotAssessable):
            unmeasured = unmeasured or verdict.why
        if not isinstance(verdict, Proof):
            continue
        cited = verdict.exchanges
        if _has_waited_really(trace, cited) or is_of_burst(trace, cited, of_clean):
            continue
        if in_process.sleeps_by_sandbox or _has_slept(trace, cited):
            judged.append(finding(RULE, verdict.message, cited))
        else:
            unseen = NO_SLEEP_SEEN
    if not any(_is_retried(trace, call, of_clean) for call in trace.calls):
        unmeasured = None
    return EarlyRetries(judged, unseen or unmeasured)


def _is_retried(trace: Trace, call: Exchange, of_clean: Bursts) -> bool:
    again = trace.next_repetition(call) if call.status == TOO_MANY else None
    return again is not None and not is_of_burst(trace, (call.number, again.number), of_clean)


def _has_waited_really(trace: Trace, cited: Sequence[int]) -> bool:
    """Return True if so much real time has passed, by whichever function: a stopwatch can acquit."""
    first, again = _ends(trace, cited)
    return elapsed(first, again) >= (first.requested_wait or SECOND)


def is_of_burst(trace: Trace, cited: Sequence[int], of_clean: Bursts) -> bool:
    """Return True if there was no wait, and the clean run makes as many equal calls at one instant: they repeat nothing."""
    if _has_slept(trace, cited):
        return False
    first, _ = _ends(trace, cited)
    equal = [call for call in trace.calls if call.at == first.at and call.request == first.request]
    return len(equal) <= of_clean.get(first.request, 0)


def _has_slept(trace: Trace, cited: Sequence[int]) -> bool:
    """Return True if a clock has measured a wait, or was advanced by a command between the calls, even by 0."""
    first, again = _ends(trace, cited)
    if _has_advanced(trace, first.number, again.number):
        return True
    least = 1 if trace.sandbox.is_frozen else SECOND  # a clock that follows the process's moves by itself
    return (gap(trace, first, again) or 0) >= least


def _has_advanced(trace: Trace, first: int, last: int) -> bool:
    return any(first <= before < last for before in trace.sandbox.advanced)


def _ends(trace: Trace, cited: Sequence[int]) -> tuple[Exchange, Exchange]:
    first, *_, last = map(trace.by_number, cited)
    assert first is not None and last is not None, "a finding cites calls of its run"
    return first, last


def between_last_calls(trace: Trace, in_process: RunInProcess | None) -> bool:
    """Return True if the client slept between its last calls: one that repeats them without end either waits there, or nowhere."""
    numbers = [call.number for call in trace.calls[-_LAST:]] or [0]
    first, last = numbers[0], numbers[-1]
    return _has_advanced(trace, first, last) or (in_process is not None and in_process.slept(first, last) > 0)


def real_wait(exchanges: Sequence[JournalEntry]) -> str | None:
    """
    Return the longest real wait between two calls while the sandbox's clock stayed, such as `1.5 s between calls 1 and 2`.

    It is all that can be seen of a sleep in another process; None if no wait was long.
    """
    between = [
        (second.monotonic_us - first.monotonic_us - (second.at - first.at), first.n, second.n)
        for first, second in pairwise(exchanges)
        if first.monotonic_us is not None and second.monotonic_us is not None
    ]
    wait, before, after = max(between, default=(0, 0, 0))
    return f"{wait / SECOND:.1f} s between calls {before} and {after}" if wait >= _WAITED else None
