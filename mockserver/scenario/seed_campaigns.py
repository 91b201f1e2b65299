"""
Campaigns as seed data, with their history: drafts, campaigns running since an instant, and ones that have ended.

1. A campaign passes the checks of creating and starting it; what a call would refuse is a problem.
2. An execution's sends follow from its start, its audience and its cadence: a state that contradicts them, such as
   `completed` before the last send, is a problem that names the instant.
3. Of a completed campaign one of the two instants is enough, since the other follows from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from mockserver.contract import schemas
from mockserver.contract.filters import PLATFORMS
from mockserver.contract.lifecycles import CAMPAIGN
from mockserver.contract.limits import CAMPAIGN_NAME_MAX_CHARS
from mockserver.core.instants import MILLISECOND, Instant, as_shown, format_milliseconds
from mockserver.core.operations import campaigns, sending
from mockserver.core.state.calls import ApiError
from mockserver.core.state.records import Campaign, Execution, SendSchedule
from mockserver.core.state.sandbox import Scope
from mockserver.scenario.seed_context import Entry, SeedContext, placed

_DRAFT, _RUNNING, _COMPLETED = "draft", "processing", "completed"
_CADENCE = 60
_OF_A_RUN = ("startedAt", "completedAt", "commonVariables", "executionId")


class _Past(NamedTuple):
    """Start, end and send schedule of an execution; `ended_at` is None while it runs."""

    started_at: Instant
    ended_at: Instant | None
    schedule: SendSchedule


def seed_campaigns(context: SeedContext, entries: Sequence[Entry], path: str) -> None:
    seq = context.shared_seq(entries)
    for at, entry in placed(entries, path):
        count_before = len(context.problems)
        campaign_id = context.assign_id("campaigns", "campaign_", entry, at)
        template_id = entry.get("templateId", next(iter(context.tenant.templates), None))
        if template_id not in context.tenant.templates:
            context.problems.add(f"{at}/templateId", template_id, "a template of the tenant", context.tenant.templates)
        for problem in schemas.check("filters", entry.get("filters", [])):
            context.problems.add(f"{at}/filters{problem.pointer}", problem.found, problem.wanted)
        _check_order(context, entry, at)
        if len(context.problems) == count_before:
            campaign = Campaign(
                seq=seq,
                id=campaign_id,
                name=entry.get("name", campaign_id[:CAMPAIGN_NAME_MAX_CHARS]),
                description=entry.get("description"),
                platform=entry.get("platform", PLATFORMS[0]),
                template_id=str(template_id),
                cadence=int(entry.get("cadence", _CADENCE)),
                filters=entry.get("filters"),
                created_at=context.sandbox.now,
                status=entry.get("status", CAMPAIGN.initial),
                state_version=context.sandbox.next_number("state_version"),
            )
            _add(context, entry, campaign, at)


def _check_order(context: SeedContext, entry: Entry, path: str) -> None:
    """Refuse fields that the state excludes, and instants in the wrong order."""
    status = entry.get("status", _DRAFT)
    unfit = {_DRAFT: _OF_A_RUN, _RUNNING: ("completedAt",)}.get(status, ())
    if status == "canceled" and "startedAt" not in entry:
        unfit = _OF_A_RUN  # of a draft that was canceled
    for key in unfit:
        if key in entry:
            need = " without startedAt" if status == "canceled" else ""
            context.problems.add(f"{path}/{key}", entry[key], f"no {key}: the campaign is {status}{need}")
    given = [key for key in ("createdAt", "startedAt", "completedAt") if key in entry]
    instants = [context.instant(entry, key, path, 0) for key in given]
    for key, instant in zip(given, instants, strict=True):
        if instant > context.sandbox.now:
            context.problems.add(
                f"{path}/{key}",
                entry[key],
                f"an instant that is not after now, {format_milliseconds(context.sandbox.now)}",
            )
    for place, (earlier, later) in enumerate(pairwise(instants)):
        if later < earlier:
            key, before = given[place + 1], given[place]
            context.problems.add(
                f"{path}/{key}", entry[key], f"an instant that is not before {before}, {entry[before]}"
            )


def _add(context: SeedContext, entry: Entry, campaign: Campaign, path: str) -> None:
    # A draft has not run, nor has a campaign that was canceled as a draft.
    has_run = "startedAt" in entry or campaign.status in (_RUNNING, _COMPLETED, "failed")
    try:
        scope = Scope(context.sandbox, context.tenant)
        campaigns.check_new(scope, campaign.name, campaign.platform, campaign.template_id, campaign.filters)
        execution = _started(context, entry, campaign) if has_run else None
    except ApiError as refusal:
        wanted = f"a campaign that is not refused with {refusal.code}: {refusal.reason}"
        at = refusal.location if refusal.location.startswith("/") else ""  # a pointer into the body, or no place of it
        context.problems.add(f"{path}{at}", entry.get("name", campaign.id), wanted)
        return
    if execution is None:
        created_at = context.instant(entry, "createdAt", path, campaign.created_at)
        _store(context, campaign._replace(created_at=created_at), None)
        return
    past = _past(context, entry, campaign, execution.schedule, path)
    if past is None:
        return
    entry = {"executionId": execution.id, **entry}
    execution_id = context.assign_id("executions", "execution_", entry, path, key="executionId")
    created_at = context.instant(entry, "createdAt", path, past.started_at)
    _store(
        context,
        campaign._replace(created_at=created_at, execution_ids=(execution_id,)),
        execution._replace(id=execution_id, status=campaign.status, **past._asdict()),
    )


def _started(context: SeedContext, entry: Entry, campaign: Campaign) -> Execution:
    """Return the execution as a start would create it now; raises ApiError as a start does."""
    scope = Scope(context.sandbox, context.tenant)
    template = campaigns.require_sendable_template(scope, campaign)
    values = campaigns.common_variables(scope.sandbox, template, entry)
    chats = campaigns.select_targets(scope, campaign)
    return campaigns.plan_execution(scope, campaign, template, values, chats)


def _past(context: SeedContext, entry: Entry, campaign: Campaign, planned: SendSchedule, path: str) -> _Past | None:
    """Return the past of a run by the arithmetic of its sends; None, with a problem, if the state contradicts it."""
    now, status, total = context.sandbox.now, campaign.status, planned.total
    rate = planned.segments[0].per_minute
    ended_at = context.instant(entry, "completedAt", path, now)
    default = _start_of(ended_at, total, rate, now) if status == _COMPLETED else ended_at
    started_at = context.instant(entry, "startedAt", path, default)
    plan = sending.plan(total, as_shown(started_at), rate, planned.failed)
    last = max(started_at, (sending.processed_at(plan, total - 1) or 0) if total else started_at)
    how = (
        f"{total} sends at {rate} a minute from {format_milliseconds(started_at)} on end at {format_milliseconds(last)}"
    )
    if status != _COMPLETED:
        if last <= ended_at:
            context.problems.add(f"{path}/status", status, f"completed, since it had nothing left to send: {how}")
            return None
        return (
            _Past(started_at, None, plan)
            if status == _RUNNING
            else _Past(started_at, ended_at, sending.stop_after(plan, ended_at))
        )
    shown = (as_shown(last), as_shown(max(last - 1, started_at)))  # an end a fraction before a millisecond is cut
    if last > now:
        context.problems.add(f"{path}/status", status, f"processing, since its sends are not over: {how}")
    elif "completedAt" in entry and ended_at not in shown:
        context.problems.add(f"{path}/completedAt", entry["completedAt"], f"the instant of the last send: {how}")
    else:
        return _Past(started_at, last, plan)
    return None


def _start_of(ended_at: Instant, total: int, rate: int, now: Instant) -> Instant:
    """Return the start, in whole milliseconds, of a run whose last send is shown at `ended_at` or, if that is now, just before."""
    first = sending.plan(total, 0, rate, ())
    duration = (sending.processed_at(first, total - 1) or 0) if total else 0
    start = as_shown(ended_at) - as_shown(duration)
    return start if start + duration <= now else start - MILLISECOND


def _store(context: SeedContext, campaign: Campaign, execution: Execution | None) -> None:
    """Store the records, add their past transitions to the journal, and schedule the end of a running execution."""
    sandbox, tenant = context.sandbox, context.tenant
    cause = {"given": campaign.id}

    def add_transition(at: Instant, kind: str, record_id: str, source: str | None, target: str) -> None:
        if source != target:
            sandbox.journal.add_transition(at, kind, record_id, source, target, cause)

    tenant.campaigns[campaign.id] = campaign
    add_transition(campaign.created_at, "campaign", campaign.id, None, CAMPAIGN.initial)
    if execution is None:
        add_transition(sandbox.now, "campaign", campaign.id, CAMPAIGN.initial, campaign.status)
        return
    tenant.executions[execution.id] = execution
    add_transition(execution.started_at, "execution", execution.id, None, _RUNNING)
    add_transition(execution.started_at, "campaign", campaign.id, CAMPAIGN.initial, _RUNNING)
    if execution.ended_at is None:
        sending.schedule_progress_timers(sandbox, tenant, execution)
        return
    add_transition(execution.ended_at, "campaign", campaign.id, _RUNNING, campaign.status)
    add_transition(execution.ended_at, "execution", execution.id, _RUNNING, execution.status)
