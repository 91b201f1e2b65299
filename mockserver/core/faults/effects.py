"""
Effects of a rule on the state: one function per effect, in one table.

An effect acts on sessions (as the end user or another visitor of the link would), on campaigns and their remaining
sends, or on a tenant's settings, keys, templates, funnels and entrypoints.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import shake_128
from types import MappingProxyType
from typing import Any, Literal

from mockserver.contract.durations import parse_duration
from mockserver.contract.effects import EFFECTS
from mockserver.contract.limits import ADVANCES_MAX_DEPTH
from mockserver.core.faults.acts import Act, NoTarget, RunningSends
from mockserver.core.operations import campaigns, connections, hosted_flow, sending, templates
from mockserver.core.operations import choices as in_force
from mockserver.core.phone_numbers import normalize_phone
from mockserver.core.state.records import Execution, SendSchedule, Template
from mockserver.core.state.rule_set import Firing
from mockserver.core.state.rules import Rule, Subject
from mockserver.core.state.sandbox import KeyOwner, SandboxState
from mockserver.core.state.tenant import Tenant

_WORD_BYTES = 4
_WORD_LIMIT = 2 ** (8 * _WORD_BYTES)
_ATTRIBUTES = {"secret": "secret_key", "public": "public_key"}


def complete_session(act: Act) -> None:
    for scope, session in act.movable("session", "complete"):
        number = normalize_phone(act.args.get("phone", "")) or connections.unused_phone(act.sandbox)
        connections.complete(scope, session, number, act.args.get("name") or scope.tenant.name)


def fail_session(act: Act) -> None:
    for scope, session in act.movable("session", "fail"):
        connections.fail(scope, session, act.args["reason"])


def expire_session(act: Act) -> None:
    for scope, session in act.movable("session", "expire"):
        connections.expire(scope, session)


def cancel_session(act: Act) -> None:
    for scope, session in act.movable("session", "fail"):
        connections.cancel(scope, session)


def visit_link(act: Act) -> None:
    """Open the session's url, as a link preview, a scanner or a second visitor does."""
    headers = {"user-agent": act.args["userAgent"]} if "userAgent" in act.args else {}
    for tenant, session in act.records("session"):
        target = hosted_flow.FlowTarget(tenant, session, tenant.hosted_flows.get(session.id))
        step, status = "gone", 410
        if hosted_flow.is_link_valid(act.sandbox, target):
            step = hosted_flow.FLOW_STEPS[session.coexistence][0]
            status = 200 if hosted_flow.open_link(act.sandbox, target) is None else 303
        hosted_flow.record_visit(act.sandbox, target, "GET", step, headers, status)


def fail_campaign(act: Act) -> None:
    for scope, campaign in act.movable("campaign", "fail"):
        campaigns.fail(scope, campaign)


def cancel_campaign(act: Act) -> None:
    for scope, campaign in act.movable("campaign", "cancel"):
        campaigns.cancel(scope, campaign)


def stall_sends(act: Act) -> None:
    for sends in act.running_sends():
        sends.replace(sending.change_rate(sends.schedule, sends.first, act.sandbox.now, 0))


def resume_sends(act: Act) -> None:
    for sends in act.running_sends():
        sends.replace(sending.change_rate(sends.schedule, sends.first, act.sandbox.now, sends.rate))


def slow_sends(act: Act) -> None:
    for sends in act.running_sends():
        per_minute = min(act.args["perMinute"], sends.rate)
        sends.replace(sending.slower(sends.schedule, sends.first, act.sandbox.now, per_minute))


def fail_sends(act: Act) -> None:
    """Fail remaining sends: a seeded share of them, every nth position of the execution, or the sends to given chats."""
    running = act.running_sends()
    wanted = set(act.args.get("chats", ()))
    if wanted and not any(chat.id in wanted for sends in running for chat in sends.execution.targets):
        raise NoTarget(f"got the chats {', '.join(sorted(wanted))}; expected one of a running campaign's audience")
    for sends in running:
        sends.replace(sending.fail_remaining(sends.schedule, sends.first, _chosen(act, sends.execution)))


