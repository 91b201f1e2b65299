"""What a start checks and builds: the state, the template, the variables, the audience and its sends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mockserver.contract.lifecycles import CAMPAIGN, EXECUTION
from mockserver.contract.limits import own_bound
from mockserver.core import audiences, sends, templates
from mockserver.core.calls import ApiError
from mockserver.core.instants import DAY, MILLISECOND, as_shown
from mockserver.core.records import Campaign, Chat, Execution, Template
from mockserver.core.sandbox import Sandbox
from mockserver.core.tenant import Tenant


def this_exchange(sandbox: Sandbox) -> Mapping[str, object]:
    """The cause of what a call changes: the number that its exchange will have in the journal."""
    return {"exchange": sandbox.journal.last_exchange + 1}


def unprocessable(clause: str, reason: str) -> ApiError:
    """UNPROCESSABLE_REQUEST: well-formed, and not possible in the current state."""
    return ApiError("UNPROCESSABLE_REQUEST", clause=clause, at="path.id", reason=reason)


def refuse_unless_draft(sandbox: Sandbox, campaign: Campaign) -> None:
    """Only a draft starts: a running campaign is already processing, any other is no draft (start.not-draft)."""
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
        code, clause=clause, at="path.id", reason=f"the campaign is {campaign.status}; only a draft can be started"
    )


def sendable_template(sandbox: Sandbox, tenant: Tenant, campaign: Campaign) -> Template:
    """The template as it is now; by default one that is not approved starts, and its sends fail."""
    template = templates.for_campaign(sandbox, tenant, campaign.template_id, at="templateId")
    option = sandbox.choices["unapproved-template"]
    if template.can_be_sent or option == "sends-fail":
        return template
    reason = f"template {template.id!r} is {template.provider_status}; only APPROVED ones can be sent"
    if option == "not-found":
        raise ApiError("MESSAGE_TEMPLATE_NOT_FOUND", clause="send.failures", at="templateId", reason=reason)
    raise unprocessable("send.failures", reason)


def common_variables(sandbox: Sandbox, template: Template, given: Mapping[str, str]) -> Mapping[str, str]:
    """The values for the template's manual variables; CAMPAIGN_MISSING_COMMON_VARIABLES names the required ones left out."""
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
            clause="start.missing-variables",
            at="/commonVariables",
            reason=f"came {sorted(given) or 'none'}; template {template.id!r} requires {', '.join(missing)} too",
            keys=", ".join(missing),
        )
    extra = extra_keys(template, given)
    if extra and sandbox.choices["common-vars-extra-keys"] == "reject":
        raise ApiError(
            "VALIDATION_ERROR",
            clause="start.common-variables",
            at=f"/commonVariables/{extra[0]}",
            reason=f"{', '.join(extra)} is no manual variable of template {template.id!r} (choice common-vars-extra-keys)",
            path=f"commonVariables.{extra[0]}",
        )
    return dict(given)


def extra_keys(template: Template, given: Mapping[str, str]) -> list[str]:
    """The keys that are no manual variable of the template: undeclared ones and automatic ones."""
    return [key for key in given if key not in {each.key for each in template.variables if each.source is None}]


def targets(sandbox: Sandbox, tenant: Tenant, campaign: Campaign) -> Sequence[Chat]:
    """The campaign's audience now, oldest chat first; refuses one that is empty, by choice, or too large (start.size)."""
    found = audiences.check(sandbox, campaign.filters).select(tenant.chats.rows)
    if sandbox.choices["audience-off-channel"] == "exclude":
        found = [chat for chat in found if chat.platform == campaign.platform]
    if not found and sandbox.choices["start-empty-audience"] == "unprocessable":
        raise unprocessable("send.progress", "the audience is empty (choice start-empty-audience)")
    limits: Any = sandbox.choices["size-limit-values"]
    limit = limits[campaign.platform]
    if limit is not None:
        _refuse_too_large(sandbox, tenant, campaign, len(found), limit)
    return found


def _refuse_too_large(sandbox: Sandbox, tenant: Tenant, campaign: Campaign, target: int, limit: int) -> None:
    used = 0
    if sandbox.choices["size-limit-base"] == "moving-day":
        since = as_shown(sandbox.now - DAY) + MILLISECOND - 1  # what is shown as a day old is used no longer
        runs = [each for each in tenant.executions.values() if each.platform == campaign.platform]
        used = sum(sends.counts(each.sends, sandbox.now).sent - sends.counts(each.sends, since).sent for each in runs)
    if target > limit - used:
        raise ApiError(
            "CAMPAIGN_SIZE_LIMIT_EXCEEDED",
            clause="start.size",
            at="filters",
            reason=f"got an audience of {target} chats; expected at most {limit} for {campaign.platform} in 24 hours, {used} of "
            f"them used ({own_bound('size-limit-values')})",
            target=target,
            limit=limit,
        )


def execution(
    sandbox: Sandbox,
    tenant: Tenant,
    campaign: Campaign,
    template: Template,
    values: Mapping[str, str],
    chats: Sequence[Chat],
) -> Execution:
    """A new execution over these chats, its sends planned from now on at the campaign's rate."""
    failed = failed_positions(sandbox, campaign, template, values, chats)
    return Execution(
        seq=sandbox.next_seq(),
        id=sandbox.new_id("execution_"),
        campaign_id=campaign.id,
        platform=campaign.platform,
        template=template,
        values=values,
        targets=chats,
        sends=sends.plan(len(chats), as_shown(sandbox.now), rate(sandbox, tenant, campaign), failed),
        started_at=sandbox.now,
        ended_at=None,
        status=EXECUTION.initial,
        stay=sandbox.count("stay"),
    )


def rate(sandbox: Sandbox, tenant: Tenant, campaign: Campaign) -> int:
    """Messages per minute: the cadence, never above the platform's ceiling (send.cadence)."""
    ceilings: Any = sandbox.choices["throughput-ceilings"]
    platform = campaign.platform
    own = [entrypoint for entrypoint in tenant.entrypoints.values() if entrypoint.platform == platform]
    if platform == "chatapp" and own and all(entrypoint.is_coexistence for entrypoint in own):
        platform = "chatapp_coexistence"
    ceiling = ceilings[platform]
    return campaign.cadence if ceiling is None else min(campaign.cadence, int(ceiling))


def failed_positions(
    sandbox: Sandbox, campaign: Campaign, template: Template, values: Mapping[str, str], chats: Sequence[Chat]
) -> Sequence[int]:
    """The positions that fail, ascending: all of them, or those of chats off the campaign's channel (send.failures)."""
    spoiled = sandbox.choices["common-vars-extra-keys"] == "fail-sends" and bool(extra_keys(template, values))
    if spoiled or not template.can_be_sent:
        return range(len(chats))
    if sandbox.choices["audience-off-channel"] == "send":
        return ()
    platform = campaign.platform
    return [position for position, chat in enumerate(chats) if chat.platform != platform]
