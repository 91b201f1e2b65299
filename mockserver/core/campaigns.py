"""
Campaigns and their executions: create, list, read, start, cancel, and what time does to them.

Each verb checks first, in the order that `create-check-order` and `start-check-order` record, and writes last, so a
refused call has changed nothing. An execution's sends are arithmetic (`sends`); time only ever finishes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from mockserver.contract.lifecycles import CAMPAIGN
from mockserver.core import audiences, progress, sends, starting, templates
from mockserver.core.calls import ApiError, Call, Shown
from mockserver.core.instants import MINUTE, SECOND, Instant, as_shown
from mockserver.core.lookup import find
from mockserver.core.records import Campaign, Execution, Sends
from mockserver.core.sandbox import Sandbox
from mockserver.core.tenant import Tenant
from mockserver.core.transitions import born, can, move

# When two names are the same, by option of name-uniqueness-scope.
_SAME_NAME: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {"exact": str, "case-insensitive": str.casefold, "trimmed": str.strip, "free-when-ended": str}
)
_DRAIN = 5 * SECOND  # how much later an execution ends under the option campaign-first of execution-status-lag

Cause = Mapping[str, object]


class Detail(NamedTuple):
    """A campaign with its executions, newest first."""

    campaign: Campaign
    executions: tuple[Execution, ...]


def create(sandbox: Sandbox, tenant: Tenant, call: Call, body: Mapping[str, Any]) -> Shown:
    """A new draft (campaigns.create). Checks: template, platform mismatch, filters, name; nothing is sent."""
    campaign = Campaign(
        seq=0,
        id="",
        name=body["name"],
        description=body.get("description"),
        platform=body["platform"],
        template_id=body["templateId"],
        cadence=int(body["cadence"]),
        filters=body.get("filters"),
        created_at=sandbox.now,
        status=CAMPAIGN.initial,
        stay=0,
    )
    check_new(sandbox, tenant, campaign)
    campaign = replace(campaign, seq=sandbox.next_seq(), id=sandbox.new_id("campaign_"), stay=sandbox.count("stay"))
    return Shown(born(sandbox, tenant, "campaign", campaign, starting.this_exchange(sandbox)))


def check_new(sandbox: Sandbox, tenant: Tenant, campaign: Campaign) -> None:
    """Refuse a campaign that cannot be created; its template, platform, filters and name are looked at, in this order."""
    template = templates.for_campaign(sandbox, tenant, campaign.template_id, at="/templateId")
    if template.is_official and campaign.platform == "chatapp_lite":
        raise ApiError(
            "CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH",
            clause="campaigns.template-mismatch",
            at="/platform",
            reason=f"template {template.id!r} is official and the platform is chatapp_lite; wanted chatapp or photoapp",
        )
    audiences.check(sandbox, campaign.filters)
    _refuse_taken_name(sandbox, tenant, campaign.name)


def _refuse_taken_name(sandbox: Sandbox, tenant: Tenant, name: str) -> None:
    scope = sandbox.choices["name-uniqueness-scope"]
    same = _SAME_NAME[str(scope)]
    for campaign in tenant.campaigns.values():
        ended = scope == "free-when-ended" and campaign.status in ("canceled", "failed")
        if same(campaign.name) == same(name) and not ended:
            raise ApiError(
                "CAMPAIGN_NAME_ALREADY_EXISTS",
                clause="campaigns.name",
                at="/name",
                reason=f"campaign {campaign.id!r} ({campaign.status}) is named {campaign.name!r} already",
            )


def list_campaigns(sandbox: Sandbox, tenant: Tenant, call: Call) -> Shown:
    """Every campaign of the tenant, in order of creation; the edge turns the order by choice (campaigns.list)."""
    return Shown(tuple(tenant.campaigns.values()))


def known(sandbox: Sandbox, tenant: Tenant, call: Call, clause: str) -> Campaign:
    """The campaign that the path names, or CAMPAIGN_NOT_FOUND."""
    campaign: Campaign = find(sandbox, tenant, "campaigns", call.params["id"], code="CAMPAIGN_NOT_FOUND", clause=clause)
    return campaign


def read(sandbox: Sandbox, tenant: Tenant, call: Call) -> Shown:
    """The campaign with its execution history, newest first (campaigns.detail)."""
    return Shown(detail(tenant, known(sandbox, tenant, call, "campaigns.detail")))


def detail(tenant: Tenant, campaign: Campaign) -> Detail:
    """The campaign and its executions as records."""
    return Detail(campaign, tuple(tenant.executions[each] for each in reversed(campaign.execution_ids)))


def read_execution(sandbox: Sandbox, tenant: Tenant, call: Call) -> Shown:
    """The progress of one execution of this campaign; another campaign's is not found here (execution.read)."""
    campaign = known(sandbox, tenant, call, "execution.read")
    wanted = call.params["executionId"]
    if wanted not in campaign.execution_ids:
        code = {"resource": "RESOURCE_NOT_FOUND", "campaign": "CAMPAIGN_NOT_FOUND"}[
            str(sandbox.choices["execution-not-found-code"])
        ]
        raise ApiError(
            code,
            clause="execution.read",
            at="path.executionId",
            reason=f"campaign {campaign.id!r} has no execution {wanted!r}; it has {list(campaign.execution_ids) or 'none'}",
        )
    return Shown(tenant.executions[wanted])