def _chosen(act: Act, execution: Execution) -> Sequence[int] | None:
    """Return the positions that fail; None for all."""
    args, total = act.args, execution.schedule.total
    if "chats" in args:
        wanted = set(args["chats"])
        return [position for position, chat in enumerate(execution.targets) if chat.id in wanted]
    if "every" in args:
        return range(args["every"] - 1, total, args["every"])
    if args.get("ratio", 1) >= 1:
        return None
    bound = int(args["ratio"] * _WORD_LIMIT)
    # One long digest: a million draws cost as much as a thousand calls of a hash.
    seed = repr((act.sandbox.seed, act.rule.seq, execution.id)).encode()
    drawn = array("I", shake_128(seed).digest(total * _WORD_BYTES))
    return [position for position, word in enumerate(drawn) if word < bound]


def _remaining(act: Act, tenant: Tenant, *, template_id: str = "", platform: str = "") -> Iterator[RunningSends]:
    """Yield the remaining sends of the running campaigns of this template or platform."""
    for campaign in tenant.campaigns.values():
        for sends in act.sends_of(tenant, campaign, Subject()):
            if template_id == sends.execution.template.id or platform == sends.execution.platform:
                yield sends


def set_tenant(act: Act) -> None:
    act.tenant().set_settings(act.args)


def revoke_key(act: Act) -> None:
    kind, tenant = act.args["kind"], act.tenant()
    if act.sandbox.keys.pop(getattr(tenant, _ATTRIBUTES[kind]), None) is None:
        raise NoTarget(f"got a revoked {kind} key of tenant {tenant.id!r}; expected a valid one")


def rotate_key(act: Act) -> None:
    kind, tenant, sandbox = act.args["kind"], act.tenant(), act.sandbox
    count = sandbox.next_number("rotated key")
    key = act.args.get("key") or sandbox.seeded_key(kind, "rotated key", tenant.id, count)
    if key in sandbox.keys:
        raise NoTarget(f"got the key {key[:3]}...; expected one that the sandbox does not have yet")
    sandbox.keys.pop(getattr(tenant, _ATTRIBUTES[kind]), None)
    sandbox.keys[key] = KeyOwner(tenant.id, kind)
    setattr(tenant, _ATTRIBUTES[kind], key)


def set_template(act: Act) -> None:
    """Change status, variables or text; while a template is not approved, its remaining sends fail."""
    args = act.args
    tenant, template = _template(act)
    changes: dict[str, Any] = {"updated_at": act.sandbox.now}
    if "status" in args:
        changes["provider_status"] = args["status"]
    if "variables" in args:
        changes["variables"] = templates.declared_variables(args["variables"])
    if "text" in args:
        first, *others = template.items
        changes["items"] = (first._replace(text=args["text"]), *others)
    changed = template._replace(**changes)
    tenant.templates[template.id] = changed
    if template.can_be_sent == changed.can_be_sent:
        return
    for sends in _remaining(act, tenant, template_id=template.id):
        chosen = () if changed.can_be_sent else range(sends.first, sends.schedule.total)
        sends.replace(sending.with_failures(sends.schedule, sends.first, chosen))


def remove_template(act: Act) -> None:
    tenant, template = _template(act)
    del tenant.templates[template.id]


def _template(act: Act) -> tuple[Tenant, Template]:
    campaign = act.subject.campaign
    return act.owned("template", act.subject.template_id or (campaign.template_id if campaign else None))


def remove_funnel(act: Act) -> None:
    """Remove the given funnel, or the one that the call's session was to link."""
    session = act.subject.session
    step_id = session.funnel_step_id if session else None
    linked = act.tenant().funnel_of_step(step_id) if step_id else None
    tenant, funnel = act.owned("funnel", linked.id if linked else None)
    del tenant.funnels[funnel.id]


