"""
Conditions of a rule on the state (`while`), and the records that an effect acts on.

An effect acts on the record of the id given with it, else on the one that the triggering call names, else on every
campaign that is processing or every session that is pending. Its tenant is the named one, else the call's, else the
sandbox's first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from mockserver.core.operations import campaigns, sending
from mockserver.core.state.matching import ABSENT, matches
from mockserver.core.state.records import Campaign, Execution, Session
from mockserver.core.state.rules import Subject
from mockserver.core.state.sandbox import SandboxState
from mockserver.core.state.tenant import Tenant


class NoTarget(ValueError):
    """An effect has no record to act on; the message names what it expected."""


def tenant_of(sandbox: SandboxState, subject: Subject, args: Mapping[str, Any]) -> Tenant:
    """Return the tenant that an effect acts on; raises NoTarget for an unknown one."""
    tenant_id = args.get("tenant") or subject.tenant_id or next(iter(sandbox.tenants))
    if tenant_id not in sandbox.tenants:
        raise NoTarget(f"got the tenant {tenant_id!r}; expected one of {', '.join(sandbox.tenants)}")
    return sandbox.tenants[tenant_id]


def find_record(sandbox: SandboxState, kind: str, record_id: str) -> tuple[Tenant, Any]:
    """Return the record of this id with its tenant; raises NoTarget for an unknown id."""
    owned = sandbox.find(kind, record_id)
    if owned is None:
        raise NoTarget(f"got the {kind} {record_id!r}; expected one that exists")
    return owned


def sessions_of(sandbox: SandboxState, subject: Subject, args: Mapping[str, Any]) -> Sequence[tuple[Tenant, Session]]:
    """Return the sessions that an effect acts on, in their current state."""
    return _targets(sandbox, "session", args.get("id") or (subject.session.id if subject.session else None), "pending")


def campaigns_of(sandbox: SandboxState, subject: Subject, args: Mapping[str, Any]) -> Sequence[tuple[Tenant, Campaign]]:
    """Return the campaigns that an effect acts on, in their current state."""
    return _targets(
        sandbox, "campaign", args.get("id") or (subject.campaign.id if subject.campaign else None), "processing"
    )


def _targets(sandbox: SandboxState, kind: str, record_id: str | None, status: str) -> Sequence[tuple[Tenant, Any]]:
    """Return the record of this id, or without an id every record in this status."""
    if record_id:
        return [find_record(sandbox, kind, record_id)]
    targets = [(tenant, record) for tenant, record in sandbox.records(kind) if record.status == status]
    if not targets:
        raise NoTarget(f"no {kind} is {status}")
    return targets


def running_executions(
    sandbox: SandboxState, subject: Subject, args: Mapping[str, Any]
) -> Sequence[tuple[Tenant, Campaign, Execution]]:
    """Return the running campaigns that an effect acts on, with their executions."""
    chosen = campaigns_of(sandbox, subject, args)
    running = []
    for tenant, campaign in chosen:
        execution = campaigns.active_execution(tenant, campaign)
        if execution is not None:
            running.append((tenant, campaign, execution))
    if not running:
        states = ", ".join(f"{campaign.id} is {campaign.status}" for _, campaign in chosen)
        raise NoTarget(f"got {states}; expected processing")
    return running


def _count(name: str) -> Callable[[SandboxState, Tenant, Campaign], Any]:
    def count(sandbox: SandboxState, tenant: Tenant, campaign: Campaign) -> Any:
        if not campaign.execution_ids:
            return ABSENT
        counts = sending.counts(tenant.executions[campaign.execution_ids[-1]].schedule, sandbox.now)
        return getattr(counts, name)

    return count


# Conditions on a campaign; all of them have to hold for the same one.
OF_CAMPAIGN: Mapping[str, Callable[[SandboxState, Tenant, Campaign], Any]] = MappingProxyType(
    {
        "campaign": lambda sandbox, tenant, campaign: campaign.status,
        "sent": _count("sent"),
        "failed": _count("failed"),
        "target": _count("target"),
    }
)


def condition_holds(sandbox: SandboxState, condition: Mapping[str, Any], subject: Subject) -> bool:
    """Return True if the state fulfils the condition, for the call's record or, without one, for any record."""
    tenant = sandbox.tenants.get(subject.tenant_id or "") or next(iter(sandbox.tenants.values()))
    if "subscription" in condition and not matches(tenant.subscription, condition["subscription"]):
        return False
    if "session" in condition:
        sessions = _named_or_all(sandbox, "session", subject.session)
        if not any(matches(session.status, condition["session"]) for _, session in sessions):
            return False
    of_campaign = {key: value for key, value in condition.items() if key in OF_CAMPAIGN}
    if not of_campaign:
        return True
    for owner, campaign in _named_or_all(sandbox, "campaign", subject.campaign):
        if all(matches(OF_CAMPAIGN[key](sandbox, owner, campaign), value) for key, value in of_campaign.items()):
            return True
    return False


def _named_or_all(sandbox: SandboxState, kind: str, named: Session | Campaign | None) -> Iterable[tuple[Tenant, Any]]:
    """Return the record that the call names, in its current state, or every one of the kind if it names none."""
    return sandbox.records(kind) if named is None else [find_record(sandbox, kind, named.id)]
