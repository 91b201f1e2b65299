"""Judges of campaigns: creates, starts and cancels that the client repeated, or sent without reading first."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from mockserver.contract.endpoints import OPERATIONS
from mockserver.core import ledger
from mockserver.core.instants import HOUR, MINUTE, SECOND
from mockserver.core.state.journal import JournalEntry
from mockserver.judge.client.former_evidence import (
    FINAL,
    Evidence,
    body_of,
    client_key,
    has_failed,
    has_to_retry,
    numbers,
    outcome,
    request_of,
    requested_wait,
    succeeded,
    was_received,
)
from mockserver.judge.client.polling import RETRIED, failures_at_end
from mockserver.judge.client.rules import Proof

_READS = ("listCampaigns", "readCampaign", "readExecution")
_CLONED_WITHIN = HOUR
_RETRIED_WITHIN = MINUTE
# Of a call that was repeated at once after a connection that was in use before had ended without a byte.
_BELOW = "; if your code sent it once, its HTTP library has sent it again"
_AT_ONCE = 5 * SECOND
_LOOP = 2  # repetitions of a cancel
_LOOKED_WITHIN = MINUTE  # a client that backs off after a failed cancel has looked by then
_SAME_RUN = 5 * MINUTE  # a later cancel or create is a new decision of the user, not a retry


def duplicate_start(evidence: Evidence) -> Iterator[Proof]:
    """The client cannot know whether a lost start took effect, and so may not start again without a read."""
    for campaign_id, first, again in _repeated_starts(evidence):
        is_own = not evidence.transport_repeats.get(again.n)
        is_retry = client_key(first) == client_key(again) and not evidence.may_be_of_another_user(again)
        if not was_received(first) and is_own and is_retry and not _has_read(evidence, first, again):
            effect = "had been refused" if first.error is not None else "had not reached the service"
            effect = "had taken effect" if first.applied else effect
            effect = "was still on its way" if first.n > again.n else effect
            effect = effect if evidence.run.knows_effects else "may have taken effect"
            message = f"campaign {campaign_id} was started again without a read, after a start without an answer, which {effect}"
            message += _BELOW * (again.n in evidence.transport_repeats)
            yield Proof(message, numbers((first, again)))


def _repeated_starts(evidence: Evidence) -> Iterator[tuple[str, JournalEntry, JournalEntry]]:
    """Yield each start that a client sent after another one of the same campaign, with the campaign's id and the earlier start."""
    for campaign_id, starts in evidence.grouped_by("id", "startCampaign"):
        as_sent = sorted(starts, key=lambda start: start.place_as_sent)
        yield from ((campaign_id, first, again) for first, again in pairwise(as_sent))


def _has_read(evidence: Evidence, first: JournalEntry, last: JournalEntry) -> bool:
    """Return True if the client received a read of that campaign, or of all campaigns, in between, or may have."""
    campaign_id = first.call.params.get("id")
    reads = evidence.between(first, last, *_READS)
    of_campaign = (read for read in reads if read.call.params.get("id", campaign_id) == campaign_id)
    return any(map(evidence.may_have_received, of_campaign))


def blind_post_retry(evidence: Evidence) -> Iterator[Proof]:
    """Sessions and uploads are exempt: a client has nothing that it could read first. A create is judged by what it left."""
    creates = _creates_by_request(evidence)
    for first in evidence.of("createCampaign", "startCampaign"):
        again = evidence.next_repetition(first) if has_failed(first) else None
        if again is None or again.arrived_late or again.at - first.at > _RETRIED_WITHIN:
            continue
        if evidence.transport_repeats.get(again.n):
            continue
        if first.operation == "startCampaign" and evidence.may_be_of_another_user(again):
            continue
        is_duplicate_start = first.operation == "startCampaign" and not was_received(first)
        left = _left_by_creates(evidence, creates, first, again) if first.operation == "createCampaign" else ""
        if not is_duplicate_start and left is not None and not _has_read(evidence, first, again):
            message = f"{first.operation} was repeated byte for byte after {outcome(first)}{left}"
            message += _BELOW * (again.n in evidence.transport_repeats)
            yield Proof(message, numbers((first, again)))