def remove_entrypoint(act: Act) -> None:
    """Remove an entrypoint; with the last one of its platform, sends on that platform fail."""
    tenant, entrypoint = act.owned("entrypoint", act.subject.entrypoint_id)
    del tenant.entrypoints[entrypoint.id]
    tenant.removed_entrypoints += (entrypoint,)
    if tenant.has_lost_channel(entrypoint.platform):
        for sends in _remaining(act, tenant, platform=entrypoint.platform):
            sends.replace(sending.fail_remaining(sends.schedule, sends.first))


def fail_media(act: Act) -> None:
    """Fail the storage of these files: of the triggering upload alone, else from now on."""
    act.sandbox.rule_set.storage = act.args


def add_seed_data(act: Act) -> None:
    act.sandbox.runtime.apply_seed_data(act.sandbox, act.args)


def rate_limit(act: Act) -> None:
    in_force.set_choices(act.sandbox, {"rate-limit-numbers": act.args})


def set_choice(act: Act) -> None:
    in_force.set_choices(act.sandbox, act.args)


def advance(act: Act) -> None:
    """Advance the clock; rules that fall due meanwhile may do the same, up to a bound on the depth."""
    sandbox, duration = act.sandbox, parse_duration(act.args)
    assert duration is not None
    if sandbox.advances >= ADVANCES_MAX_DEPTH:
        bound = f"at most {ADVANCES_MAX_DEPTH} (the mock's own bound)"
        raise NoTarget(f"got {sandbox.advances + 1} rules that advance the clock, one within another; expected {bound}")
    sandbox.advances += 1
    try:
        fired = sandbox.runtime.advance_clock(sandbox, duration)
        if sandbox.fired_within is not None:
            sandbox.fired_within += fired
    finally:
        sandbox.advances -= 1


STATE_EFFECTS: Mapping[str, Callable[[Act], None]] = MappingProxyType(
    {
        "complete-session": complete_session,
        "fail-session": fail_session,
        "expire-session": expire_session,
        "cancel-session": cancel_session,
        "visit-link": visit_link,
        "fail-campaign": fail_campaign,
        "cancel-campaign": cancel_campaign,
        "stall-sends": stall_sends,
        "resume-sends": resume_sends,
        "slow-sends": slow_sends,
        "fail-sends": fail_sends,
        "set-tenant": set_tenant,
        "revoke-key": revoke_key,
        "rotate-key": rotate_key,
        "set-template": set_template,
        "remove-template": remove_template,
        "remove-funnel": remove_funnel,
        "remove-entrypoint": remove_entrypoint,
        "fail-media": fail_media,
        "given": add_seed_data,
        "rate-limit": rate_limit,
        "set-choice": set_choice,
        "advance": advance,
    }
)


def run(
    sandbox: SandboxState,
    rule: Rule,
    subject: Subject,
    phase: Literal["all", "before", "after"] = "all",
    exchange: int | None = None,
) -> None:
    """
    Run the rule's state effects in order, and record each in the rule's entry, or why it had no target.

    Args:
        phase: `before` for the effects that change how an operation runs, `after` for the others, or `all`.
        exchange: the number of the call at which the rule fires; None if it fires at none.
    """
    for name, args in rule.state_effects:
        if phase != "all" and (phase == "before") != EFFECTS[name].precedes_operation:
            continue
        former = _schedules(sandbox)
        try:
            STATE_EFFECTS[name](Act(sandbox, rule, subject, args))
        except ValueError as refusal:
            sandbox.rule_set.no_target[rule.id] = f"{name}: {refusal}"
        else:
            sends = {
                id: (len(schedule.failed), schedule.total)
                for id, schedule in _schedules(sandbox).items()
                if schedule is not former.get(id)
            }
            sandbox.rule_set.record_effect(rule, Firing(sandbox.now, exchange, name, sends))


def _schedules(sandbox: SandboxState) -> dict[str, SendSchedule]:
    return {execution.id: execution.schedule for _, execution in sandbox.records("execution")}
