"""
The outbox of a sandbox: deliveries of events to endpoints with their attempts, and the faults of an attempt.

The outbox is part of the sandbox's state: a checkpoint copies it, and an attempt in flight is pending in the copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from mockserver.contract.effects.deliveries import BodyFormat, Forgery
from mockserver.core.instants import Duration, Instant
from mockserver.core.state.copying import with_own_tables
from mockserver.core.state.records import Event, Webhook


class DeliveryFaults(NamedTuple):
    """
    Faults that rules apply to one attempt at a delivery.

    `duplicate` is the number of copies sent after the endpoint has accepted. `reorder` swaps it with the next event to
    that endpoint, `delay` postpones it while later ones pass; `lose` does not send it and counts it as accepted.
    `before_answer` sends it before the response of the call that caused it. A request forged by `forge` and an event of
    an `unknown_kind` are sent in addition to the genuine request. `old_secret` adds a signature with a former secret,
    `spell` is another format of the same JSON body.
    """

    duplicate: int = 0
    reorder: bool = False
    delay: Duration = 0
    lose: bool = False
    before_answer: bool = False
    forge: Forgery | None = None
    old_secret: bool = False
    spell: BodyFormat | None = None
    unknown_kind: str | None = None


RECEIVER_RAISED = "the receiver raised"  # the beginning of an attempt's error if a function or an app raised


class Attempt(NamedTuple):
    """
    One request to an endpoint: attempt `number` of its delivery, or an additional request made by `fault`.

    `status` is the endpoint's HTTP status, None if there was no response; `error` is then the reason. `answer` is the
    beginning of the response body.
    """

    number: int
    at: Instant
    due: Instant
    status: int | None
    error: str | None
    duration_ms: int
    headers: Mapping[str, str] = {}
    body: bytes = b""
    answer: bytes = b""
    fault: str | None = None

    @property
    def accepted(self) -> bool:
        """Return True for any 2xx (fixed decision `wh-success`)."""
        return self.status is not None and 200 <= self.status < 300


class Delivery(NamedTuple):
    """
    The delivery of one event to one endpoint; `seq` is the event's.

    `due` is the instant of its next attempt, or of its last one after it has ended. `attempts_in_schedule` counts the
    attempts of the current retry schedule; a resend starts the schedule again. `faults` are those of its next attempt,
    None until the rules were evaluated for it.
    """

    seq: int
    id: str
    event: Event
    webhook_id: str
    tenant_id: str
    status: str
    state_version: int
    due: Instant
    attempts_in_schedule: int = 0
    attempts: tuple[Attempt, ...] = ()
    faults: DeliveryFaults | None = None

    @property
    def next_attempt_number(self) -> int:
        """Return the number of the next attempt, counted over resends."""
        return 1 + sum(attempt.fault is None for attempt in self.attempts)

    @property
    def has_ended(self) -> bool:
        return self.status in ("delivered", "abandoned")


class PlannedAttempt(NamedTuple):
    """
    An attempt that is due now; the dispatcher sends it without the lock and records the result.

    `before_answer` is the number of the call whose response a rule makes wait for it, None if there is none.
    """

    epoch: int
    delivery: Delivery
    webhook: Webhook
    number: int
    at: Instant
    faults: DeliveryFaults
    message_id: str | None
    before_answer: int | None = None


QueueKey = tuple[int, str]  # the event's seq and the delivery's id: sorts in the order of the events


class Outbox:
    """
    The deliveries of a sandbox, by id, by event and by endpoint.

    `queues` holds, by endpoint, the pending deliveries in the order of their events; `unordered` those that a rule has
    taken out of that order; `swapped_out` the one of them that lets the next event pass. `unclaimed_events` are events
    that no endpoint has received yet. `in_flight` are the attempts being sent, by endpoint; they are not part of the
    state.

    Lifetime: the sandbox's.
    """

    def __init__(self, allowed_hosts: frozenset[str] = frozenset({"localhost"})) -> None:
        self.allowed_hosts = allowed_hosts
        self.deliveries: dict[str, Delivery] = {}
        self.by_event: dict[str, tuple[str, ...]] = {}
        self.queues: dict[str, list[QueueKey]] = {}
        self.unordered: dict[str, list[QueueKey]] = {}
        self.swapped_out: dict[str, str] = {}
        self.unclaimed_events: list[Event] = []
        self.in_flight: dict[str, PlannedAttempt] = {}

    @property
    def is_idle(self) -> bool:
        """Return True if nothing is to be sent, now or later."""
        return not self.queues and not self.unordered

    def of_event(self, event_id: str) -> Iterator[Delivery]:
        """Return the deliveries of an event, in the order in which its endpoints were registered."""
        return (self.deliveries[id] for id in self.by_event.get(event_id, ()))

    def of_webhook(self, webhook_id: str) -> list[Delivery]:
        """Return the deliveries to an endpoint, in the order of creation."""
        return [delivery for delivery in self.deliveries.values() if delivery.webhook_id == webhook_id]

    def remove(self, key: QueueKey, webhook_id: str) -> None:
        """Remove a delivery from its queue, or from the unordered ones."""
        for queues in (self.queues, self.unordered):
            queue = queues.get(webhook_id, [])
            if key in queue:
                queue.remove(key)
            if not queue:
                queues.pop(webhook_id, None)
        if self.swapped_out.get(webhook_id) == key[1]:
            del self.swapped_out[webhook_id]

    def copy(self) -> Outbox:
        """Return an outbox with its own tables over the same frozen records, with no attempt in flight."""
        copied = with_own_tables(self)
        copied.queues = {key: queue.copy() for key, queue in self.queues.items()}
        copied.unordered = {key: queue.copy() for key, queue in self.unordered.items()}
        copied.in_flight = {}
        return copied
