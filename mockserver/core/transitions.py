"""The one place where a record changes its state: the lifecycle table is looked up, the replacement stored, the rest follows from the row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, TypeVar

from mockserver.contract.lifecycles import LIFECYCLES
from mockserver.core import deliveries, ids
from mockserver.core.instants import as_shown, span
from mockserver.core.records import Campaign, Event, Execution, Session
from mockserver.core.sandbox import TABLE_OF, Sandbox
from mockserver.core.tenant import Tenant

Record = TypeVar("Record", Campaign, Execution, Session)
Kind = Literal["campaign", "execution", "session"]


def can(kind: Kind, record: Campaign | Execution | Session, trigger: str) -> bool:
    """True where the lifecycle has this move from the record's state."""
    return LIFECYCLES[kind].step(record.status, trigger) is not None


def born(sandbox: Sandbox, tenant: Tenant, kind: Kind, record: Record, cause: Mapping[str, object]) -> Record:
    """Store a new record in its initial state and arm that state's deadline."""
    return _enter(sandbox, tenant, kind, record, None, cause)


def move(
    sandbox: Sandbox,
    tenant: Tenant,
    kind: Kind,
    record: Record,
    trigger: str,
    cause: Mapping[str, object],
    **changes: Any,
) -> Record:
    """
    Take the record along the row of (its state, `trigger`), with `changes` to its other fields.

    Emits the row's event and arms the new state's deadline. A move without a row is an error of the mock itself: verbs
    check with `can` before they write.
    """
    step = LIFECYCLES[kind].step(record.status, trigger)
    if step is None:
        raise ValueError(f"a {kind} that is {record.status} has no move '{trigger}'; check with `can` first")
    moved = replace(record, status=step.target, stay=sandbox.count("stay"), **changes)
    moved = _enter(sandbox, tenant, kind, moved, record.status, cause)
    if step.event is not None and isinstance(moved, Session):
        emit(sandbox, tenant, step.event, moved)
    return moved


def _enter(
    sandbox: Sandbox, tenant: Tenant, kind: Kind, record: Record, source: str | None, cause: Mapping[str, object]
) -> Record:
    getattr(tenant, TABLE_OF[kind])[record.id] = record
    sandbox.journal.note(sandbox.now, kind, record.id, source, record.status, cause)
    for deadline in LIFECYCLES[kind].deadlines:
        if deadline.state == record.status:
            due = record.expires_at if isinstance(record, Session) else as_shown(sandbox.now) + span(deadline.after)
            sandbox.arm(due, kind, deadline.trigger, tenant.id, record.id, record.stay)
    return record


def emit(sandbox: Sandbox, tenant: Tenant, kind: str, session: Session) -> None:
    """Note an event, and put a delivery of it into the outbox for each endpoint that takes it."""
    count = sandbox.count("event")
    event_id = "event_" + ids.draw(sandbox.seed, "event", count, sandbox.epoch)
    entrypoint = tenant.entrypoints.get(session.entrypoint_id) if session.entrypoint_id else None
    event = Event(sandbox.next_seq(), event_id, sandbox.now, kind, tenant.id, session, entrypoint)
    sandbox.events.append(event)
    deliveries.send(sandbox, tenant, event)