class _Creates(NamedTuple):
    """The numbers of equal creates that took effect, and of those that were refused since their name was taken."""

    made: list[int]
    taken: list[int]


def _creates_by_request(evidence: Evidence) -> Mapping[Any, _Creates]:
    creates: dict[Any, _Creates] = {}
    for create in evidence.of("createCampaign"):
        made, taken = creates.setdefault(request_of(create), _Creates([], []))
        if create.applied:
            made.append(create.n)
        elif evidence.code(create) == "CAMPAIGN_NAME_ALREADY_EXISTS":
            taken.append(create.n)
    return creates


def _left_by_creates(
    evidence: Evidence, creates: Mapping[Any, _Creates], first: JournalEntry, again: JournalEntry
) -> str | None:
    """
    Return what a repeated create has left, as the end of a sentence; None if there is no more than the client knows.

    Names are unique, so that the service refuses the second of two creates that take effect. A client that then looks
    for the campaign and adopts it is correct, and so is one whose first create had not reached the service.
    """
    if first.applied and again.applied:
        return ", and a second campaign was created" if first.tenant_id == again.tenant_id else None
    made, taken = creates[request_of(first)]
    later = bisect_left(made, first.n)
    if later == len(made) or not taken or taken[-1] < made[later]:
        return None
    has_looked = any(look.n > taken[-1] for look in evidence.of("listCampaigns"))
    return None if has_looked else "; its name was taken then, and the client did not look for the campaign"


def clone_after_conflict(evidence: Evidence) -> Iterator[Proof]:
    yield from _clones(evidence, "startCampaign")


def rename_after_lost_create(evidence: Evidence) -> Iterator[Proof]:
    yield from _clones(evidence, "createCampaign")


def _clones(evidence: Evidence, cause: str) -> Iterator[Proof]:
    """
    Yield the ledger's clones that were started, by the operation whose response led to them.

    A campaign that was canceled or has failed never starts again, so that its user can only create another one.
    """
    starts = {execution.campaign_id: evidence.creating_exchange(execution.id) for _, execution in evidence.executions()}
    values = {execution.campaign_id: execution.values for _, execution in evidence.executions()}
    for row in ledger.clones(evidence.run, evidence.made):
        (why, create), start = map(evidence.by_number, row["exchanges"]), starts.get(row["cloneId"])
        original = starts.get(row["originalId"])
        if why is None or create is None or start is None or original is None or why.operation != cause:
            continue
        if values[row["cloneId"]] != values[row["originalId"]]:
            continue  # they send other messages
        if client_key(create) != client_key(why) or _was_canceled_or_failed(evidence, row["originalId"], create):
            continue
        if cause == "createCampaign" and _is_of_another(evidence, row["originalId"], create):
            continue
        if _is_new_decision(evidence, row["originalId"], why, create, start):
            continue
        if start.at - original.at <= _CLONED_WITHIN:
            message = f"campaign {row['cloneId']} is a clone of {row['originalId']}, created after {row['why']} and started too"
            yield Proof(message, (*row["exchanges"], start.n))


def _is_new_decision(
    evidence: Evidence, campaign_id: str, why: JournalEntry, create: JournalEntry, start: JournalEntry
) -> bool:
    """Return True for a start long after the trouble, if its client was shown the first campaign before it created another."""
    is_shown = any(why.n < n < create.n for n, _ in evidence.shown(campaign_id, create))
    return is_shown and start.at - why.at > _SAME_RUN


def _is_of_another(evidence: Evidence, campaign_id: str, create: JournalEntry) -> bool:
    """Return True if another client has created the campaign, whose name is taken then."""
    made = evidence.creating_exchange(campaign_id)
    return made is not None and client_key(made) != client_key(create)


