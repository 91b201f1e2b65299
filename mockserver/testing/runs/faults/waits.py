"""
The waits of a client between its calls, as far as a run shows them.

A wait shows on the sandbox's clock, or as a sleep in real time that this process has recorded. A client that waits by a
function that a test has put in the place of its sleep shows neither, like one that repeats at once: its waits are not
judged before something shows that its sleep moves the sandbox's clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from mockserver.core.instants import SECOND
from mockserver.judge.check import Finding, Proof
from mockserver.judge.client.evidence import elapsed, gap
from mockserver.judge.client.judge import ConductResult, finding
from mockserver.judge.client.retry_after import ignore_retry_after
from mockserver.testing.runs.in_process import RunInProcess
from mockserver.trace.exchange import Exchange
from mockserver.trace.trace import Trace

RULE = "ignore-retry-after"
_LAST = 20  # calls of a run


def early_retries(
    trace: Trace, conduct: ConductResult, in_process: RunInProcess | None, clean: Sequence[Exchange]
) -> tuple[Sequence[Finding], bool]:
    """
    Return the calls that were repeated before a 429's Retry-After was over, by waits that no loaded machine changes, and True
    if others may have been: no clock moved.

    Args:
        trace: That of the sandbox after the run. Lock: the caller holds the sandbox's.
        conduct: The judgement on it, which is the only one on a client in another process.
        in_process: The sleeps of the run; None for one in another process.
        clean: The calls of the clean run; empty for that run itself.
    """
    if in_process is None:
        found = [row for row in conduct.findings if row.rule == RULE and not is_of_burst(trace, row.exchanges, clean)]
        return found, any(row.rule == RULE for row in conduct.not_assessed)
    trace = replace(trace, slept=in_process.slept)
    early = [
        finding(RULE, proof.message, proof.exchanges)
        for proof in ignore_retry_after(trace)
        if isinstance(proof, Proof)
        and not _has_waited_really(trace, proof.exchanges)
        and not is_of_burst(trace, proof.exchanges, clean)
    ]
    seen = [row for row in early if in_process.sleeps_by_sandbox or _has_slept(trace, row.exchanges)]
    return seen, len(seen) < len(early)


def _has_waited_really(trace: Trace, cited: Sequence[int]) -> bool:
    """Return True if so much real time has passed, by whichever function: a stopwatch can acquit."""
    first, again = _ends(trace, cited)
    return elapsed(first, again) >= (first.requested_wait or SECOND)


def is_of_burst(trace: Trace, cited: Sequence[int], clean: Sequence[Exchange]) -> bool:
    """Return True if there was no wait, and the clean run makes as many equal calls at one instant: they repeat nothing."""
    if _has_slept(trace, cited):
        return False
    first, _ = _ends(trace, cited)
    in_run, in_clean = (
        Counter(call.at for call in calls if call.request == first.request) for calls in (trace.calls, clean)
    )
    return in_run[first.at] <= max(in_clean.values(), default=0)


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
