"""Judges of campaigns: what was made, started and canceled twice, in the dark, or in vain."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from mockserver.conduct.evidence import Evidence, body_of, client_key, has_failed, numbers, succeeded, was_received
from mockserver.conduct.rules import Proof
from mockserver.contract.endpoints import OPERATIONS
from mockserver.core import ledger
from mockserver.core.instants import MINUTE
from mockserver.core.state.journal import JournalEntry

_LOOKS = ("listCampaigns", "readCampaign", "readExecution")
_CLONED_WITHIN = 60 * MINUTE
_RETRIED_WITHIN = MINUTE
_SAME_RUN = 5 * MINUTE  # who cancels later than that comes back, and may ask again


def duplicate_start(seen: Evidence) -> Iterator[Proof]:
    """Whether the lost start had worked is luck: nobody could know it, so nobody may start again without a look."""
    for campaign_id, starts in seen.grouped_by("id", "startCampaign"):
        for first, again in pairwise(starts):
            is_own = not again.arrived_late and again.n not in seen.transport_repeats
            if not was_received(first) and is_own and not _looked(seen, first, again):
                fate = "had taken effect" if first.applied else "had not reached the service"
                told = f"campaign {campaign_id} was started again with no look at it, after a start without an answer that {fate}"
                yield Proof(told, numbers((first, again)))


def _looked(seen: Evidence, first: JournalEntry, last: JournalEntry) -> bool:
    """True where the client heard a read of that campaign, or of all, in between."""
    wanted = first.call.params.get("id")
    looks = seen.between(first, last, *_LOOKS)
    return any(succeeded(each) and each.call.params.get("id", wanted) == wanted for each in looks)


def blind_post_retry(seen: Evidence) -> Iterator[Proof]:
    """Sessions and uploads are let off: there is nothing that a client could read first."""
    for first in seen.of("createCampaign", "startCampaign"):
        again = seen.next_repetition(first) if has_failed(first) else None
        if again is None or again.arrived_late or again.at - first.at > _RETRIED_WITHIN:
            continue
        if again.n in seen.transport_repeats:
            continue
        cut_start = first.operation == "startCampaign" and not was_received(first)  # that is duplicate-start
        if not cut_start and not _looked(seen, first, again):
            came = f"status {first.status}" if was_received(first) else "no answer"
            yield Proof(f"{first.operation} was repeated byte for byte after {came}", numbers((first, again)))


def clone_after_conflict(seen: Evidence) -> Iterator[Proof]:
    yield from _clones(seen, "startCampaign")


def rename_after_lost_create(seen: Evidence) -> Iterator[Proof]:
    yield from _clones(seen, "createCampaign")


def _clones(seen: Evidence, cause: str) -> Iterator[Proof]:
    """The ledger's clones that were started, by the operation whose answer led to them."""
    starts = {execution.campaign_id: seen.creating_exchange(execution.id) for _, execution in seen.executions()}
    for row in ledger.clones(seen.sandbox, seen.made):
        why, start = seen.by_number(row["exchanges"][0]), starts.get(row["cloneId"])
        original = starts.get(row["originalId"])
        if why is None or start is None or original is None or why.operation != cause:
            continue
        if start.at - original.at <= _CLONED_WITHIN:
            told = (
                f"campaign {row['cloneId']} is {row['originalId']} once more, made after {row['why']} and started too"
            )
            yield Proof(told, (*row["exchanges"], start.n))


def only_200_is_ok(seen: Evidence) -> Iterator[Proof]:
    """Starts alone: a create sent twice may well be meant, and its second answer says whether the name is taken."""
    for first in seen.of("startCampaign"):
        if not succeeded(first) or first.status == 200:
            continue
        again = seen.next_repetition(first)
        if again is None or not was_received(again) or again.at - first.at > _RETRIED_WITHIN:
            continue
        if client_key(again) == client_key(first) and not seen.between(
            first, again, *OPERATIONS
        ):  # whoever goes on took the first one for success
            yield Proof(f"{first.operation} was repeated after {first.status}", numbers((first, again)))


