"""
Campaigns and their executions: create, list, read, start, cancel, and their ends.

Each operation checks first, in the order of `create-check-order` and `start-check-order`, and writes last: a refused
call changes nothing. The sends of an execution are arithmetic (`sending`); a timer only finishes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from mockserver.contract.lifecycles import CAMPAIGN, EXECUTION
from mockserver.contract.limits import own_bound
from mockserver.core.instants import DAY, MILLISECOND, MINUTE, SECOND, Instant, as_shown
from mockserver.core.lifecycle import can_transition, create, transition
from mockserver.core.operations import audiences, sending, templates
from mockserver.core.operations.validation import misspelt_key
from mockserver.core.state.calls import ApiError, Call, Success
from mockserver.core.state.records import Campaign, Chat, Execution, SendSchedule, Template
from mockserver.core.state.sandbox import SandboxState, Scope, require_record
from mockserver.core.state.tenant import Tenant


def unprocessable_error(clause: str, reason: str) -> ApiError:
    """UNPROCESSABLE_REQUEST: well-formed, and not possible in the current state."""
    return ApiError("UNPROCESSABLE_REQUEST", clause=clause, location="path.id", reason=reason)


def require_draft(sandbox: SandboxState, campaign: Campaign) -> None:
    """Raise unless the campaign is a draft; a running one has an error of its own (start.not-draft)."""
    if campaign.status == CAMPAIGN.initial:
        return
    narrow = sandbox.choices["not-draft-vs-already-processing"] == "already-processing"
    running = campaign.status == EXECUTION.initial
    code, clause = (
        ("CAMPAIGN_ALREADY_PROCESSING", "start.already")
        if running and narrow
        else ("CAMPAIGN_NOT_DRAFT", "start.not-draft")
    )
    raise ApiError(
        code,
        clause=clause,
        location="path.id",
        reason=f"got a campaign that is {campaign.status}; expected draft",
    )


def require_sendable_template(scope: Scope, campaign: Campaign) -> Template:
    """
    Return the campaign's template; by default an unapproved one is accepted, and its sends fail.

    A template may have become official since the campaign was created.
    """
    template = templates.for_campaign(scope, campaign.template_id, at="templateId")
    _refuse_mismatch(template, campaign.platform, at="platform")
    option = scope.sandbox.choices["unapproved-template"]
    if template.can_be_sent or option == "sends-fail":
        return template
    reason = f"got template {template.id!r}, which is {template.provider_status}; expected APPROVED"
    if option == "not-found":
        raise ApiError("MESSAGE_TEMPLATE_NOT_FOUND", clause="send.failures", location="templateId", reason=reason)
    raise unprocessable_error("send.failures", reason)


def common_variables(sandbox: SandboxState, template: Template, body: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the values that a start's body has for the template's manual variables; ApiError if a required one is missing."""
    given: Mapping[str, str] = body.get("commonVariables", {})
    manual = [variable for variable in template.variables if variable.source is None]
    blank_is_missing = sandbox.choices["common-vars-empty"] == "missing"
    missing = [
        variable.key
        for variable in manual
        if variable.required and (variable.key not in given or (blank_is_missing and given[variable.key] == ""))
    ]
    if missing:
        raise ApiError(
            "CAMPAIGN_MISSING_COMMON_VARIABLES",
            location="/commonVariables",
            reason=f"got {sorted(given) or 'none'}; expected {', '.join(missing)} too, by template {template.id!r}"
            + misspelt_key("startCampaign.request", body, "/commonVariables"),
            keys=", ".join(missing),
        )
    extra = extra_keys(template, given)
    if extra and sandbox.choices["common-vars-extra-keys"] == "reject":
        raise ApiError(
            "VALIDATION_ERROR",
            clause="start.common-variables",
            location=f"/commonVariables/{extra[0]}",
            reason=f"got {', '.join(extra)}; expected manual variables of template {template.id!r} (choice common-vars-extra-keys)",
            path=f"commonVariables.{extra[0]}",
        )
    return dict(given)


def extra_keys(template: Template, given: Mapping[str, str]) -> list[str]:
    """Return the keys that are not manual variables of the template: undeclared and automatic ones."""
    manual = {variable.key for variable in template.variables if variable.source is None}
    return [key for key in given if key not in manual]


