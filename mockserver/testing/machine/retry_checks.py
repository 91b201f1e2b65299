"""Invariants on calls made again: blindly, after a success, after a final refusal, too soon, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from mockserver.core.conduct.waits import told_wait
from mockserver.core.instants import SECOND, Instant
from mockserver.core.journal import Exchange
from mockserver.testing.machine.story import Story, code, is_lost, is_success, request

_POSTS = ("createCampaign", "createConnectionSession", "uploadMedia", "startCampaign", "cancelCampaign")
_HOPELESS = (400, 401, 403, 404, 409, 422)
_SAME_REFUSALS = 3
_TRANSIENT = (429, 500)


def _failed(exchange: Exchange) -> bool:
    return is_lost(exchange) or (exchange.status or 0) >= 500


def blind_restarts(story: Story) -> Iterator[str]:
    """A start repeated after its answer was lost, without a read of the campaign in between."""
    lost: dict[str, Exchange] = {}
    if not story.new_of("startCampaign"):
        return
    for each in story.of("startCampaign", "readCampaign", "readExecution", "listCampaigns"):
        if each.operation == "startCampaign":
            campaign = each.call.params["id"]
            if campaign in lost and not each.came_late:
                first = lost[campaign]
                yield f"start of {campaign} was sent again (#{each.n}) after its answer was lost (#{first.n}), without reading the campaign first: a duplicate start"
            if is_lost(each):
                lost[campaign] = each
        elif is_success(each):
            _read(lost, each)


def _read(lost: dict[str, Exchange], exchange: Exchange) -> None:
    if exchange.operation == "listCampaigns":
        lost.clear()
    else:
        lost.pop(exchange.call.params["id"], None)


def blind_retries(story: Story) -> Iterator[str]:
    """A create of a campaign repeated after a lost answer or a 5xx, with no read in between; of sessions and uploads there is none."""
    for first, second in pairwise(story.new_of("createCampaign")):
        if not _failed(first) or request(first) != request(second) or second.came_late:
            continue
        if not any(each.call.method == "GET" and is_success(each) for each in story.between(first, second)):
            how = "its answer was lost" if is_lost(first) else f"a {first.status}"
            yield f"{first.operation} was sent again as it was (#{second.n}) after {how} (#{first.n}), which may have taken effect: a blind retry"


def repeats(story: Story) -> Iterator[str]:
    """The same POST again after it had succeeded."""
    for first, second in pairwise(story.new_of(*_POSTS)):
        if is_success(first) and request(first) == request(second) and not second.came_late:
            yield f"{first.operation} was sent again (#{second.n}) although it had succeeded with {first.status} (#{first.n})"


def hopeless(story: Story) -> Iterator[str]:
    """The same call again and again after the same final refusal."""
    run: list[Exchange] = []
    for each in story.new:
        is_refused = not is_lost(each) and each.status in _HOPELESS
        same = run and request(run[-1]) == request(each) and code(run[-1]) == code(each)
        run = [*run, each] if is_refused and same else [each] if is_refused else []
        if len(run) == _SAME_REFUSALS:
            yield f"{each.operation} was sent {_SAME_REFUSALS} times and refused with {code(each) or each.status} each time: a hopeless retry"


def hasty(story: Story) -> Iterator[str]:
    """The next call of a step earlier than a 429 asked for."""
    free_at: dict[str | None, tuple[Instant, int]] = {}
    for each in story.new:
        wait, told_by = free_at.get(each.tenant_id, (each.at, 0))
        if each.at < wait and not each.came_late:
            early = (wait - each.at) / SECOND
            yield f"{each.operation} was called (#{each.n}) {early:g} s before the Retry-After of #{told_by} was over"
        if not is_lost(each) and each.status == 429 and (asked := told_wait(each)) is not None:
            free_at[each.tenant_id] = (each.at + asked, each.n)


def forgotten_cancels(story: Story) -> Iterator[str]:
    """A cancel that met an error that passes, tried once and never again, while the campaign goes on."""
    tries: dict[str, list[Exchange]] = {}
    for each in story.new_of("cancelCampaign"):
        tries.setdefault(each.call.params["id"], []).append(each)
    for campaign_id, (first, *more) in tries.items():
        tenant = story.owner(first)
        campaign = tenant.campaigns.get(campaign_id) if tenant else None
        passing = is_lost(first) or first.status in _TRANSIENT
        if passing and not more and campaign is not None and campaign.status == "processing":
            yield f"cancel of {campaign_id} failed (#{first.n}) and was not tried again: the campaign goes on sending"