def json_on_204(seen: Evidence) -> Iterator[Proof]:
    for campaign_id, cancels in seen.grouped_by("id", "cancelCampaign"):
        done = next((each for each in cancels if succeeded(each)), None)
        if done is None:
            continue
        later = [each for each in cancels if each.n > done.n and each.at - done.at <= _SAME_RUN]
        again = [each for each in later if client_key(each) == client_key(done)]
        if again:
            told = f"campaign {campaign_id} was canceled again after {done.status}, the success of a cancel"
            yield Proof(told, numbers((done, again[0])))


def restart_canceled(seen: Evidence) -> Iterator[Proof]:
    for campaign_id, starts in seen.grouped_by("id", "startCampaign"):
        for start in starts:
            told = _told_final(seen, campaign_id, start) if (start.status or 0) >= 400 else None
            lost = [each for each in starts if each.n < start.n and not was_received(each)]
            if told is not None and not lost:
                yield Proof(f"campaign {campaign_id} was started after it had ended", numbers((told, start)))


def _told_final(seen: Evidence, campaign_id: str, before: JournalEntry) -> JournalEntry | None:
    """The exchange that told the client that the campaign was canceled or failed."""
    for each in seen.concerning(campaign_id):
        ended = each.operation == "cancelCampaign" or (
            each.operation == "readCampaign" and seen.answer_field(each, "status") in ("canceled", "failed")
        )
        if each.n < before.n and succeeded(each) and ended:
            return each
    return None


def wrong_variable_keys(seen: Evidence) -> Iterator[Proof]:
    by_campaign = {execution.campaign_id: execution.template for _, execution in seen.executions()}
    starts = dict(seen.grouped_by("id", "startCampaign"))
    for tenant, campaign in seen.campaigns():
        template = by_campaign.get(campaign.id) or tenant.templates.get(campaign.template_id)
        manual = {each.key for each in template.variables if each.source is None} if template else set()
        for start in starts.get(campaign.id, ()):
            given = body_of(start).get("commonVariables")
            wrong = sorted(set(given) - manual) if isinstance(given, dict) else []
            if template and wrong:
                keys, known = ", ".join(each[:40] for each in wrong), ", ".join(sorted(manual)) or "none"
                yield Proof(f"the start sent {keys}; template {template.id} has {known}", (start.n,))


def stale_template(seen: Evidence) -> Iterator[Proof]:
    templates = {campaign.id: campaign.template_id for _, campaign in seen.campaigns()}
    for campaign_id, starts in seen.grouped_by("id", "startCampaign"):
        for first, again in pairwise(starts):
            if seen.code(first) != "CAMPAIGN_MISSING_COMMON_VARIABLES":
                continue
            reads = [each for each in seen.concerning(templates.get(campaign_id)) if each.operation == "readTemplate"]
            read_after = any(first.n < each.n < again.n for each in reads)
            before = [each for each in reads if each.n < first.n and succeeded(each)]
            if not read_after and (seen.code(again) == seen.code(first) or _lacked(seen, before, again)):
                told = (
                    f"campaign {campaign_id} was started again, and its template not read, after a variable was missing"
                )
                yield Proof(told, numbers((*before[-1:], first, again)))


def _lacked(seen: Evidence, reads: list[JournalEntry], start: JournalEntry) -> bool:
    """True where the start sends a variable that the template had not when it was last read."""
    if not reads:
        return False
    known = {
        each.get("key") for each in seen.answer_field(reads[-1], "commonVariables") or [] if isinstance(each, dict)
    }
    given = body_of(start).get("commonVariables")
    return isinstance(given, dict) and bool(set(given) - known)


def cancel_and_forget(seen: Evidence) -> Iterator[Proof]:
    ended = {campaign.id: campaign.status for _, campaign in seen.campaigns()}
    for campaign_id, cancels in seen.grouped_by("id", "cancelCampaign"):
        last = cancels[-1]
        failed = has_failed(last) or last.status == 429
        if failed and ended.get(campaign_id) == "completed" and not _was_over(seen, campaign_id, last):
            came = f"status {last.status}" if was_received(last) else "no answer"
            yield Proof(f"the cancel of {campaign_id} met {came}, was not repeated, and everything was sent", (last.n,))


def _was_over(seen: Evidence, campaign_id: str, cancel: JournalEntry) -> bool:
    ended = seen.ended_at(campaign_id)
    return ended is not None and ended <= cancel.at
