"""Judges of campaigns: creates, starts and cancels that the client repeated, or sent without reading first."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from mockserver.contract.endpoints import OPERATIONS
from mockserver.contract.lifecycles import FINAL
from mockserver.core import ledger
from mockserver.core.instants import HOUR, MINUTE, SECOND
from mockserver.judge.check import Check, NotAssessable, Proof, Verdict, proof, unless_known
from mockserver.judge.client.evidence import (
    RETRIED,
    between,
    ended_at,
    failures_at_end,
    gap,
    is_invited,
    is_locked_out,
    may_be_of_another_user,
    may_have_received,
    shown,
    transport_repeats,
)
from mockserver.trace.exchange import Exchange
from mockserver.trace.facts import LACKING
from mockserver.trace.records import SeenExecution, SeenTemplate
from mockserver.trace.sightings import variables_of
from mockserver.trace.trace import Trace, numbers

_READS: Final = ("listCampaigns", "readCampaign", "readExecution")
_CLONED_WITHIN: Final = HOUR
_RETRIED_WITHIN: Final = MINUTE
# Of a call that was repeated at once after a connection that was in use before had ended without a byte.
_BELOW: Final = "; if your code sent it once, its HTTP library has sent it again"
_AT_ONCE: Final = 5 * SECOND
_LOOP: Final = 2  # repetitions of a cancel
_LOOKED_WITHIN: Final = MINUTE  # a client that backs off after a failed cancel has looked by then
_SAME_RUN: Final = 5 * MINUTE  # a later cancel or create is a new decision of the user, not a retry
_NAME_IS_TAKEN: Final = "CAMPAIGN_NAME_ALREADY_EXISTS"
_TWO_CALLERS: Final = (
    "the start that followed a success may be another caller's: its client took other successes than 200 for one"
)
_NO_SUCCESS: Final = ("canceled", "failed")
_STARTED_AGAIN: Final = (
    "a campaign was started again after its end, perhaps since the answer to an earlier start was lost"
)


def duplicate_start(trace: Trace) -> Iterator[Verdict]:
    """The client cannot know whether a lost start took effect, and so may not start again without a read."""
    for campaign_id, first, again in _repeated_starts(trace):
        if first.was_received or transport_repeats(trace).get(again.number):
            continue
        if first.client != again.client or may_be_of_another_user(trace, again) or _has_read(trace, first, again):
            continue
        effect = _effect_of_lost(trace, first, again)
        message = (
            f"campaign {campaign_id} was started again without a read, after a start without an answer, which {effect}"
        )
        yield proof(message + _below(trace, again), first, again)


def _effect_of_lost(trace: Trace, first: Exchange, again: Exchange) -> str:
    if "effects" not in trace.knows:
        return "may have taken effect"
    if first.number > again.number:
        return "was still on its way"
    if first.applied:
        return "had taken effect"
    return "had been refused" if first.refusal is not None else "had not reached the service"


def _below(trace: Trace, again: Exchange) -> str:
    return _BELOW if again.number in transport_repeats(trace) else ""


def _repeated_starts(trace: Trace) -> Iterator[tuple[str, Exchange, Exchange]]:
    """Yield each start that a client sent after another one of the same campaign, with the campaign's id and the earlier start."""
    for campaign_id, starts in trace.grouped_by("id", "startCampaign"):
        as_sent = sorted(starts, key=lambda start: start.place_as_sent)
        yield from ((campaign_id, first, again) for first, again in pairwise(as_sent))


def _has_read(trace: Trace, first: Exchange, last: Exchange) -> bool:
    """Return True if the client received a read of that campaign, or of all campaigns, in between, or may have."""
    campaign_id = first.params.get("id")
    reads = between(trace, first, last, *_READS)
    of_campaign = (read for read in reads if read.params.get("id", campaign_id) == campaign_id)
    return any(map(may_have_received, of_campaign))


