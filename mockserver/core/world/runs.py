"""World effects on campaigns and their sends: fail, stall, resume, slow, fail some of what is still to come."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from hashlib import shake_128
from typing import Any

from mockserver.contract.lifecycles import CAMPAIGN
from mockserver.core import campaigns, progress, starting
from mockserver.core.records import Execution
from mockserver.core.rules import Rule, Scope
from mockserver.core.sandbox import Sandbox
from mockserver.core.tenant import Tenant
from mockserver.core.transitions import can
from mockserver.core.world.scope import Unmet, campaigns_of, running

_WORD_BYTES = 4
_WORD_LIMIT = 2 ** (8 * _WORD_BYTES)


def fail_campaign(sandbox: Sandbox, rule: Rule, scope: Scope, args: Mapping[str, Any]) -> None:
    chosen = campaigns_of(sandbox, scope, args)
    able = [(tenant, campaign) for tenant, campaign in chosen if can("campaign", campaign, "fail")]
    if not able:
        states = ", ".join(f"{campaign.id} is {campaign.status}" for _, campaign in chosen)
        raise Unmet(f"{states}; only {' or '.join(CAMPAIGN.sources('fail'))} can fail")
    for tenant, campaign in able:
        campaigns.fail(sandbox, tenant, campaign, {"rule": rule.id})


def stall_sends(sandbox: Sandbox, rule: Rule, scope: Scope, args: Mapping[str, Any]) -> None:
    for tenant, _, execution in running(sandbox, scope, args):
        progress.stall(sandbox, tenant, execution, progress.to_come(sandbox, execution, scope))


def resume_sends(sandbox: Sandbox, rule: Rule, scope: Scope, args: Mapping[str, Any]) -> None:
    for tenant, campaign, execution in running(sandbox, scope, args):
        first = progress.to_come(sandbox, execution, scope)
        progress.resume(sandbox, tenant, execution, first, starting.rate(sandbox, tenant, campaign))


def slow_sends(sandbox: Sandbox, rule: Rule, scope: Scope, args: Mapping[str, Any]) -> None:
    for tenant, _, execution in running(sandbox, scope, args):
        first = progress.to_come(sandbox, execution, scope)
        progress.slow(sandbox, tenant, execution, first, args["perMinute"])


def fail_sends(sandbox: Sandbox, rule: Rule, scope: Scope, args: Mapping[str, Any]) -> None:
    """Of what is still to come fail a drawn share, every nth position of the execution, or the sends to named chats."""
    for tenant, _, execution in running(sandbox, scope, args):
        first = progress.to_come(sandbox, execution, scope)
        progress.fail_rest(sandbox, tenant, execution, first, _chosen(sandbox, rule, execution, args))


def _chosen(sandbox: Sandbox, rule: Rule, execution: Execution, args: Mapping[str, Any]) -> Sequence[int] | None:
    total = execution.sends.total
    if "chats" in args:
        wanted = set(args["chats"])
        return [position for position, chat in enumerate(execution.targets) if chat.id in wanted]
    if "every" in args:
        return range(args["every"] - 1, total, args["every"])
    if args.get("ratio", 1) >= 1:
        return None
    bound = int(args["ratio"] * _WORD_LIMIT)
    # One long digest: a million draws cost what a thousand calls of a hash would.
    drawn = array("I", shake_128(repr((sandbox.seed, rule.seq, execution.id)).encode()).digest(total * _WORD_BYTES))
    return [position for position, word in enumerate(drawn) if word < bound]


def fail_what_is_left(sandbox: Sandbox, tenant: Tenant, *, template_id: str = "", platform: str = "") -> None:
    """The sends still to come of every running campaign of this template or platform fail."""
    for campaign in tenant.campaigns.values():
        execution = campaigns.active_execution(tenant, campaign)
        if execution is not None and (execution.template.id == template_id or execution.platform == platform):
            progress.fail_rest(sandbox, tenant, execution, progress.to_come(sandbox, execution, Scope()))


def spare_what_is_left(sandbox: Sandbox, tenant: Tenant, template_id: str) -> None:
    """The sends still to come of every running campaign of this template, which is approved again, go through."""
    for campaign in tenant.campaigns.values():
        execution = campaigns.active_execution(tenant, campaign)
        if execution is not None and execution.template.id == template_id:
            progress.spare_rest(sandbox, tenant, execution, progress.to_come(sandbox, execution, Scope()))
