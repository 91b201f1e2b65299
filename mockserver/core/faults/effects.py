"""
Effects of a rule on the state: one function per effect, in one table.

An effect acts on sessions (as the end user or another visitor of the link would), on campaigns and their remaining
sends, or on a tenant's settings, keys, templates, funnels and entrypoints.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from hashlib import shake_128
from types import MappingProxyType
from typing import Any, Literal

from mockserver.contract.durations import parse_duration
from mockserver.contract.effects import EFFECTS
from mockserver.contract.lifecycles import CAMPAIGN, SESSION
from mockserver.contract.limits import ADVANCES_MAX_DEPTH
from mockserver.core import phone_numbers
from mockserver.core.faults.conditions import NoTarget, campaigns_of, running_executions, sessions_of, tenant_of
from mockserver.core.lifecycle import can_transition
from mockserver.core.operations import campaigns, connections, hosted_flow, sending
from mockserver.core.operations import choices as in_force
from mockserver.core.state.records import Campaign, Execution, SendSchedule, Session, Template, Variable
from mockserver.core.state.rule_set import Firing, StorageFaults
from mockserver.core.state.rules import Rule, Subject
from mockserver.core.state.sandbox import KeyOwner, SandboxState, Scope
from mockserver.core.state.tenant import TABLE_OF, Tenant


def complete_session(sandbox: SandboxState, rule: Rule, subject: Subject, args: Mapping[str, Any]) -> None:
    phone = args.get("phone")

    def complete(scope: Scope, session: Session) -> None:
        number = phone and (
            phone_numbers.normalize_phone(phone, scope.tenant.country)
            or phone_numbers.normalize_phone(phone, phone_numbers.BRAZIL)
        )
        number = number or connections.unused_phone(sandbox)
        connections.complete(scope, session, number, args.get("name") or scope.tenant.name)

    _apply_to_sessions(sandbox, rule, subject, args, "complete", complete)


def fail_session(sandbox: SandboxState, rule: Rule, subject: Subject, args: Mapping[str, Any]) -> None:
    def fail(scope: Scope, session: Session) -> None:
        connections.fail(scope, session, args["reason"])

    _apply_to_sessions(sandbox, rule, subject, args, "fail", fail)


def expire_session(sandbox: SandboxState, rule: Rule, subject: Subject, args: Mapping[str, Any]) -> None:
    _apply_to_sessions(sandbox, rule, subject, args, "expire", connections.expire)


def cancel_session(sandbox: SandboxState, rule: Rule, subject: Subject, args: Mapping[str, Any]) -> None:
    _apply_to_sessions(sandbox, rule, subject, args, "fail", connections.cancel)


def visit_link(sandbox: SandboxState, rule: Rule, subject: Subject, args: Mapping[str, Any]) -> None:
    """Open the session's url, as a link preview, a scanner or a second visitor does."""
    for tenant, session in sessions_of(sandbox, subject, args):
        target = hosted_flow.FlowTarget(tenant, session, tenant.hosted_flows.get(session.id))
        step, status = "gone", 410
        if hosted_flow.is_link_valid(sandbox, target):
            step = hosted_flow.FLOW_STEPS[session.coexistence][0]
            status = 200 if hosted_flow.open_link(sandbox, target) is None else 303
        headers = {"user-agent": args["userAgent"]} if "userAgent" in args else {}
        hosted_flow.record_visit(sandbox, target, "GET", step, headers, status)


def _apply_to_sessions(
    sandbox: SandboxState,
    rule: Rule,
    subject: Subject,
    args: Mapping[str, Any],
    trigger: str,
    act: Callable[[Scope, Session], object],
) -> None:
    """Apply a transition to each session that the effect acts on and that has it."""
    chosen = sessions_of(sandbox, subject, args)
    able = [(tenant, session) for tenant, session in chosen if can_transition("session", session, trigger)]
    if not able:
        states = ", ".join(f"{session.id} is {session.status}" for _, session in chosen)
        raise NoTarget(f"got {states}; expected {' or '.join(SESSION.sources(trigger))}")
    for tenant, session in able:
        act(Scope(sandbox, tenant, {"rule": rule.id}), session)