def blind_post_retry(trace: Trace) -> Iterator[Verdict]:
    """Sessions and uploads are exempt: a client has nothing that it could read first. A create is judged by what it left."""
    for first in trace.of("createCampaign", "startCampaign"):
        if not first.has_failed:
            continue
        again = trace.next_repetition(first)
        if again is None or again.arrived_late or again.at - first.at > _RETRIED_WITHIN:
            continue
        if transport_repeats(trace).get(again.number):
            continue
        left: str | None = ""
        if first.creates == "campaign":
            left = _left_by_creates(trace, trace.once(_creates_by_request), first, again)
        elif not first.was_received or may_be_of_another_user(trace, again):
            continue  # after a start that was lost `duplicate_start` judges
        if left is not None and not _has_read(trace, first, again):
            message = f"{first.operation} was repeated byte for byte after {first.outcome}{left}"
            yield proof(message + _below(trace, again), first, again)
    yield from _unknown_effects(trace)


def _unknown_effects(trace: Trace) -> Iterator[NotAssessable]:
    """Yield why nothing was found, if the trace does not show whether a create or a start that failed took effect."""
    if "effects" in trace.knows:
        return
    writes = trace.of("createCampaign", "startCampaign")
    if any(not write.is_answered or write.has_failed for write in writes):
        yield NotAssessable(LACKING["effects"])


class _Creates(NamedTuple):
    """The numbers of equal creates that took effect, and of those that were refused since their name was taken."""

    made: list[int]
    taken: list[int]


def _creates_by_request(trace: Trace) -> Mapping[object, _Creates]:
    creates: dict[object, _Creates] = {}
    for create in trace.of("createCampaign"):
        made, taken = creates.setdefault(create.request, _Creates([], []))
        if create.applied:
            made.append(create.number)
        elif create.code == _NAME_IS_TAKEN:
            taken.append(create.number)
    return creates


def _left_by_creates(trace: Trace, creates: Mapping[object, _Creates], first: Exchange, again: Exchange) -> str | None:
    """
    Return what a repeated create has left, as the end of a sentence; None if there is no more than the client knows.

    Names are unique, so that the service refuses the second of two creates that take effect. A client that then looks
    for the campaign and adopts it is correct, and so is one whose first create had not reached the service.
    """
    if first.applied and again.applied:
        return ", and a second campaign was created" if first.key == again.key else None
    made, taken = creates[first.request]
    later = bisect_left(made, first.number)
    if later == len(made) or not taken or taken[-1] < made[later]:
        return None
    has_looked = any(look.number > taken[-1] for look in trace.of("listCampaigns"))
    return None if has_looked else "; its name was taken then, and the client did not look for the campaign"


def clone_after_conflict(trace: Trace) -> Iterator[Verdict]:
    yield from _clones(trace, "startCampaign")


def rename_after_lost_create(trace: Trace) -> Iterator[Verdict]:
    yield from _clones(trace, "createCampaign")


def _clones(trace: Trace, cause: str) -> Iterator[Verdict]:
    """
    Yield the clones that were started, by the operation whose answer led to them.

    A campaign that was canceled or has failed never starts again, so that its user can only create another one.
    """
    for clone in trace.once(_found_clones):
        executions = trace.once(_executions)
        copy, original = executions.get(clone.id), executions.get(clone.original_id)
        why, create = trace.by_number(clone.trouble.number), trace.creating(clone.id)
        if copy is None or original is None or why is None or create is None or why.operation != cause:
            continue
        if copy.values != original.values:
            continue  # they send other messages
        start, first = trace.creating(copy.id), trace.creating(original.id)
        if start is None or first is None or start.at - first.at > _CLONED_WITHIN:
            continue
        if create.client != why.client or _was_canceled_or_failed(trace, clone.original_id, create):
            continue
        if cause == "createCampaign" and _is_of_another(trace, clone.original_id, create):
            continue
        if _is_new_decision(trace, clone.original_id, why, create, start):
            continue
        trouble = f"created after trouble with that ({clone.trouble.why})"
        message = f"campaign {clone.id} is a clone of {clone.original_id}, {trouble} and started too"
        yield proof(message, why, create, start)
    yield from _unknown_effects(trace)


