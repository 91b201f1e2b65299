"""
Invariants on what the calls have caused: executions, sends, clones, restarts.

What was caused twice is the client's doing where it was within one step; two steps may well ask for the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from mockserver.core import ledger
from mockserver.testing.machine.story import Story, has_told_final


def _runs(story: Story) -> int:
    return sum(len(tenant.executions) for tenant in story.sandbox.tenants.values())


def duplicate_executions(story: Story) -> Iterator[str]:
    """Two executions of one template with the same values to the same chats within a day."""
    if _runs(story) < 2:
        return
    rows = ledger.read(story.sandbox).duplicate_executions
    for row in (each for each in rows if story.is_one_step(*each["exchanges"])):
        first, second = row["campaignIds"]
        yield f"campaigns {first} and {second} sent the same to the same chats: duplicate executions{_calls(row['exchanges'])}"


def duplicate_sends(story: Story) -> Iterator[str]:
    """One chat got the same twice within a day."""
    if _runs(story) < 2:
        return
    starts = ledger.origins(story.sandbox)
    for row in ledger.read(story.sandbox).duplicate_sends:
        started = sorted(starts.get(each, 0) for each in row["executionIds"])
        if not any(story.is_one_step(*pair) for pair in pairwise(started)):
            continue
        yield f"chat {row['chatId']} got template {row['templateId']} with the same values {row['count']} times: a duplicate send"


def clones(story: Story) -> Iterator[str]:
    """A campaign made again because the first was taken for failed."""
    if sum(len(tenant.campaigns) for tenant in story.sandbox.tenants.values()) < 2:
        return
    rows = ledger.read(story.sandbox).cloned_campaigns
    for row in (each for each in rows if story.is_one_step(*each["exchanges"])):
        yield f"campaign {row['cloneId']} is a clone of {row['originalId']}, made after {row['why']}{_calls(row['exchanges'])}"


def restarts(story: Story) -> Iterator[str]:
    """A start of a campaign that the client had read to be over."""
    over: dict[str, int] = {}
    if not story.new_of("startCampaign"):
        return
    for each in story.of("readCampaign", "readExecution", "startCampaign"):
        campaign = each.call.params["id"]
        if each.operation == "startCampaign" and campaign in over and not each.came_late:
            yield f"campaign {campaign} was started (#{each.n}) after it was read to be over (#{over[campaign]})"
        elif has_told_final(each):
            over[campaign] = each.n


def _calls(numbers: Sequence[Any]) -> str:
    known = [f"#{number}" for number in numbers if number is not None]
    return f" ({' and '.join(known)})" if known else ""