_WORD_BYTES = 4
_WORD_LIMIT = 2 ** (8 * _WORD_BYTES)


def fail_campaign(sandbox: SandboxState, rule: Rule, subject: Subject, args: Mapping[str, Any]) -> None:
    for tenant, campaign in _able_campaigns(sandbox, subject, args, "fail"):
        campaigns.fail(Scope(sandbox, tenant, {"rule": rule.id}), campaign)


def cancel_campaign(sandbox: SandboxState, rule: Rule, subject: Subject, args: Mapping[str, Any]) -> None:
    for tenant, campaign in _able_campaigns(sandbox, subject, args, "cancel"):
        campaigns.cancel(Scope(sandbox, tenant, {"rule": rule.id}), campaign)


def _able_campaigns(
    sandbox: SandboxState, subject: Subject, args: Mapping[str, Any], trigger: str
) -> Sequence[tuple[Tenant, Campaign]]:
    """Return the campaigns that the effect acts on and that have this transition."""
    chosen = campaigns_of(sandbox, subject, args)
    able = [(tenant, campaign) for tenant, campaign in chosen if can_transition("campaign", campaign, trigger)]
    if not able:
        states = ", ".join(f"{campaign.id} is {campaign.status}" for _, campaign in chosen)
        raise NoTarget(f"got {states}; expected {' or '.join(CAMPAIGN.sources(trigger))}")
    return able


def stall_sends(sandbox: SandboxState, rule: Rule, subject: Subject, args: Mapping[str, Any]) -> None:
    for tenant, _, execution in running_executions(sandbox, subject, args):
        sending.stall(sandbox, tenant, execution, sending.next_position(sandbox, execution, subject))


def resume_sends(sandbox: SandboxState, rule: Rule, subject: Subject, args: Mapping[str, Any]) -> None:
    for tenant, campaign, execution in running_executions(sandbox, subject, args):
        first = sending.next_position(sandbox, execution, subject)
        sending.resume(sandbox, tenant, execution, first, campaigns.send_rate(Scope(sandbox, tenant), campaign))


def slow_sends(sandbox: SandboxState, rule: Rule, subject: Subject, args: Mapping[str, Any]) -> None:
    for tenant, campaign, execution in running_executions(sandbox, subject, args):
        first = sending.next_position(sandbox, execution, subject)
        per_minute = min(args["perMinute"], campaigns.send_rate(Scope(sandbox, tenant), campaign))
        sending.slow(sandbox, tenant, execution, first, per_minute)


def fail_sends(sandbox: SandboxState, rule: Rule, subject: Subject, args: Mapping[str, Any]) -> None:
    """Fail remaining sends: a seeded share of them, every nth position of the execution, or the sends to given chats."""
    running = running_executions(sandbox, subject, args)
    wanted = set(args.get("chats", ()))
    if wanted and not any(chat.id in wanted for _, _, execution in running for chat in execution.targets):
        raise NoTarget(f"got the chats {', '.join(sorted(wanted))}; expected one of a running campaign's audience")
    for tenant, _, execution in running:
        first = sending.next_position(sandbox, execution, subject)
        sending.fail_remaining(sandbox, tenant, execution, first, _chosen(sandbox, rule, execution, args))


def _chosen(sandbox: SandboxState, rule: Rule, execution: Execution, args: Mapping[str, Any]) -> Sequence[int] | None:
    total = execution.schedule.total
    if "chats" in args:
        wanted = set(args["chats"])
        return [position for position, chat in enumerate(execution.targets) if chat.id in wanted]
    if "every" in args:
        return range(args["every"] - 1, total, args["every"])
    if args.get("ratio", 1) >= 1:
        return None
    bound = int(args["ratio"] * _WORD_LIMIT)
    # One long digest: a million draws cost as much as a thousand calls of a hash.
    drawn = array("I", shake_128(repr((sandbox.seed, rule.seq, execution.id)).encode()).digest(total * _WORD_BYTES))
    return [position for position, word in enumerate(drawn) if word < bound]


