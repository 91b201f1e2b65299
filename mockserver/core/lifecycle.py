"""The only place where a record changes its state, by the rows of the lifecycle tables."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

from mockserver.contract.lifecycles import LIFECYCLES
from mockserver.core import ids
from mockserver.core.state.records import Campaign, Event, Execution, Session
from mockserver.core.state.sandbox import Scope
from mockserver.core.webhooks import deliveries

Record = TypeVar("Record", Campaign, Execution, Session)
Kind = Literal["campaign", "execution", "session"]


def can_transition(kind: Kind, record: Campaign | Execution | Session, trigger: str) -> bool:
    """Return True if the lifecycle has this transition from the record's state."""
    return LIFECYCLES[kind].step(record.status, trigger) is not None


def create(scope: Scope, kind: Kind, record: Record) -> Record:
    """Store a new record in its initial state and schedule the deadline of that state."""
    return _enter(scope, kind, record, None)


def transition(
    scope: Scope,
    kind: Kind,
    record: Record,
    trigger: str,
    **changes: Any,
) -> Record:
    """
    Apply the transition of (the record's state, `trigger`), with `changes` to its other fields.

    Emits the event of the transition and schedules the deadline of the new state.

    Raises:
        ValueError: If the table has no such transition, an error of the mock itself: callers check `can_transition`
            first.
    """
    step = LIFECYCLES[kind].require_step(record.status, trigger)
    moved = record._replace(status=step.target, state_version=scope.sandbox.next_number("state_version"), **changes)
    moved = _enter(scope, kind, moved, record.status)
    if step.event is not None:
        emit_event(scope, step.event, moved)
    return moved


def _enter(scope: Scope, kind: Kind, record: Record, source: str | None) -> Record:
    scope.tenant.table(kind)[record.id] = record
    scope.sandbox.journal.add_transition(scope.sandbox.now, kind, record.id, source, record.status, scope.cause)
    for deadline in LIFECYCLES[kind].deadlines:
        if deadline.state == record.status and isinstance(record, Session):
            due, trigger = record.expires_at, deadline.trigger
            scope.sandbox.schedule(due, kind, trigger, scope.tenant.id, record.id, record.state_version)
    return record


def emit_event(scope: Scope, kind: str, record: Campaign | Execution | Session) -> None:
    """Record an event about a record, and enqueue a delivery of it to each endpoint that accepts it."""
    count = scope.sandbox.next_number("event")
    event_id = "event_" + ids.seeded_id(scope.sandbox.seed, "event", count, scope.sandbox.epoch)
    created = record.entrypoint_id if isinstance(record, Session) else None
    entrypoint = scope.tenant.entrypoints.get(created) if created else None
    event = Event(
        seq=scope.sandbox.next_seq(),
        id=event_id,
        at=scope.sandbox.now,
        kind=kind,
        tenant_id=scope.tenant.id,
        record=record,
        entrypoint=entrypoint,
    )
    scope.sandbox.events.append(event)
    deliveries.enqueue_event(scope.sandbox, scope.tenant, event)