def _found_clones(trace: Trace) -> Sequence[ledger.Clone]:
    troubles: dict[str, list[ledger.Trouble]] = {}  # by tenant
    for call in reversed(trace.of("createCampaign", "startCampaign")):
        trouble = _trouble(call)
        if trouble is not None:
            troubles.setdefault(call.key or "", []).append(trouble)
    found: list[ledger.Clone] = []
    for tenant, own_troubles in troubles.items():
        own = [campaign for campaign in trace.records.campaigns.values() if campaign.tenant == tenant]
        found += ledger.find_clones(own, own_troubles, trace.records.created)
    return found


def _executions(trace: Trace) -> Mapping[str, SeenExecution]:
    """Return the last execution of each campaign, by the campaign's id."""
    return {execution.campaign_id: execution for execution in trace.records.executions.values()}


def _trouble(call: Exchange) -> ledger.Trouble | None:
    why = ledger.why_troubled(
        code=call.refusal.code if call.refusal is not None else call.code,
        is_applied=bool(call.applied),
        status=call.late_status if call.status is None else call.status,
        is_faulted=bool(call.fault),
    )
    if why is None:
        return None
    name = call.sent.get("name") if call.creates == "campaign" else None
    return ledger.Trouble(number=call.number, why=why, name=name, campaign_id=call.params.get("id"))


def _is_new_decision(trace: Trace, campaign_id: str, why: Exchange, create: Exchange, start: Exchange) -> bool:
    """Return True for a start long after the trouble, if its client was shown the first campaign before it created another."""
    is_shown = any(why.number < n < create.number for n, _ in shown(trace, campaign_id, create))
    return is_shown and start.at - why.at > _SAME_RUN


def _is_of_another(trace: Trace, campaign_id: str, create: Exchange) -> bool:
    """Return True if another client has created the campaign, whose name is taken then."""
    made = trace.creating(campaign_id)
    return made is not None and made.client != create.client


def _was_canceled_or_failed(trace: Trace, campaign_id: str, create: Exchange) -> bool:
    """Return True if the campaign was canceled or had failed when the client created another one."""
    end = trace.records.ends.get(campaign_id)
    return end is not None and end.status in _NO_SUCCESS and end.at <= create.at


def only_200_is_ok(trace: Trace) -> Iterator[Verdict]:
    """Only starts: a user may mean to create twice, and the second response shows whether the name is taken."""
    for first in trace.of("startCampaign"):
        if not first.succeeded or first.status == 200:
            continue
        again = trace.next_repetition(first)
        if again is None or not again.was_received or again.at - first.at > _RETRIED_WITHIN:
            continue
        if may_be_of_another_user(trace, again) or again.client != first.client:
            continue
        if _took_another_for_a_success(trace, first):
            yield NotAssessable(_TWO_CALLERS)
            continue
        # A client that continues took the first for a success.
        if not between(trace, first, again, *OPERATIONS):
            yield proof(f"{first.operation} was repeated after {first.status}", first, again)


def _took_another_for_a_success(trace: Trace, start: Exchange) -> bool:
    """Return True if the client did not repeat some other POST that was answered with 2xx, but not 200."""
    own = (call for call in trace.calls if call.client == start.client and call.operation != start.operation)
    others = (call for call in own if call.method == "POST" and call.succeeded and call.status != 200)
    return any(trace.next_repetition(call) is None for call in others)


def json_on_204(trace: Trace) -> Iterator[Verdict]:
    for campaign_id, cancels in trace.grouped_by("id", "cancelCampaign"):
        success = next((cancel for cancel in cancels if cancel.succeeded), None)
        if success is None:
            continue
        again = _canceled_again(trace, success, cancels)
        if again is not None and not is_invited(trace, success, again):
            message = f"campaign {campaign_id} was canceled again after {success.status}, the success of a cancel"
            yield proof(message, success, again)


