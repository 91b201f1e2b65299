"""
Pairs of faults.

The second fault of a pair happens at a call of the first fault's own run, after the first. Pairs are ordered by how near
the second is to the first, those at calls that the clean run does not make before all others: that is how the client
recovers; and those after a fault at a call that changes something before those after a read. Pairs whose second is an act
of another follow: they are many, and few clients need two to fail. Faults of deliveries are not in pairs: a first fault
changes which attempt has which number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from mockserver.testing.runs.faults.clean import CleanRun
from mockserver.testing.runs.faults.options import ExploreOptions
from mockserver.testing.runs.faults.placements import ExploreStep, Placement
from mockserver.testing.runs.faults.singles import at_calls
from mockserver.testing.runs.faults.tables import FAULTS, READS, SECOND
from mockserver.testing.runs.traced_calls import TracedCall

# The second step is an act, it is after the recovery, the first is at a read, calls between the two, kind of the second.
Rank = tuple[bool, bool, bool, int, int]


class First(NamedTuple):
    """A single placement that was tried, and the calls of its run."""

    step: ExploreStep
    calls: Sequence[TracedCall]


def pairs(firsts: Sequence[First], clean: CleanRun, options: ExploreOptions) -> tuple[Sequence[Placement], int]:
    """
    Return the pairs of faults to try, the most promising first, and how many they are with those that are equal to one of them.

    Args:
        firsts: The single faults and acts that were tried, each with its run.
        clean: The clean run.
        options: The faults and operations to try.
    """
    ranked: dict[Any, tuple[Rank, Placement]] = {}
    count = 0
    for first in firsts:
        at = first.step.operation, first.step.nth
        place = next((place for place, call in enumerate(first.calls) if (call.operation, call.nth) == at), None)
        if place is None:
            continue
        state, recovered = _state(first, place), _recovered(first.calls, clean.calls, place)
        for candidate in at_calls(first.calls, clean, options, place + 1, is_second=True):
            count += 1
            key = state, candidate.key if options.prune else count
            second = candidate.step
            after = (second.call or 0) - 1
            kind = SECOND.index(second.name) if second.name in SECOND else len(SECOND)
            rank = second.kind == "act", after >= recovered, first.step.operation in READS, after - place, kind
            ranked.setdefault(key, (rank, Placement.of(first.step, candidate.step)))
    rows = sorted(ranked.values(), key=lambda row: row[0])
    return [placement for _, placement in rows], count


def _state(first: First, place: int) -> Any:
    """Return what is equal for first faults that leave the same state and the same calls behind."""
    kind = "act" if first.step.kind == "act" else "fault"
    name = first.step.name if kind == "act" else FAULTS[first.step.name or ""].changes
    calls = first.calls[place:]
    return kind, name, calls[0].operation, calls[0].request, calls[0].state, tuple(call.key for call in calls[1:])


def _recovered(calls: Sequence[TracedCall], clean: Sequence[TracedCall], place: int) -> int:
    """Return the place from which on the run makes the last calls of the clean run: the client has recovered."""
    common = 0
    pairs_from_end = zip(reversed(calls[place + 1 :]), reversed(clean[place + 1 :]), strict=False)
    for call, expected in pairs_from_end:
        if call.key != expected.key:
            break
        common += 1
    return len(calls) - common
