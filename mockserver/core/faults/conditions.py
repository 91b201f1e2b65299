"""
Conditions of a rule on the state (`while`), and the record that an effect acts on.

Whom a world effect acts on: the id given with it, else what the triggering call is about, else whatever it can act on.

That is every campaign that is processing, or every session that is pending; the tenant that is named, else the call's,
else the default one, which is the sandbox's first.

`while`: conditions of a rule on the world, such as `{campaign: processing, sent: ">=20"}`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from mockserver.core.operations import campaigns, sending
from mockserver.core.state.matching import ABSENT, matches
from mockserver.core.state.records import Campaign, Execution, Session
from mockserver.core.state.rules import Subject
from mockserver.core.state.sandbox import SandboxState
from mockserver.core.state.tenant import Tenant


class NoTarget(ValueError):
    """An effect met nothing to act on; its text says what it looked for and what there is."""


def tenant_of(sandbox: SandboxState, scope: Subject, args: Mapping[str, Any]) -> Tenant:
    """The tenant that an effect is about."""
    tenant_id = args.get("tenant") or scope.tenant_id or next(iter(sandbox.tenants))
    if tenant_id not in sandbox.tenants:
        raise NoTarget(f"no tenant {tenant_id!r}; there is {', '.join(sandbox.tenants)}")
    return sandbox.tenants[tenant_id]


def find_record(sandbox: SandboxState, kind: str, record_id: str) -> tuple[Tenant, Any]:
    """Return the record of this id with its tenant; raises NoTarget for an unknown id."""
    found = sandbox.find(kind, record_id)
    if found is None:
        raise NoTarget(f"no {kind} {record_id!r}")
    return found


def sessions_of(sandbox: SandboxState, scope: Subject, args: Mapping[str, Any]) -> Sequence[tuple[Tenant, Session]]:
    """The sessions that an effect is about, as they are now."""
    return _about(sandbox, "session", args.get("id") or (scope.session.id if scope.session else None), "pending")


def campaigns_of(sandbox: SandboxState, scope: Subject, args: Mapping[str, Any]) -> Sequence[tuple[Tenant, Campaign]]:
    """The campaigns that an effect is about, as they are now."""
    return _about(sandbox, "campaign", args.get("id") or (scope.campaign.id if scope.campaign else None), "processing")


def _about(sandbox: SandboxState, kind: str, record_id: str | None, status: str) -> Sequence[tuple[Tenant, Any]]:
    """The record of this id, or without one every record in this status."""
    if record_id:
        return [find_record(sandbox, kind, record_id)]
    targets = [(tenant, record) for tenant, record in sandbox.records(kind) if record.status == status]
    if not targets:
        raise NoTarget(f"no {kind} is {status}")
    return targets


def running_executions(
    sandbox: SandboxState, scope: Subject, args: Mapping[str, Any]
) -> Sequence[tuple[Tenant, Campaign, Execution]]:
    """The campaigns that an effect is about and that run, with their executions."""
    chosen = campaigns_of(sandbox, scope, args)
    found = [
        (tenant, campaign, execution)
        for tenant, campaign in chosen
        if (execution := campaigns.active_execution(tenant, campaign)) is not None
    ]
    if not found:
        states = ", ".join(f"{campaign.id} is {campaign.status}" for _, campaign in chosen)
        raise NoTarget(f"{states}; wanted processing")
    return found


def _count(what: str) -> Callable[[SandboxState, Tenant, Campaign], Any]:
    def counted(sandbox: SandboxState, tenant: Tenant, campaign: Campaign) -> Any:
        if not campaign.execution_ids:
            return ABSENT
        counts = sending.counts(tenant.executions[campaign.execution_ids[-1]].schedule, sandbox.now)
        return getattr(counts, what)

    return counted


# What can be asked of a campaign; all of it has to hold for one and the same.
OF_CAMPAIGN: Mapping[str, Callable[[SandboxState, Tenant, Campaign], Any]] = MappingProxyType(
    {
        "campaign": lambda sandbox, tenant, campaign: campaign.status,
        "sent": _count("sent"),
        "failed": _count("failed"),
        "target": _count("target"),
    }
)


def condition_holds(sandbox: SandboxState, condition: Mapping[str, Any], scope: Subject) -> bool:
    """True where the world is as the condition has it, for what the call is about, or for anything there is."""
    tenant = sandbox.tenants.get(scope.tenant_id or "") or next(iter(sandbox.tenants.values()))
    if "subscription" in condition and not matches(tenant.subscription, condition["subscription"]):
        return False
    if "session" in condition and not any(
        matches(status, condition["session"]) for status in _sessions(sandbox, scope)
    ):
        return False
    wanted = {key: value for key, value in condition.items() if key in OF_CAMPAIGN}
    return not wanted or any(
        all(matches(OF_CAMPAIGN[key](sandbox, owner, campaign), value) for key, value in wanted.items())
        for owner, campaign in _campaigns(sandbox, scope)
    )


def _sessions(sandbox: SandboxState, scope: Subject) -> Iterator[str]:
    if scope.session is not None:
        yield find_record(sandbox, "session", scope.session.id)[1].status
        return
    for _, session in sandbox.records("session"):
        yield session.status


def _campaigns(sandbox: SandboxState, scope: Subject) -> Iterator[tuple[Tenant, Campaign]]:
    if scope.campaign is not None:
        yield find_record(sandbox, "campaign", scope.campaign.id)
    else:
        yield from sandbox.records("campaign")