def select_targets(scope: Scope, campaign: Campaign) -> Sequence[Chat]:
    """Return the campaign's audience, oldest chat first; raises ApiError if it is too large or, by choice, empty (start.size)."""
    chats = audiences.compile_filters(scope.sandbox, campaign.filters).select(scope.tenant.chats)
    if scope.sandbox.choices["audience-off-channel"] == "exclude":
        chats = [chat for chat in chats if chat.attributes.platform == campaign.platform]
    if not chats and scope.sandbox.choices["start-empty-audience"] == "unprocessable":
        raise unprocessable_error("send.progress", "the audience is empty (choice start-empty-audience)")
    limits: Any = scope.sandbox.choices["size-limit-values"]
    limit = limits[campaign.platform]
    if limit is not None:
        _refuse_too_large(scope, campaign, len(chats), limit)
    return chats


def _refuse_too_large(scope: Scope, campaign: Campaign, target: int, limit: int) -> None:
    used = 0
    if scope.sandbox.choices["size-limit-base"] == "moving-day":
        since = as_shown(scope.sandbox.now - DAY) + MILLISECOND - 1  # a preview shown as a day old is expired
        runs = [run for run in scope.tenant.executions.values() if run.platform == campaign.platform]
        used = sum(
            sending.counts(run.schedule, scope.sandbox.now).sent - sending.counts(run.schedule, since).sent
            for run in runs
        )
    left = limit - used
    if target > left:
        raise ApiError(
            "CAMPAIGN_SIZE_LIMIT_EXCEEDED",
            location="filters",
            reason=f"got an audience of {target} chats; expected at most {limit} for {campaign.platform} in 24 hours, {used} of "
            f"them used ({own_bound('size-limit-values')})",
            target=target,
            limit=max(left, 0),
        )


def plan_execution(
    scope: Scope,
    campaign: Campaign,
    template: Template,
    values: Mapping[str, str],
    chats: Sequence[Chat],
) -> Execution:
    """Return a new execution for these chats, its sends planned from now on at the campaign's rate."""
    failed = failed_positions(scope, campaign, template, values, chats)
    return Execution(
        seq=scope.sandbox.next_seq(),
        id=scope.sandbox.new_id("execution_"),
        campaign_id=campaign.id,
        platform=campaign.platform,
        template=template,
        values=values,
        targets=chats,
        schedule=sending.plan(len(chats), as_shown(scope.sandbox.now), send_rate(scope, campaign), failed),
        started_at=scope.sandbox.now,
        ended_at=None,
        status=EXECUTION.initial,
        state_version=scope.sandbox.next_number("state_version"),
    )


def send_rate(scope: Scope, campaign: Campaign) -> int:
    """Messages per minute: the cadence, never above the platform's ceiling (send.cadence)."""
    ceilings: Any = scope.sandbox.choices["throughput-ceilings"]
    platform = campaign.platform
    own = [entrypoint for entrypoint in scope.tenant.entrypoints.values() if entrypoint.platform == platform]
    if platform == "chatapp" and own and all(entrypoint.is_coexistence for entrypoint in own):
        platform = "chatapp_coexistence"
    ceiling = ceilings[platform]
    return campaign.cadence if ceiling is None else min(campaign.cadence, int(ceiling))


def failed_positions(
    scope: Scope,
    campaign: Campaign,
    template: Template,
    values: Mapping[str, str],
    chats: Sequence[Chat],
) -> Sequence[int]:
    """Return the positions that fail, ascending: all, none, or those of chats off the campaign's channel (send.failures)."""
    spoiled = scope.sandbox.choices["common-vars-extra-keys"] == "fail-sends" and bool(extra_keys(template, values))
    if spoiled or not template.can_be_sent or scope.tenant.has_lost_channel(campaign.platform):
        return range(len(chats))
    if scope.sandbox.choices["audience-off-channel"] == "send":
        return ()
    return [position for position, chat in enumerate(chats) if chat.attributes.platform != campaign.platform]


# When two names are the same, by option of name-uniqueness-scope.
_SAME_NAME: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {"exact": str, "case-insensitive": str.casefold, "trimmed": str.strip, "free-when-ended": str}
)
_DRAIN = 5 * SECOND  # how much later an execution ends under the option campaign-first of execution-status-lag


class CampaignDetail(NamedTuple):
    """A campaign with its executions, newest first."""

    campaign: Campaign
    executions: tuple[Execution, ...]


def create_campaign(scope: Scope, call: Call, body: Mapping[str, Any]) -> Success:
    """Create a draft (campaigns.create). Checks: template, platform mismatch, filters, name; nothing is sent."""
    name, platform, template_id, filters = body["name"], body["platform"], body["templateId"], body.get("filters")
    check_new(scope, name, platform, template_id, filters)
    sandbox = scope.sandbox
    campaign = Campaign(
        seq=sandbox.next_seq(),
        id=sandbox.new_id("campaign_"),
        name=name,
        description=body.get("description"),
        platform=platform,
        template_id=template_id,
        cadence=int(body["cadence"]),
        filters=filters,
        created_at=sandbox.now,
        status=CAMPAIGN.initial,
        state_version=sandbox.next_number("state_version"),
    )
    return Success(create(scope, "campaign", campaign))


