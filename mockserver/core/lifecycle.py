"""The only place where a record changes its state, by the rows of the lifecycle tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, TypeVar

from mockserver.contract.lifecycles import LIFECYCLES
from mockserver.core import ids
from mockserver.core.instants import as_shown, to_microseconds
from mockserver.core.state.records import Campaign, Event, Execution, Session
from mockserver.core.state.sandbox import SandboxState
from mockserver.core.state.tenant import Tenant
from mockserver.core.webhooks import deliveries

Record = TypeVar("Record", Campaign, Execution, Session)
Kind = Literal["campaign", "execution", "session"]


def can_transition(kind: Kind, record: Campaign | Execution | Session, trigger: str) -> bool:
    """Return True if the lifecycle has this transition from the record's state."""
    return LIFECYCLES[kind].step(record.status, trigger) is not None


def create(sandbox: SandboxState, tenant: Tenant, kind: Kind, record: Record, cause: Mapping[str, object]) -> Record:
    """Store a new record in its initial state and schedule the deadline of that state."""
    return _enter(sandbox, tenant, kind, record, None, cause)


def transition(
    sandbox: SandboxState,
    tenant: Tenant,
    kind: Kind,
    record: Record,
    trigger: str,
    cause: Mapping[str, object],
    **changes: Any,
) -> Record:
    """
    Apply the transition of (the record's state, `trigger`), with `changes` to its other fields.

    Emits the event of the transition and schedules the deadline of the new state.

    Raises:
        ValueError: If the table has no such transition, an error of the mock itself: callers check `can_transition`
            first.
    """
    step = LIFECYCLES[kind].step(record.status, trigger)
    if step is None:
        raise ValueError(f"got '{trigger}' for a {kind} that is {record.status}; expected a transition of the table")
    moved = replace(record, status=step.target, state_version=sandbox.next_number("state_version"), **changes)
    moved = _enter(sandbox, tenant, kind, moved, record.status, cause)
    if step.event is not None and isinstance(moved, Session):
        emit_event(sandbox, tenant, step.event, moved)
    return moved


def _enter(
    sandbox: SandboxState, tenant: Tenant, kind: Kind, record: Record, source: str | None, cause: Mapping[str, object]
) -> Record:
    tenant.table(kind)[record.id] = record
    sandbox.journal.add_transition(sandbox.now, kind, record.id, source, record.status, cause)
    for deadline in LIFECYCLES[kind].deadlines:
        if deadline.state == record.status:
            due = (
                record.expires_at
                if isinstance(record, Session)
                else as_shown(sandbox.now) + to_microseconds(deadline.after)
            )
            sandbox.schedule(due, kind, deadline.trigger, tenant.id, record.id, record.state_version)
    return record


def emit_event(sandbox: SandboxState, tenant: Tenant, kind: str, session: Session) -> None:
    """Record an event, and enqueue a delivery of it to each endpoint that accepts it."""
    count = sandbox.next_number("event")
    event_id = "event_" + ids.seeded_id(sandbox.seed, "event", count, sandbox.epoch)
    entrypoint = tenant.entrypoints.get(session.entrypoint_id) if session.entrypoint_id else None
    event = Event(sandbox.next_seq(), event_id, sandbox.now, kind, tenant.id, session, entrypoint)
    sandbox.events.append(event)
    deliveries.enqueue_event(sandbox, tenant, event)