def _canceled_again(trace: Trace, success: Exchange, cancels: Sequence[Exchange]) -> Exchange | None:
    """Return the client's next cancel after one that succeeded, unless it is another decision or may be another user's."""
    later = (each for each in cancels if each.follows >= success.number and each.at - success.at <= _SAME_RUN)
    own = [cancel for cancel in later if cancel.client == success.client]
    if not own or not may_be_of_another_user(trace, own[0]):
        return own[0] if own else None
    # Two users may have clicked; a client that fails at an empty body cancels again and again.
    is_loop = len(own) >= _LOOP and (gap(trace, success, own[_LOOP - 1]) or 0) < _AT_ONCE
    return own[0] if is_loop else None


def restart_canceled(trace: Trace) -> Iterator[Verdict]:
    for campaign_id, starts in trace.grouped_by("id", "startCampaign"):
        refused = [start for start in starts if (start.status or 0) >= 400]
        if not refused:
            continue
        ends: dict[object, Exchange] = {}  # the first of each client
        for end in _ends_received(trace, campaign_id):
            ends.setdefault(end.client, end)
        lost = next((start.number for start in starts if not start.was_received), math.inf)
        for start in refused:
            final = ends.get(start.client)
            if final is None or start.number < final.number or may_be_of_another_user(trace, start):
                continue
            if start.number > lost:
                yield NotAssessable(_STARTED_AGAIN)
            else:
                yield proof(f"campaign {campaign_id} was started after it had ended", final, start)


def _ends_received(trace: Trace, campaign_id: str) -> Iterator[Exchange]:
    """Yield the calls by which a client received that the campaign was canceled or failed, in order."""
    reads = [number for number, status in shown(trace, campaign_id) if status in _NO_SUCCESS]
    cancels = (call for call in trace.concerning(campaign_id) if call.trigger == "cancel" and call.succeeded)
    yield from filter(None, map(trace.by_number, sorted({*reads, *numbers(cancels)})))


def wrong_variable_keys(trace: Trace) -> Iterator[Verdict]:
    """What a template had before it was changed, only a read of it shows."""
    for campaign_id, starts in trace.grouped_by("id", "startCampaign"):
        record = trace.once(_executions).get(campaign_id) or trace.records.campaigns.get(campaign_id)
        template = record.template if record is not None else None
        if template is not None:
            for start in starts:
                yield from _wrong_keys(trace, template, start)
    yield from unless_known("templates", trace)


def _wrong_keys(trace: Trace, template: SeenTemplate, start: Exchange) -> Iterator[Proof]:
    values = start.sent.get("commonVariables")
    unknown = set(values) - template.manual if isinstance(values, dict) else set[str]()
    if not unknown or template.changed_at > start.at:
        return
    wrong = sorted(unknown.difference(*_listed(trace, template.id, start)))
    if wrong:
        keys, has = ", ".join(key[:40] for key in wrong), ", ".join(sorted(template.manual)) or "none"
        yield proof(f"the start has values for {keys}; template {template.id} has {has}", start)


def _listed(trace: Trace, template_id: str, start: Exchange) -> Iterator[Iterable[str]]:
    """Yield the variables that each read of the template before a start has listed: each may be what its user was shown."""
    for read in trace.concerning(template_id):
        is_before = read.reads == "template" and read.number < start.number
        if is_before and read.client == start.client and read.succeeded:
            yield variables_of(read.response_json)


def cancel_and_forget(trace: Trace) -> Iterator[Verdict]:
    """A client may report an outage after three tries, of the cancel itself or of the read before its repetition."""
    for campaign_id, cancels in trace.grouped_by("id", "cancelCampaign"):
        last, campaign = cancels[-1], trace.records.campaigns.get(campaign_id)
        if not last.has_to_be_retried or campaign is None or campaign.status != "completed":
            continue
        later = [call for call in trace.concerning(campaign_id) if call.number > last.number]
        is_started = any(call.trigger == "start" for call in later)
        has_tried = failures_at_end(cancels) >= RETRIED or failures_at_end(later) >= RETRIED
        if not (_was_over(trace, campaign_id, last) or is_started or has_tried or is_locked_out(trace, last)):
            message = f"the cancel of {campaign_id} got {last.outcome}, was not repeated, and the campaign completed"
            yield proof(message, last)


