"""`while`: conditions of a rule on the world, such as `{campaign: processing, sent: ">=20"}`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from mockserver.core import sends
from mockserver.core.matching import ABSENT, holds
from mockserver.core.records import Campaign
from mockserver.core.rules import Scope
from mockserver.core.sandbox import Sandbox
from mockserver.core.tenant import Tenant
from mockserver.core.world.scope import named


def _count(what: str) -> Callable[[Sandbox, Tenant, Campaign], Any]:
    def counted(sandbox: Sandbox, tenant: Tenant, campaign: Campaign) -> Any:
        if not campaign.execution_ids:
            return ABSENT
        counts = sends.counts(tenant.executions[campaign.execution_ids[-1]].sends, sandbox.now)
        return getattr(counts, what)

    return counted


# What can be asked of a campaign; all of it has to hold for one and the same.
OF_CAMPAIGN: Mapping[str, Callable[[Sandbox, Tenant, Campaign], Any]] = MappingProxyType(
    {
        "campaign": lambda sandbox, tenant, campaign: campaign.status,
        "sent": _count("sent"),
        "failed": _count("failed"),
        "target": _count("target"),
    }
)
OF_SESSION = ("session",)
OF_TENANT = ("subscription",)


def fits(sandbox: Sandbox, condition: Mapping[str, Any], scope: Scope) -> bool:
    """True where the world is as the condition has it, for what the call is about, or for anything there is."""
    tenant = sandbox.tenants.get(scope.tenant_id or "") or next(iter(sandbox.tenants.values()))
    if "subscription" in condition and not holds(tenant.subscription, condition["subscription"]):
        return False
    if "session" in condition and not any(holds(status, condition["session"]) for status in _sessions(sandbox, scope)):
        return False
    wanted = {key: value for key, value in condition.items() if key in OF_CAMPAIGN}
    return not wanted or any(
        all(holds(OF_CAMPAIGN[key](sandbox, owner, campaign), value) for key, value in wanted.items())
        for owner, campaign in _campaigns(sandbox, scope)
    )


def _sessions(sandbox: Sandbox, scope: Scope) -> Iterator[str]:
    if scope.session is not None:
        yield named(sandbox, "sessions", scope.session.id)[1].status
        return
    for tenant in sandbox.tenants.values():
        for session in tenant.sessions.values():
            yield session.status


def _campaigns(sandbox: Sandbox, scope: Scope) -> Iterator[tuple[Tenant, Campaign]]:
    if scope.campaign is not None:
        yield named(sandbox, "campaigns", scope.campaign.id)
        return
    for tenant in sandbox.tenants.values():
        for campaign in tenant.campaigns.values():
            yield tenant, campaign
