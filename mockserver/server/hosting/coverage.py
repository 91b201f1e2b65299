"""What the calls of one sandbox have covered, gathered before its state is gone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from mockserver.core.run import Run
from mockserver.core.state.sandbox import SandboxState
from mockserver.judge.coverage.coverage import Coverage
from mockserver.judge.coverage.dimensions import choice_item
from mockserver.judge.coverage.gathering import NO_TIMER, gather
from mockserver.trace.of_sandbox import trace_of

# The choices that were used: the id, the value unless it is a number, and the record whose timer was due.
ChoicesUsed = set[tuple[str, str | None, str | None]]


def gather_sandbox(
    sandbox: SandboxState,
    used: Collection[tuple[str, str | None, str | None]],
    into: Coverage,
    *,
    counts_faults: bool,
) -> None:
    """Add what the sandbox shows to a coverage, its faults only if they count. Lock: the caller holds the sandbox's."""
    read: defaultdict[str, set[str]] = defaultdict(set)
    for choice, value, timer in used:
        read[choice_item(choice, value)].add(timer or NO_TIMER)
    gather(trace_of(Run.of(sandbox)), into, read, counts_faults=counts_faults)
