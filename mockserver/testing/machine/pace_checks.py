"""Invariants on reading: when to stop, how often to ask, and to read on while there is more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from mockserver.core.instants import SECOND
from mockserver.core.journal import Exchange
from mockserver.testing.machine.story import Story, answer, has_told_final, is_success

_POLLS: Mapping[str, int] = {"readExecution": 10, "readConnectionSession": 2}  # seconds
_STORM = 3


def _reads(story: Story, *operations: str) -> Iterator[list[Exchange]]:
    """The reads of one record within the step."""
    records: dict[str, list[Exchange]] = {}
    for each in story.new_of(*operations):
        records.setdefault(each.call.path, []).append(each)
    yield from records.values()


def polls_after_final(story: Story) -> Iterator[str]:
    """Two reads or more after a final status was read; one more is good practice after an event."""
    for reads in _reads(story, *_POLLS):
        first = next((place for place, each in enumerate(reads) if has_told_final(each)), len(reads))
        later = [each for each in reads[first + 1 :] if is_success(each)]  # one that failed and its repetition are one
        if len(later) > 1:
            status = answer(reads[first]).get("status")
            yield f"{reads[0].call.path} was read {len(later)} times more (#{later[-1].n}) after it was {status} (#{reads[first].n}): polling after a final state"


def fast_polls(story: Story) -> Iterator[str]:
    """Two reads of what is not over, closer than the document suggests."""
    for operation, seconds in _POLLS.items():
        for reads in _reads(story, operation):
            for first, second in pairwise(each for each in reads if not each.came_late):
                gap = (second.at - first.at) / SECOND
                if (
                    is_success(first)
                    and not has_told_final(first)
                    and gap < seconds
                    and not _canceled(story, first, second)
                ):
                    yield f"{second.call.path} was read again after {gap:g} s (#{second.n}); wanted {seconds} s or more"


def _canceled(story: Story, first: Exchange, second: Exchange) -> bool:
    """True where the campaign was canceled in between: the second look is after what came of that."""
    between = story.between(first, second)
    return any(
        each.operation == "cancelCampaign" and each.call.params["id"] == first.call.params.get("id") for each in between
    )


def early_stops(story: Story) -> Iterator[str]:
    """A list that was left at a page that names a next one."""
    for pages in _reads(story, "listMessages"):
        last = pages[-1]
        if is_success(last) and (cursor := answer(last).get("nextCursor")):
            count = len(answer(last).get("records", ()))
            yield f"{last.call.path} was read up to a page of {count} (#{last.n}) whose nextCursor is {str(cursor)[:12]}...: it stopped early"


def storms(story: Story) -> Iterator[str]:
    """Sessions created one after another in one step; one whose answer was lost is none that the client knows to have."""
    made = [each for each in story.new_of("createConnectionSession") if each.applied and is_success(each)]
    if len(made) >= _STORM or _hurried(made):
        yield f"{len(made)} connection sessions were created at a stroke ({', '.join(f'#{each.n}' for each in made)}): a session storm"


def _hurried(made: Sequence[Exchange]) -> bool:
    return any(second.at - first.at < SECOND for first, second in pairwise(made))
