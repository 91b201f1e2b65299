"""
One effect of a firing rule, and the records that it acts on.

An effect acts on the record of the id given with it, else on the one that the triggering call names, else on every
campaign that is processing or every session that is pending. Its tenant is the named one, else the call's, else the
sandbox's first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from mockserver.contract.lifecycles import LIFECYCLES
from mockserver.core.lifecycle import can_transition
from mockserver.core.operations import campaigns, sending
from mockserver.core.state.records import Campaign, Execution, SendSchedule
from mockserver.core.state.rules import Rule, Subject
from mockserver.core.state.sandbox import SandboxState, Scope
from mockserver.core.state.tenant import TABLE_OF, Tenant

# The status of the records that an effect without an id acts on.
_ACTIVE = {"session": "pending", "campaign": "processing"}


class NoTarget(ValueError):
    """An effect has no record to act on; the message names what it expected."""


class RunningSends(NamedTuple):
    """The remaining sends of a running campaign: its execution's from position `first` on."""

    sandbox: SandboxState
    tenant: Tenant
    campaign: Campaign
    execution: Execution
    first: int

    @property
    def schedule(self) -> SendSchedule:
        return self.execution.schedule

    @property
    def rate(self) -> int:
        """Messages per minute, as the campaign has them."""
        return campaigns.send_rate(Scope(self.sandbox, self.tenant), self.campaign)

    def replace(self, schedule: SendSchedule) -> None:
        """Replace the schedule, which changes from position `first` on."""
        sending.replace_schedule(self.sandbox, self.tenant, self.execution, schedule)


class Act(NamedTuple):
    """An effect of a rule: the subject of the firing, and the effect's argument. Its methods raise NoTarget."""

    sandbox: SandboxState
    rule: Rule
    subject: Subject
    args: Any

    def scope(self, tenant: Tenant) -> Scope:
        """Return the scope in which the rule changes records of a tenant."""
        return Scope(self.sandbox, tenant, {"rule": self.rule.id})

    def tenant(self) -> Tenant:
        """Return the tenant that the effect acts on."""
        tenants = self.sandbox.tenants
        tenant_id = self.args.get("tenant") or self.subject.tenant_id or next(iter(tenants))
        if tenant_id not in tenants:
            raise NoTarget(f"got the tenant {tenant_id!r}; expected one of {', '.join(tenants)}")
        return tenants[tenant_id]

    def owned(self, kind: str, default_id: str | None) -> tuple[Tenant, Any]:
        """Return the tenant, and its record of the effect's id or, without one, of the default id."""
        tenant = self.tenant()
        rows, record_id = tenant.table(kind), self.args.get("id") or default_id
        if record_id is None or record_id not in rows:
            known = ", ".join(list(rows)[:5]) or "one that exists; there is none"
            given = "no id" if record_id is None else f"the id {record_id!r}"
            raise NoTarget(f"got {given}; expected one of the {TABLE_OF[kind]} of tenant {tenant.id!r}: {known}")
        return tenant, rows[record_id]

    def records(self, kind: Literal["session", "campaign"]) -> Sequence[tuple[Tenant, Any]]:
        """Return the records that the effect acts on, in their current state, each with its tenant."""
        named = self.subject.session if kind == "session" else self.subject.campaign
        record_id = self.args.get("id") or (named.id if named else None)
        if record_id:
            owned = self.sandbox.find(kind, record_id)
            if owned is None:
                raise NoTarget(f"got the {kind} {record_id!r}; expected one that exists")
            return [owned]
        active = [(tenant, record) for tenant, record in self.sandbox.records(kind) if record.status == _ACTIVE[kind]]
        if not active:
            raise NoTarget(f"no {kind} is {_ACTIVE[kind]}")
        return active

    def movable(self, kind: Literal["session", "campaign"], trigger: str) -> Sequence[tuple[Scope, Any]]:
        """Return the records that the effect acts on and that have this transition, each with its scope."""
        chosen = self.records(kind)
        able = [(self.scope(tenant), record) for tenant, record in chosen if can_transition(kind, record, trigger)]
        if not able:
            states = ", ".join(f"{record.id} is {record.status}" for _, record in chosen)
            raise NoTarget(f"got {states}; expected {' or '.join(LIFECYCLES[kind].sources(trigger))}")
        return able

    def running_sends(self) -> Sequence[RunningSends]:
        """Return the running campaigns that the effect acts on."""
        chosen = self.records("campaign")
        running: list[RunningSends] = []
        for tenant, campaign in chosen:
            running += self.sends_of(tenant, campaign, self.subject)
        if not running:
            states = ", ".join(f"{campaign.id} is {campaign.status}" for _, campaign in chosen)
            raise NoTarget(f"got {states}; expected processing")
        return running

    def sends_of(self, tenant: Tenant, campaign: Campaign, subject: Subject) -> Iterator[RunningSends]:
        """Yield the remaining sends of a campaign, if it is running."""
        execution = campaigns.active_execution(tenant, campaign)
        if execution is not None:
            first = sending.next_position(self.sandbox, execution, subject)
            yield RunningSends(sandbox=self.sandbox, tenant=tenant, campaign=campaign, execution=execution, first=first)