def _was_canceled_or_failed(evidence: Evidence, campaign_id: str, create: JournalEntry) -> bool:
    """Return True if the campaign was canceled or had failed when the client created another one."""
    end = evidence.end_of(campaign_id)
    return end is not None and end.target in ("canceled", "failed") and end.at <= create.at


def only_200_is_ok(evidence: Evidence) -> Iterator[Proof]:
    """Only starts: a user may mean to create twice, and the second response shows whether the name is taken."""
    for first in evidence.of("startCampaign"):
        if not succeeded(first) or first.status == 200:
            continue
        again = evidence.next_repetition(first)
        if again is None or not was_received(again) or again.at - first.at > _RETRIED_WITHIN:
            continue
        if evidence.may_be_of_another_user(again):
            continue
        if client_key(again) == client_key(first) and not evidence.between(
            first, again, *OPERATIONS
        ):  # a client that continues took the first for a success
            yield Proof(f"{first.operation} was repeated after {first.status}", numbers((first, again)))


def json_on_204(evidence: Evidence) -> Iterator[Proof]:
    for campaign_id, cancels in evidence.grouped_by("id", "cancelCampaign"):
        success = next((cancel for cancel in cancels if succeeded(cancel)), None)
        again = None if success is None else _canceled_again(evidence, success, cancels)
        if success is not None and again is not None and not evidence.is_invited(success, again):
            message = f"campaign {campaign_id} was canceled again after {success.status}, the success of a cancel"
            yield Proof(message, numbers((success, again)))


def _canceled_again(evidence: Evidence, success: JournalEntry, cancels: Sequence[JournalEntry]) -> JournalEntry | None:
    """Return the client's next cancel after one that succeeded, unless it is another decision or may be another user's."""
    later = (each for each in cancels if each.follows >= success.n and each.at - success.at <= _SAME_RUN)
    own = [cancel for cancel in later if client_key(cancel) == client_key(success)]
    if not own or not evidence.may_be_of_another_user(own[0]):
        return own[0] if own else None
    # Two users may have clicked; a client that fails at an empty body cancels again and again.
    is_loop = len(own) >= _LOOP and (evidence.gap(success, own[_LOOP - 1]) or 0) < _AT_ONCE
    return own[0] if is_loop else None


def restart_canceled(evidence: Evidence) -> Iterator[Proof]:
    for campaign_id, starts in evidence.grouped_by("id", "startCampaign"):
        ends: dict[Any, JournalEntry] = {}  # the first of each client
        for end in _ends_received(evidence, campaign_id):
            ends.setdefault(client_key(end), end)
        lost = next((start.n for start in starts if not was_received(start)), math.inf)
        for start in starts:
            final = ends.get(client_key(start))
            is_refused = (start.status or 0) >= 400 and final is not None and final.n < start.n <= lost
            if final is not None and is_refused and not evidence.may_be_of_another_user(start):
                yield Proof(f"campaign {campaign_id} was started after it had ended", numbers((final, start)))


def _ends_received(evidence: Evidence, campaign_id: str) -> Iterator[JournalEntry]:
    """Yield the calls by which a client received that the campaign was canceled or failed, in order."""
    shown = (n for n, status in evidence.shown(campaign_id) if status in ("canceled", "failed"))
    cancels = (
        call.n for call in evidence.concerning(campaign_id) if call.operation == "cancelCampaign" and succeeded(call)
    )
    yield from filter(None, map(evidence.by_number, sorted({*shown, *cancels})))


