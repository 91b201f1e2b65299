"""
One view of what has happened in a sandbox, for everything that judges, counts, explores or reports.

Those never write, and read the state of a sandbox through a `Run` alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mockserver.core.instants import Instant
from mockserver.core.state.journal import CommandRecord, JournalEntry, Transition
from mockserver.core.state.outbox import Delivery
from mockserver.core.state.records import PageVisit
from mockserver.core.state.rules import DeferredCall, Rule
from mockserver.core.state.sandbox import Clock, SandboxState
from mockserver.core.state.tenant import OfTenants, Tenant


@dataclass(frozen=True, kw_only=True)
class Run(OfTenants):
    """
    What has happened in a sandbox, and its records and settings as they are now.

    `read_at` is the instant of the sandbox's clock when the view was made, `now` the latest instant that it has used.
    `deferred` are the calls that a rule delays although their clients have disconnected, by id. `commands` are those that
    the journal, which is bounded, still has.

    Lifetime: the collections are the sandbox's own, so a view costs nothing and is right until the sandbox changes.
    Lock: the caller holds the sandbox's lock while it uses the view, or makes it of a copy.
    """

    now: Instant
    read_at: Instant
    clock: Clock
    choices: Mapping[str, object]
    exchanges: Sequence[JournalEntry]
    last_exchange: int
    transitions: Sequence[Transition]
    tenants: Mapping[str, Tenant]
    deliveries: Mapping[str, Delivery]
    visits: Sequence[PageVisit]
    rules: Mapping[str, Rule]
    deferred: Mapping[str, DeferredCall]
    commands: Sequence[CommandRecord]

    @classmethod
    def of(cls, sandbox: SandboxState) -> Run:
        """Return the view of a sandbox."""
        journal, rule_set = sandbox.journal, sandbox.rule_set
        return cls(
            now=sandbox.now,
            read_at=sandbox.read_clock(),
            clock=sandbox.clock,
            choices=sandbox.choices,
            exchanges=journal.exchanges,
            last_exchange=journal.last_exchange,
            transitions=journal.transitions,
            tenants=sandbox.tenants,
            deliveries=sandbox.outbox.deliveries,
            visits=sandbox.visits,
            rules=rule_set.rules,
            deferred=rule_set.deferred_calls,
            commands=journal.commands,
        )