def check_new(scope: Scope, name: str, platform: str, template_id: str, filters: Sequence[Any] | None) -> None:
    """Refuse a campaign that cannot be created; the checks are of its template, platform, filters and name, in this order."""
    template = templates.for_campaign(scope, template_id, at="/templateId")
    _refuse_mismatch(template, platform, at="/platform")
    audiences.compile_filters(scope.sandbox, filters)
    _refuse_taken_name(scope, name)


def _refuse_mismatch(template: Template, platform: str, *, at: str) -> None:
    """Refuse an official template on the lite channel, which only sends internal ones."""
    if template.is_official and platform == "chatapp_lite":
        raise ApiError(
            "CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH",
            location=at,
            reason=f"got chatapp_lite for the official template {template.id!r}; expected chatapp or photoapp",
        )


def _refuse_taken_name(scope: Scope, name: str) -> None:
    uniqueness = scope.sandbox.choices["name-uniqueness-scope"]
    same = _SAME_NAME[str(uniqueness)]
    wanted = same(name)
    for campaign in scope.tenant.campaigns.values():
        if same(campaign.name) != wanted:
            continue
        ended = uniqueness == "free-when-ended" and campaign.status in ("canceled", "failed")
        if not ended:
            raise ApiError(
                "CAMPAIGN_NAME_ALREADY_EXISTS",
                location="/name",
                reason=f"got the name {campaign.name!r} of campaign {campaign.id!r} ({campaign.status}); expected another one",
            )


def list_campaigns(scope: Scope, call: Call) -> Success:
    """Every campaign of the tenant, in order of creation; the serializer sorts them by choice (campaigns.list)."""
    return Success(tuple(scope.tenant.campaigns.values()))


def get_campaign(scope: Scope, call: Call, clause: str) -> Campaign:
    """Return the campaign of the path; raises ApiError CAMPAIGN_NOT_FOUND for an unknown id."""
    campaign: Campaign = require_record(scope, "campaign", call.params["id"], code="CAMPAIGN_NOT_FOUND", clause=clause)
    return campaign


def read_campaign(scope: Scope, call: Call) -> Success:
    """Return the campaign with its execution history, newest first (campaigns.detail)."""
    return Success(detail(scope.tenant, get_campaign(scope, call, "campaigns.detail")))


def detail(tenant: Tenant, campaign: Campaign) -> CampaignDetail:
    """Return the campaign with its executions, newest first."""
    return CampaignDetail(campaign, tuple([tenant.executions[id] for id in reversed(campaign.execution_ids)]))


def read_execution(scope: Scope, call: Call) -> Success:
    """Return the progress of one execution of this campaign; that of another campaign is unknown (execution.read)."""
    campaign = get_campaign(scope, call, "execution.read")
    wanted = call.params["executionId"]
    if wanted not in campaign.execution_ids:
        code = {"resource": "RESOURCE_NOT_FOUND", "campaign": "CAMPAIGN_NOT_FOUND"}[
            str(scope.sandbox.choices["execution-not-found-code"])
        ]
        raise ApiError(
            code,
            clause="execution.read",
            location="path.executionId",
            reason=f"got the execution {wanted!r}; expected one of campaign {campaign.id!r}, which has {', '.join(campaign.execution_ids) or 'none'}",
        )
    return Success(scope.tenant.executions[wanted])


def start_campaign(scope: Scope, call: Call, body: Mapping[str, Any]) -> Success:
    """Start a draft (start.response). Checks: id, state, template, variables, audience."""
    campaign = get_campaign(scope, call, "start.unknown")
    require_draft(scope.sandbox, campaign)
    template = require_sendable_template(scope, campaign)
    values = common_variables(scope.sandbox, template, body)
    targets = select_targets(scope, campaign)
    execution = plan_execution(scope, campaign, template, values, targets)
    create(scope, "execution", execution)
    transition(scope, "campaign", campaign, "start", execution_ids=(*campaign.execution_ids, execution.id))
    sending.schedule_progress_timers(scope.sandbox, scope.tenant, execution)
    return Success(execution)


def finish(scope: Scope, execution_id: str) -> None:
    """All sends were made: campaign and execution complete, or fail where a choice has it so (send.completed)."""
    execution = scope.tenant.executions[execution_id]
    counts = sending.counts(execution.schedule, scope.sandbox.now)
    empty_fails = counts.target == 0 and scope.sandbox.choices["start-empty-audience"] == "failed"
    all_failed = counts.target > 0 and counts.failed == counts.target
    fails = empty_fails or (all_failed and scope.sandbox.choices["all-sends-failed"] == "failed")
    _end_campaign(scope, execution, "fail" if fails else "finish", execution.schedule)