def wrong_variable_keys(evidence: Evidence) -> Iterator[Proof]:
    """What a template had before it was changed, only a read of it shows."""
    by_campaign = {execution.campaign_id: execution.template for _, execution in evidence.executions()}
    starts = dict(evidence.grouped_by("id", "startCampaign"))
    for tenant, campaign in evidence.campaigns():
        template = by_campaign.get(campaign.id) or tenant.templates.get(campaign.template_id)
        manual = {variable.key for variable in template.variables if variable.source is None} if template else set()
        for start in starts.get(campaign.id, ()):
            values = body_of(start).get("commonVariables")
            unknown = set(values) - manual if isinstance(values, dict) else set[str]()
            wrong = sorted(unknown.difference(*_listed(evidence, campaign.template_id, start))) if unknown else []
            is_changed = template is not None and template.updated_at > start.at
            if template and wrong and not is_changed:
                keys, has = ", ".join(key[:40] for key in wrong), ", ".join(sorted(manual)) or "none"
                message = f"the start has values for {keys}; template {template.id} has {has}"
                yield Proof(message, (start.n,))


def _listed(evidence: Evidence, template_id: str, start: JournalEntry) -> Iterator[set[str]]:
    """Yield the variables that each read of the template before a start has listed: each may be what its user was shown."""
    for read in evidence.concerning(template_id):
        if (
            read.operation == "readTemplate"
            and read.n < start.n
            and client_key(read) == client_key(start)
            and succeeded(read)
        ):
            yield _listed_in(evidence, read)


def _listed_in(evidence: Evidence, read: JournalEntry) -> set[str]:
    rows = evidence.answer_field(read, "commonVariables") or []
    return {str(row.get("key")) for row in rows if isinstance(row, dict)}


def stale_template(evidence: Evidence) -> Iterator[Proof]:
    templates = {campaign.id: campaign.template_id for _, campaign in evidence.campaigns()}
    for campaign_id, first, again in _repeated_starts(evidence):
        if evidence.code(first) != "CAMPAIGN_MISSING_COMMON_VARIABLES":
            continue
        calls = evidence.concerning(templates.get(campaign_id))
        reads = [call for call in calls if call.operation == "readTemplate"]
        is_read_after = any(first.n < read.n < again.n for read in reads)
        before = [read for read in reads if read.n < first.n and succeeded(read)]
        values = body_of(again).get("commonVariables")
        has_more = bool(before) and isinstance(values, dict) and bool(set(values) - _listed_in(evidence, before[-1]))
        if not is_read_after and (evidence.code(again) == evidence.code(first) or has_more):
            message = (
                f"campaign {campaign_id} was started again without a read of its template, after a variable was missing"
            )
            yield Proof(message, numbers((*before[-1:], first, again)))


def cancel_and_forget(evidence: Evidence) -> Iterator[Proof]:
    """A client may report an outage after three tries, of the cancel itself or of the read before its repetition."""
    ended = {campaign.id: campaign.status for _, campaign in evidence.campaigns()}
    for campaign_id, cancels in evidence.grouped_by("id", "cancelCampaign"):
        last = cancels[-1]
        if not has_to_retry(last) or ended.get(campaign_id) != "completed":
            continue
        later = [call for call in evidence.concerning(campaign_id) if call.n > last.n]
        is_started = any(call.operation == "startCampaign" for call in later)
        has_tried = failures_at_end(cancels) >= RETRIED or failures_at_end(later) >= RETRIED
        if not (_was_over(evidence, campaign_id, last) or is_started or has_tried or evidence.is_locked_out(last)):
            message = f"the cancel of {campaign_id} got {outcome(last)}, was not repeated, and the campaign completed"
            yield Proof(message, (last.n,))


def _was_over(evidence: Evidence, campaign_id: str, cancel: JournalEntry) -> bool:
    """Return True if the campaign had completed before the cancel was due again, or when the client looked at it instead."""
    due, ended_at = cancel.at + (requested_wait(cancel) or 0), evidence.ended_at(campaign_id)
    shown = (n for n, status in evidence.shown(campaign_id, cancel) if n > cancel.n and status in FINAL)
    look = evidence.by_number(next(shown, 0))
    return (ended_at is not None and ended_at <= due) or (look is not None and look.at <= due + _LOOKED_WITHIN)
