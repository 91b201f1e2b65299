"""
Campaigns as seed data, with their history: drafts, campaigns running since an instant, and ones that have ended.

1. A campaign passes the checks of creating and starting it; what a call would refuse is a problem here.
2. An execution's sends follow from its start, its audience and its cadence: a state that contradicts them, such as
   `completed` before the last send, is a problem that names the instant.
3. Of a completed campaign one of the two instants is enough, since the other follows from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from mockserver.contract import schemas
from mockserver.contract.filters import PLATFORMS
from mockserver.contract.lifecycles import CAMPAIGN
from mockserver.contract.limits import CAMPAIGN_NAME_MAX_CHARS
from mockserver.core.instants import MILLISECOND, Instant, as_shown, format_milliseconds
from mockserver.core.operations import campaigns, sending
from mockserver.core.operations import campaigns as verbs
from mockserver.core.state.calls import ApiError
from mockserver.core.state.records import Campaign, Execution, SendSchedule
from mockserver.scenario.seeding import Entry, Seeding

_DRAFT, _RUNNING, _COMPLETED = "draft", "processing", "completed"
_CADENCE = 60
_OF_A_RUN = ("startedAt", "completedAt", "commonVariables", "executionId")


class _Past(NamedTuple):
    """When a run began and ended, and its schedule of sends; `ended_at` is None while it goes on."""

    started_at: Instant
    ended_at: Instant | None
    schedule: SendSchedule


def seed_campaigns(seeding: Seeding, entries: Sequence[Entry], path: str) -> None:
    for number, entry in enumerate(entries):
        at = f"{path}/{number}"
        found = len(seeding.problems)
        campaign_id = seeding.assign_id("campaigns", "campaign_", entry, at)
        template_id = entry.get("templateId", next(iter(seeding.tenant.templates), None))
        if template_id not in seeding.tenant.templates:
            seeding.add_problem(f"{at}/templateId", template_id, "a template of the tenant", seeding.tenant.templates)
        for problem in schemas.check("filters", entry.get("filters", [])):
            seeding.add_problem(f"{at}/filters{problem.pointer}", problem.found, problem.wanted)
        _check_order(seeding, entry, at)
        if len(seeding.problems) == found:
            _make(seeding, entry, _campaign(seeding, entry, campaign_id, str(template_id)), at)


def _campaign(seeding: Seeding, entry: Entry, campaign_id: str, template_id: str) -> Campaign:
    return Campaign(
        seq=seeding.sandbox.next_seq(),
        id=campaign_id,
        name=entry.get("name", campaign_id[:CAMPAIGN_NAME_MAX_CHARS]),
        description=entry.get("description"),
        platform=entry.get("platform", PLATFORMS[0]),
        template_id=template_id,
        cadence=int(entry.get("cadence", _CADENCE)),
        filters=entry.get("filters"),
        created_at=seeding.sandbox.now,
        status=entry.get("status", CAMPAIGN.initial),
        state_version=seeding.sandbox.next_number("state_version"),
    )


def _check_order(seeding: Seeding, entry: Entry, path: str) -> None:
    """Refuse what a state cannot have, and instants that are not in their order."""
    status = entry.get("status", _DRAFT)
    unfit = {_DRAFT: _OF_A_RUN, _RUNNING: ("completedAt",)}.get(status, ())
    if status == "canceled" and "startedAt" not in entry:
        unfit = _OF_A_RUN  # of a draft that was canceled
    for key in unfit:
        if key in entry:
            need = " without startedAt" if status == "canceled" else ""
            seeding.add_problem(f"{path}/{key}", entry[key], f"no {key}: the campaign is {status}{need}")
    given = [key for key in ("createdAt", "startedAt", "completedAt") if key in entry]
    instants = [seeding.instant(entry, key, path, 0) for key in given]
    for key, instant in zip(given, instants, strict=True):
        if instant > seeding.sandbox.now:
            seeding.add_problem(
                f"{path}/{key}", entry[key], f"no instant after now, {format_milliseconds(seeding.sandbox.now)}"
            )
    for place, (earlier, later) in enumerate(pairwise(instants)):
        if later < earlier:
            key, before = given[place + 1], given[place]
            seeding.add_problem(f"{path}/{key}", entry[key], f"no instant before {before}, {entry[before]}")


def _make(seeding: Seeding, entry: Entry, campaign: Campaign, path: str) -> None:
    try:
        verbs.check_new(seeding.sandbox, seeding.tenant, campaign)
        execution = _started(seeding, entry, campaign) if _has_run(entry) else None
    except ApiError as refusal:
        came, wanted = entry.get("name", campaign.id), f"what {refusal.code} lets pass: {refusal.reason}"
        seeding.add_problem(f"{path}{_place(refusal.location)}", came, wanted)
        return
    if execution is None:
        created_at = seeding.instant(entry, "createdAt", path, campaign.created_at)
        _store(seeding, replace(campaign, created_at=created_at), None)
        return
    past = _past(seeding, entry, campaign, execution.schedule, path)
    if past is None:
        return
    execution_id = _execution_id(seeding, entry, execution, path)
    seeding.created.setdefault("executions", []).append(execution_id)
    created_at = seeding.instant(entry, "createdAt", path, past.started_at)
    _store(
        seeding,
        replace(campaign, created_at=created_at, execution_ids=(execution_id,)),
        replace(execution, id=execution_id, status=campaign.status, **past._asdict()),
    )


def _has_run(entry: Entry) -> bool:
    """True but for a draft, and for a draft that was canceled."""
    return "startedAt" in entry or entry.get("status") in (_RUNNING, _COMPLETED, "failed")


def _started(seeding: Seeding, entry: Entry, campaign: Campaign) -> Execution:
    """The execution as a start would make it now, which refuses what a start does."""
    sandbox, tenant = seeding.sandbox, seeding.tenant
    template = campaigns.require_sendable_template(sandbox, tenant, campaign)
    values = campaigns.common_variables(sandbox, template, entry.get("commonVariables", {}))
    chats = campaigns.select_targets(sandbox, tenant, campaign)
    return campaigns.plan_execution(sandbox, tenant, campaign, template, values, chats)


def _place(at: str) -> str:
    """The place in an entry of what a call names by its body, or by its path."""
    return at if at.startswith("/") else ""


def _execution_id(seeding: Seeding, entry: Entry, execution: Execution, path: str) -> str:
    given = entry.get("executionId")
    if given is not None and (seeding.sandbox.has_id(given) or any(given in ids for ids in seeding.created.values())):
        seeding.add_problem(f"{path}/executionId", given, "an id that nothing in the sandbox has yet")
    return str(given or execution.id)


def _past(seeding: Seeding, entry: Entry, campaign: Campaign, planned: SendSchedule, path: str) -> _Past | None:
    """How the run went by the arithmetic of its sends; None, with a problem, where the state contradicts that."""
    now, status, total = seeding.sandbox.now, campaign.status, planned.total
    rate = planned.segments[0].per_minute
    ended_at = seeding.instant(entry, "completedAt", path, now)
    default = _start_of(ended_at, total, rate, now) if status == _COMPLETED else ended_at
    started_at = seeding.instant(entry, "startedAt", path, default)
    plan = sending.plan(total, as_shown(started_at), rate, planned.failed)
    last = max(started_at, (sending.processed_at(plan, total - 1) or 0) if total else started_at)
    how = (
        f"{total} sends at {rate} a minute from {format_milliseconds(started_at)} on end at {format_milliseconds(last)}"
    )
    if status != _COMPLETED:
        if last <= ended_at:
            seeding.add_problem(f"{path}/status", status, f"completed, since it had nothing left to send: {how}")
            return None
        return (
            _Past(started_at, None, plan)
            if status == _RUNNING
            else _Past(started_at, ended_at, sending.stop_after(plan, ended_at))
        )
    shown = (as_shown(last), as_shown(max(last - 1, started_at)))  # an end a fraction before a millisecond is cut
    if last > now:
        seeding.add_problem(f"{path}/status", status, f"processing, since its sends are not over: {how}")
    elif "completedAt" in entry and ended_at not in shown:
        seeding.add_problem(f"{path}/completedAt", entry["completedAt"], f"the instant of the last send: {how}")
    else:
        return _Past(started_at, last, plan)
    return None


def _start_of(ended_at: Instant, total: int, rate: int, now: Instant) -> Instant:
    """The start in whole milliseconds of a run whose last send is shown at `ended_at` or, where that is now, just before it."""
    first = sending.plan(total, 0, rate, ())
    span = (sending.processed_at(first, total - 1) or 0) if total else 0
    start = as_shown(ended_at) - as_shown(span)
    return start if start + span <= now else start - MILLISECOND


def _store(seeding: Seeding, campaign: Campaign, execution: Execution | None) -> None:
    """Store the records with the changes of their past in the journal, and have time finish what runs."""
    sandbox, tenant = seeding.sandbox, seeding.tenant
    cause = {"given": campaign.id}

    def note(at: Instant, kind: str, record_id: str, source: str | None, target: str) -> None:
        if source != target:
            sandbox.journal.add_transition(at, kind, record_id, source, target, cause)

    tenant.campaigns[campaign.id] = campaign
    note(campaign.created_at, "campaign", campaign.id, None, CAMPAIGN.initial)
    if execution is None:
        note(sandbox.now, "campaign", campaign.id, CAMPAIGN.initial, campaign.status)
        return
    tenant.executions[execution.id] = execution
    note(execution.started_at, "execution", execution.id, None, _RUNNING)
    note(execution.started_at, "campaign", campaign.id, CAMPAIGN.initial, _RUNNING)
    if execution.ended_at is None:
        sending.schedule_progress_timers(sandbox, tenant, execution)
        return
    note(execution.ended_at, "campaign", campaign.id, _RUNNING, campaign.status)
    note(execution.ended_at, "execution", execution.id, _RUNNING, execution.status)
