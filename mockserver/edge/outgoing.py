"""What the control plane shows of deliveries: beside their events, and in the state. No secret is in it."""

from __future__ import annotations

from typing import Any

from mockserver.core.instants import exact_text
from mockserver.core.outbox import Attempt, Delivery
from mockserver.core.sandbox import Sandbox
from mockserver.edge.replies import redactor

JSON = dict[str, Any]


def of_event(sandbox: Sandbox, event_id: str) -> list[JSON]:
    """The deliveries of an event with their attempts; one under way has neither a status nor an error yet."""
    return [_shown(sandbox, each) for each in sandbox.outbox.of_event(event_id)]


def _shown(sandbox: Sandbox, delivery: Delivery) -> JSON:
    attempts = [_attempt(sandbox, each) | {"durationMs": each.duration_ms} for each in delivery.attempts]
    planned = sandbox.outbox.under_way.get(delivery.webhook_id)
    if planned is not None and planned.delivery.id == delivery.id:
        attempts.append({"at": exact_text(planned.at)})
    return {"endpoint": delivery.webhook_id, "status": delivery.status, "attempts": attempts}


def _attempt(sandbox: Sandbox, made: Attempt) -> JSON:
    """When it was made, what came of it and, of a letter that a script has sent, what was done to it."""
    error = redactor(sandbox).text(made.error) if made.error else None  # a receiver that raised has its own words
    told = {"status": made.status, "error": error, "twist": made.twist}
    return {"at": exact_text(made.at), **{key: each for key, each in told.items() if each is not None}}


def state(sandbox: Sandbox) -> JSON:
    """The deliveries and the events that nobody took yet; how long an attempt took in real time is no part of it."""
    outbox = sandbox.outbox
    rows = [
        {
            "id": each.id,
            "eventId": each.event.id,
            "endpoint": each.webhook_id,
            "status": each.status,
            "due": exact_text(each.due),
            "attempts": [_attempt(sandbox, made) for made in each.attempts],
        }
        for each in outbox.deliveries.values()
    ]
    return {"deliveries": rows, "storedEvents": [each.id for each in outbox.stored]}