def start(sandbox: Sandbox, tenant: Tenant, call: Call, body: Mapping[str, Any]) -> Shown:
    """An execution of a draft (start.response). Checks: found, state, template, variables, audience."""
    campaign = known(sandbox, tenant, call, "start.unknown")
    starting.refuse_unless_draft(sandbox, campaign)
    template = starting.sendable_template(sandbox, tenant, campaign)
    values = starting.common_variables(sandbox, template, body.get("commonVariables", {}))
    targets = starting.targets(sandbox, tenant, campaign)
    execution = starting.execution(sandbox, tenant, campaign, template, values, targets)
    cause = starting.this_exchange(sandbox)
    born(sandbox, tenant, "execution", execution, cause)
    move(sandbox, tenant, "campaign", campaign, "start", cause, execution_ids=(*campaign.execution_ids, execution.id))
    progress.arm(sandbox, tenant, execution)
    return Shown(execution)


def finish(sandbox: Sandbox, tenant: Tenant, execution_id: str, cause: Cause) -> None:
    """All sends were made: campaign and execution complete, or fail where a choice has it so (send.completed)."""
    execution = tenant.executions[execution_id]
    counts = sends.counts(execution.sends, sandbox.now)
    empty_fails = counts.target == 0 and sandbox.choices["start-empty-audience"] == "failed"
    all_failed = counts.target > 0 and counts.failed == counts.target
    fails = empty_fails or (all_failed and sandbox.choices["all-sends-failed"] == "failed")
    _end(sandbox, tenant, execution, "fail" if fails else "finish", execution.sends, cause)


def fail(sandbox: Sandbox, tenant: Tenant, campaign: Campaign, cause: Cause) -> None:
    """An unrecoverable error: what was not sent is neither sent nor failed (send.failed)."""
    execution = active_execution(tenant, campaign)
    if execution is not None:
        _end(sandbox, tenant, execution, "fail", sends.cut(execution.sends, sandbox.now), cause)


def cancel(sandbox: Sandbox, tenant: Tenant, call: Call) -> Shown:
    """A draft or running campaign is canceled, its execution interrupted (cancel.processing, cancel.draft)."""
    campaign = known(sandbox, tenant, call, "cancel.unknown")
    if campaign.status == CAMPAIGN.initial and sandbox.choices["cancel-draft"] == "unprocessable":
        raise starting.unprocessable("cancel.draft", "the campaign is a draft (choice cancel-draft)")
    if not can("campaign", campaign, "cancel"):
        _meet_ended(sandbox, campaign)
        return Shown(None)
    cause = starting.this_exchange(sandbox)
    execution = active_execution(tenant, campaign)
    if execution is None:
        move(sandbox, tenant, "campaign", campaign, "cancel", cause)
    else:
        _end(sandbox, tenant, execution, "cancel", sends.cut(execution.sends, _last_send(sandbox, execution)), cause)
    return Shown(None)


def _meet_ended(sandbox: Sandbox, campaign: Campaign) -> None:
    """Nothing happens, or a refusal, when what has ended is canceled (cancel.final)."""
    choice = "repeat-cancel" if campaign.status == "canceled" else "cancel-final"
    option = sandbox.choices[choice]
    reason = f"the campaign is {campaign.status}; only {' and '.join(CAMPAIGN.sources('cancel'))} can be canceled"
    if option == "not-draft":
        raise ApiError("CAMPAIGN_NOT_DRAFT", clause="cancel.final", at="path.id", reason=reason)
    if option == "unprocessable":
        raise starting.unprocessable("cancel.final", reason)


def _last_send(sandbox: Sandbox, execution: Execution) -> Instant:
    """The last instant at which a queued send may still be processed after a cancel now (late-sends-after-cancel)."""
    option = sandbox.choices["late-sends-after-cancel"]
    if option == "five-seconds":
        return as_shown(sandbox.now) + 5 * SECOND  # from the cancel as completedAt shows it
    if option == "current-minute":
        started_at = as_shown(execution.started_at)
        minutes = (sandbox.now - started_at) // MINUTE + 1
        return started_at + minutes * MINUTE - 1  # the next minute's first instant is no part of this one
    return sandbox.now


def active_execution(tenant: Tenant, campaign: Campaign) -> Execution | None:
    """The execution that a processing campaign runs."""
    if campaign.status != "processing":
        return None
    return tenant.executions[campaign.execution_ids[-1]]


def _end(sandbox: Sandbox, tenant: Tenant, execution: Execution, trigger: str, left: Sends, cause: Cause) -> None:
    """Campaign and execution end by one trigger: at one instant, or the execution a little later by choice."""
    move(sandbox, tenant, "campaign", tenant.campaigns[execution.campaign_id], trigger, cause)
    if sandbox.choices["execution-status-lag"] == "none":
        move(sandbox, tenant, "execution", execution, trigger, cause, sends=left, ended_at=sandbox.now)
        return
    lagging = replace(execution, sends=left, stay=sandbox.count("stay"))
    tenant.executions[execution.id] = lagging
    sandbox.arm(sandbox.now + _DRAIN, "execution", "drain", tenant.id, execution.id, lagging.stay)


def drain(sandbox: Sandbox, tenant: Tenant, execution_id: str, cause: Cause) -> None:
    """A lagging execution follows its campaign into the end that the campaign has met."""
    execution = tenant.executions[execution_id]
    ended_as = tenant.campaigns[execution.campaign_id].status
    trigger = next(step.trigger for step in CAMPAIGN.steps if step.target == ended_as and step.source == "processing")
    move(sandbox, tenant, "execution", execution, trigger, cause, ended_at=sandbox.now)