def fail_remaining_sends(scope: Scope, *, template_id: str = "", platform: str = "") -> None:
    """Fail the remaining sends of every running campaign of this template or platform."""
    for campaign in scope.tenant.campaigns.values():
        execution = campaigns.active_execution(scope.tenant, campaign)
        if execution is not None and (execution.template.id == template_id or execution.platform == platform):
            sending.fail_remaining(
                scope.sandbox,
                scope.tenant,
                execution,
                sending.next_position(scope.sandbox, execution, Subject()),
            )


def clear_remaining_failures(scope: Scope, template_id: str) -> None:
    """Clear the failures of the remaining sends of every running campaign of this template, which is approved again."""
    for campaign in scope.tenant.campaigns.values():
        execution = campaigns.active_execution(scope.tenant, campaign)
        if execution is not None and execution.template.id == template_id:
            sending.clear_remaining_failures(
                scope.sandbox, scope.tenant, execution, sending.next_position(scope.sandbox, execution, Subject())
            )


_ATTRIBUTES = {"secret": "secret_key", "public": "public_key"}


def set_tenant(sandbox: SandboxState, rule: Rule, subject: Subject, args: Mapping[str, Any]) -> None:
    tenant = tenant_of(sandbox, subject, args)
    tenant.name = args.get("name", tenant.name)
    tenant.developers_enabled = args.get("developersEnabled", tenant.developers_enabled)
    tenant.subscription = args.get("subscription", tenant.subscription)


def revoke_key(sandbox: SandboxState, rule: Rule, subject: Subject, args: Mapping[str, Any]) -> None:
    kind = args["kind"]
    tenant = tenant_of(sandbox, subject, args)
    if sandbox.keys.pop(getattr(tenant, _ATTRIBUTES[kind]), None) is None:
        raise NoTarget(f"got a revoked {kind} key of tenant {tenant.id!r}; expected a valid one")


def rotate_key(sandbox: SandboxState, rule: Rule, subject: Subject, args: Mapping[str, Any]) -> None:
    kind = args["kind"]
    tenant = tenant_of(sandbox, subject, args)
    count = sandbox.next_number("rotated key")
    key = args.get("key") or sandbox.seeded_key(kind, "rotated key", tenant.id, count)
    if key in sandbox.keys:
        raise NoTarget(f"got the key {key[:3]}...; expected one that the sandbox does not have yet")
    sandbox.keys.pop(getattr(tenant, _ATTRIBUTES[kind]), None)
    sandbox.keys[key] = KeyOwner(tenant.id, kind)
    setattr(tenant, _ATTRIBUTES[kind], key)


def set_template(sandbox: SandboxState, rule: Rule, subject: Subject, args: Mapping[str, Any]) -> None:
    """Change status, variables or text; while a template is not approved, its remaining sends fail."""
    tenant, template = _template(sandbox, subject, args)
    changes: dict[str, Any] = {"updated_at": sandbox.now}
    if "status" in args:
        changes["provider_status"] = args["status"]
    if "variables" in args:
        changes["variables"] = tuple(
            Variable(entry["key"], entry.get("label", entry["key"]), entry.get("required", False), entry.get("source"))
            for entry in args["variables"]
        )
    if "text" in args:
        first, *others = template.items
        changes["items"] = (first._replace(text=args["text"]), *others)
    changed = template._replace(**changes)
    tenant.templates[template.id] = changed
    if template.can_be_sent and not changed.can_be_sent:
        fail_remaining_sends(Scope(sandbox, tenant), template_id=template.id)
    elif changed.can_be_sent and not template.can_be_sent:
        clear_remaining_failures(Scope(sandbox, tenant), template.id)