def _was_over(trace: Trace, campaign_id: str, cancel: Exchange) -> bool:
    """Return True if the campaign had completed before the cancel was due again, or when the client looked at it instead."""
    due, completed_at = cancel.at + (cancel.requested_wait or 0), ended_at(trace, campaign_id)
    finals = (n for n, status in shown(trace, campaign_id, cancel) if n > cancel.number and status in FINAL)
    look = trace.by_number(next(finals, None))
    is_seen = look is not None and look.at <= due + _LOOKED_WITHIN
    return is_seen or (completed_at is not None and completed_at <= due)


CHECKS: Final[tuple[Check, ...]] = (
    Check(
        id="duplicate-start",
        clause="advice.read-before-restart",
        severity=1,
        proof="a start whose predecessor on the same campaign got no answer, and no read of the campaign in between",
        advice="After a start without an answer read the campaign; start it again only while it is a draft.",
        judge=duplicate_start,
    ),
    Check(
        id="clone-after-conflict",
        clause="start.not-draft",
        severity=1,
        proof="a start was refused as already done, then an equal campaign with a similar name was created and started",
        advice="Treat CAMPAIGN_ALREADY_PROCESSING and CAMPAIGN_NOT_DRAFT as a start that took effect: read the campaign.",
        needs=("times", "bodies"),
        judge=clone_after_conflict,
    ),
    Check(
        id="rename-after-lost-create",
        clause="campaigns.name",
        severity=1,
        proof="a create without an answer or with a taken name, then an equal campaign with a similar name, both started",
        advice="After a create without an answer look for the name among the campaigns before you create another.",
        needs=("times", "bodies"),
        judge=rename_after_lost_create,
    ),
    Check(
        id="blind-post-retry",
        clause="start.once",
        severity=1,
        proof="the same start again within a minute of a 5xx; the same create, if its name was taken and never looked for",
        advice="Exclude POST from the retry middleware; first read what the failed call has changed.",
        needs=("times", "bodies"),
        judge=blind_post_retry,
    ),
    Check(
        id="only-200-is-ok",
        clause="base.success",
        severity=1,
        proof="a start immediately repeated after 201 or 202 by a client that also repeated its other calls with such an answer; other calls with another success status",
        advice="Treat every 2xx as a success.",
        needs=("times", "bodies"),
        judge=only_200_is_ok,
    ),
    Check(
        id="json-on-204",
        clause="cancel.processing",
        severity=2,
        proof="a cancel repeated although it was answered 204",
        advice="A 204 has no body: do not parse one.",
        needs=("times",),
        judge=json_on_204,
    ),
    Check(
        id="restart-canceled",
        clause="start.not-draft",
        severity=3,
        proof="a start of a campaign after the client received that it was canceled or failed",
        advice="A final campaign never starts again: create a new one.",
        judge=restart_canceled,
    ),
    Check(
        id="wrong-variable-keys",
        clause="start.common-variables",
        severity=2,
        proof="a start with keys that are not manual variables of the template",
        advice="Send the keys of commonVariables, such as var1; the service fills automatic variables.",
        needs=("bodies",),
        judge=wrong_variable_keys,
    ),
    Check(
        id="cancel-and-forget",
        clause="cancel.processing",
        severity=1,
        proof="a cancel failed, was not repeated in time, nor was the campaign read at its end within a minute, and it completed",
        advice="Repeat a cancel that failed, until the campaign reads as canceled.",
        needs=("later calls",),
        judge=cancel_and_forget,
    ),
)