def fail(scope: Scope, campaign: Campaign) -> None:
    """Fail the campaign; its remaining sends are neither sent nor failed (send.failed)."""
    execution = active_execution(scope.tenant, campaign)
    if execution is not None:
        _end_campaign(scope, execution, "fail", sending.stop_after(execution.schedule, scope.sandbox.now))


def cancel_campaign(scope: Scope, call: Call) -> Success:
    """Cancel a draft or running campaign and interrupt its execution (cancel.processing, cancel.draft)."""
    campaign = get_campaign(scope, call, "cancel.unknown")
    if campaign.status == CAMPAIGN.initial and scope.sandbox.choices["cancel-draft"] == "unprocessable":
        raise unprocessable_error("cancel.draft", "the campaign is a draft (choice cancel-draft)")
    if not can_transition("campaign", campaign, "cancel"):
        option = scope.sandbox.choices["repeat-cancel" if campaign.status == "canceled" else "cancel-final"]
        reason = f"got a campaign that is {campaign.status}; expected {' or '.join(CAMPAIGN.sources('cancel'))}"
        if option == "not-draft":
            raise ApiError("CAMPAIGN_NOT_DRAFT", clause="cancel.final", location="path.id", reason=reason)
        if option == "unprocessable":
            raise unprocessable_error("cancel.final", reason)
        return Success(None)
    cancel(scope, campaign)
    return Success(None)


def cancel(scope: Scope, campaign: Campaign) -> None:
    """Cancel a draft or running campaign; the sends that are queued may still be processed (late-sends-after-cancel)."""
    execution = active_execution(scope.tenant, campaign)
    if execution is None:
        transition(scope, "campaign", campaign, "cancel")
        return
    remaining = sending.stop_after(execution.schedule, _last_send(scope.sandbox, execution))
    _end_campaign(scope, execution, "cancel", remaining)
    _await_queued(scope, execution.id)


def _await_queued(scope: Scope, execution_id: str) -> None:
    """Have an advance until idle reach the last queued send, which changes the counts of an execution that has ended."""
    ended, sandbox = scope.tenant.executions[execution_id], scope.sandbox
    last = sending.processed_at(ended.schedule, ended.schedule.stop - 1) if ended.schedule.stop else None
    if last is not None and last > sandbox.now:
        sandbox.schedule(last, "execution", "settle", scope.tenant.id, execution_id, ended.state_version)


def _last_send(sandbox: SandboxState, execution: Execution) -> Instant:
    """Return the last instant at which a queued send is processed after a cancel now (late-sends-after-cancel)."""
    option = sandbox.choices["late-sends-after-cancel"]
    if option == "five-seconds":
        return as_shown(sandbox.now) + 5 * SECOND  # from the cancel as completedAt shows it
    if option == "current-minute":
        started_at = as_shown(execution.started_at)
        minutes = (sandbox.now - started_at) // MINUTE + 1
        return started_at + minutes * MINUTE - 1  # the first instant of the next minute is not part of this one
    return sandbox.now


def active_execution(tenant: Tenant, campaign: Campaign) -> Execution | None:
    """Return the execution that a processing campaign runs, or None."""
    if campaign.status != "processing":
        return None
    return tenant.executions[campaign.execution_ids[-1]]


def _end_campaign(scope: Scope, execution: Execution, trigger: str, remaining: SendSchedule) -> None:
    """End campaign and execution by one trigger: at one instant or, by choice, the execution a little later."""
    transition(scope, "campaign", scope.tenant.campaigns[execution.campaign_id], trigger)
    if scope.sandbox.choices["execution-status-lag"] == "none":
        transition(scope, "execution", execution, trigger, schedule=remaining, ended_at=scope.sandbox.now)
        return
    lagging = execution._replace(schedule=remaining, state_version=scope.sandbox.next_number("state_version"))
    scope.tenant.executions[execution.id] = lagging
    scope.sandbox.schedule(
        scope.sandbox.now + _DRAIN, "execution", "drain", scope.tenant.id, execution.id, lagging.state_version
    )


def finish_lagging_execution(scope: Scope, execution_id: str) -> None:
    """End a lagging execution in the state in which its campaign has ended."""
    execution = scope.tenant.executions[execution_id]
    ended_as = scope.tenant.campaigns[execution.campaign_id].status
    trigger = next(step.trigger for step in CAMPAIGN.steps if step.target == ended_as and step.source == "processing")
    transition(scope, "execution", execution, trigger, ended_at=scope.sandbox.now)
    _await_queued(scope, execution_id)