def remove_template(sandbox: SandboxState, rule: Rule, subject: Subject, args: Mapping[str, Any]) -> None:
    tenant, template = _template(sandbox, subject, args)
    del tenant.templates[template.id]


def _template(sandbox: SandboxState, subject: Subject, args: Mapping[str, Any]) -> tuple[Tenant, Template]:
    template_id = subject.template_id or (subject.campaign.template_id if subject.campaign else None)
    tenant = tenant_of(sandbox, subject, args)
    return tenant, _owned(tenant, "template", args.get("id") or template_id)


def _owned(tenant: Tenant, kind: str, record_id: str | None) -> Any:
    rows, table = tenant.table(kind), TABLE_OF[kind]
    if record_id is None or record_id not in rows:
        known = ", ".join(list(rows)[:5]) or "one that exists; there is none"
        given = "no id" if record_id is None else f"the id {record_id!r}"
        raise NoTarget(f"got {given}; expected one of the {table} of tenant {tenant.id!r}: {known}")
    return rows[record_id]


def remove_funnel(sandbox: SandboxState, rule: Rule, subject: Subject, args: Mapping[str, Any]) -> None:
    """Remove the given funnel, or the one that the call's session was to link."""
    tenant = tenant_of(sandbox, subject, args)
    step_id = subject.session.funnel_step_id if subject.session else None
    linked = tenant.funnel_of_step(step_id) if step_id else None
    funnel = _owned(tenant, "funnel", args.get("id") or (linked.id if linked else None))
    del tenant.funnels[funnel.id]


def remove_entrypoint(sandbox: SandboxState, rule: Rule, subject: Subject, args: Mapping[str, Any]) -> None:
    """Remove an entrypoint; with the last one of its platform, sends on that platform fail."""
    tenant = tenant_of(sandbox, subject, args)
    entrypoint = _owned(tenant, "entrypoint", args.get("id") or subject.entrypoint_id)
    del tenant.entrypoints[entrypoint.id]
    tenant.removed_entrypoints += (entrypoint,)
    if tenant.has_lost_channel(entrypoint.platform):
        fail_remaining_sends(Scope(sandbox, tenant), platform=entrypoint.platform)


Act = Callable[[SandboxState, Rule, Subject, Any], None]


def fail_media(sandbox: SandboxState, rule: Rule, subject: Subject, args: Mapping[str, Any]) -> None:
    """Fail the storage of these files: of the triggering upload alone, else from now on."""
    sandbox.rule_set.storage = StorageFaults(args.get("ratio"), args.get("every"), tuple(args.get("names", ())))


def add_seed_data(sandbox: SandboxState, rule: Rule, subject: Subject, args: Mapping[str, Any]) -> None:
    sandbox.runtime.apply_seed_data(sandbox, args)


def rate_limit(sandbox: SandboxState, rule: Rule, subject: Subject, args: Any) -> None:
    in_force.set_choices(sandbox, {"rate-limit-numbers": args})


def set_choice(sandbox: SandboxState, rule: Rule, subject: Subject, args: Mapping[str, Any]) -> None:
    in_force.set_choices(sandbox, args)


def advance(sandbox: SandboxState, rule: Rule, subject: Subject, by: str | float) -> None:
    """Advance the clock; rules that fall due meanwhile may do the same, up to a bound on the depth."""
    duration = parse_duration(by)
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


STATE_EFFECTS: Mapping[str, Act] = MappingProxyType(
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
            STATE_EFFECTS[name](sandbox, rule, subject, args)
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
    return {
        execution.id: execution.schedule
        for tenant in sandbox.tenants.values()
        for execution in tenant.executions.values()
    }


__all__ = ["STATE_EFFECTS", "NoTarget", "run"]
