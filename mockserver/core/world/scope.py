"""
Whom a world effect acts on: the id given with it, else what the triggering call is about, else whatever it can act on.

That is every campaign that is processing, or every session that is pending; the tenant that is named, else the call's,
else the default one, which is the sandbox's first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mockserver.core import campaigns
from mockserver.core.records import Campaign, Execution, Session
from mockserver.core.rules import Scope
from mockserver.core.sandbox import Sandbox
from mockserver.core.tenant import Tenant


class Unmet(ValueError):
    """An effect met nothing to act on; its text says what it looked for and what there is."""


def tenant_of(sandbox: Sandbox, scope: Scope, args: Mapping[str, Any]) -> Tenant:
    """The tenant that an effect is about."""
    tenant_id = args.get("tenant") or scope.tenant_id or next(iter(sandbox.tenants))
    if tenant_id not in sandbox.tenants:
        raise Unmet(f"no tenant {tenant_id!r}; there is {', '.join(sandbox.tenants)}")
    return sandbox.tenants[tenant_id]


def named(sandbox: Sandbox, table: str, record_id: str) -> tuple[Tenant, Any]:
    """The record of this id with its tenant."""
    for tenant in sandbox.tenants.values():
        record = getattr(tenant, table).get(record_id)
        if record is not None:
            return tenant, record
    raise Unmet(f"no {table} record {record_id!r}")


def sessions_of(sandbox: Sandbox, scope: Scope, args: Mapping[str, Any]) -> Sequence[tuple[Tenant, Session]]:
    """The sessions that an effect is about, as they are now."""
    return _about(sandbox, "sessions", args.get("id") or (scope.session.id if scope.session else None), "pending")


def campaigns_of(sandbox: Sandbox, scope: Scope, args: Mapping[str, Any]) -> Sequence[tuple[Tenant, Campaign]]:
    """The campaigns that an effect is about, as they are now."""
    return _about(sandbox, "campaigns", args.get("id") or (scope.campaign.id if scope.campaign else None), "processing")


def _about(sandbox: Sandbox, table: str, record_id: str | None, status: str) -> Sequence[tuple[Tenant, Any]]:
    """The record of this id, or without one every record in this status."""
    if record_id:
        return [named(sandbox, table, record_id)]
    found = [
        (tenant, record)
        for tenant in sandbox.tenants.values()
        for record in getattr(tenant, table).values()
        if record.status == status
    ]
    if not found:
        raise Unmet(f"no {table.removesuffix('s')} is {status}")
    return found


def running(sandbox: Sandbox, scope: Scope, args: Mapping[str, Any]) -> Sequence[tuple[Tenant, Campaign, Execution]]:
    """The campaigns that an effect is about and that run, with their executions."""
    chosen = campaigns_of(sandbox, scope, args)
    found = [
        (tenant, campaign, execution)
        for tenant, campaign in chosen
        if (execution := campaigns.active_execution(tenant, campaign)) is not None
    ]
    if not found:
        states = ", ".join(f"{campaign.id} is {campaign.status}" for _, campaign in chosen)
        raise Unmet(f"{states}; wanted processing")
    return found
