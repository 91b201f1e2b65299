"""Conditions of a rule on the state (`while`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mockserver.core.operations import sending
from mockserver.core.state.matching import ABSENT, matches
from mockserver.core.state.records import Campaign, Session
from mockserver.core.state.rules import Subject
from mockserver.core.state.sandbox import SandboxState
from mockserver.core.state.tenant import Tenant

_OF_CAMPAIGN = ("campaign", "sent", "failed", "target")  # all of them have to hold for the same campaign


def condition_holds(sandbox: SandboxState, condition: Mapping[str, Any], subject: Subject) -> bool:
    """Return True if the state fulfils the condition, for the call's record or, without one, for any record."""
    tenant = sandbox.tenants.get(subject.tenant_id or "") or next(iter(sandbox.tenants.values()))
    if "subscription" in condition and not matches(tenant.subscription, condition["subscription"]):
        return False
    if "session" in condition:
        sessions = _named_or_all(sandbox, "session", subject.session)
        if not any(matches(session.status, condition["session"]) for _, session in sessions):
            return False
    of_campaign = {key: wanted for key, wanted in condition.items() if key in _OF_CAMPAIGN}
    if not of_campaign:
        return True
    for owner, campaign in _named_or_all(sandbox, "campaign", subject.campaign):
        values = _values(sandbox, owner, campaign)
        if all(matches(values.get(key, ABSENT), wanted) for key, wanted in of_campaign.items()):
            return True
    return False


def _values(sandbox: SandboxState, tenant: Tenant, campaign: Campaign) -> Mapping[str, Any]:
    """Return what conditions compare of a campaign; a draft has no counts."""
    if not campaign.execution_ids:
        return {"campaign": campaign.status}
    counts = sending.counts(tenant.executions[campaign.execution_ids[-1]].schedule, sandbox.now)
    return {"campaign": campaign.status, "sent": counts.sent, "failed": counts.failed, "target": counts.target}


def _named_or_all(sandbox: SandboxState, kind: str, named: Session | Campaign | None) -> Iterable[tuple[Tenant, Any]]:
    """Return the record that the call names, in its current state, or every one of the kind if it names none."""
    if named is None:
        return sandbox.records(kind)
    owned = sandbox.find(kind, named.id)
    return [owned] if owned else []
