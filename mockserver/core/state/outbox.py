"""
The outbox: deliveries of events with their attempts, and what a script does to an attempt.

What a script can do to one attempt at a delivery, as data.

The outbox: every event on its way to every endpoint that takes it, with the attempts made so far.

It is part of a sandbox's state: a checkpoint keeps it, and what is under way is pending again where one is restored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from mockserver.core.instants import Duration, Instant
from mockserver.core.state.records import Event, Webhook

Forgery = Literal[
    "no-signature", "wrong-secret", "old-timestamp", "changed-body", "changed-id", "other-tenant", "junk-header"
]
BodyFormat = Literal["escaped", "spaced", "reordered-keys"]


@dataclass(frozen=True, slots=True)
class DeliveryFaults:
    """
    What happens to one attempt beside the plain course of things.

    `duplicate` more copies follow once the endpoint has accepted. `reorder` has it change places with the next event
    to that endpoint, `delay` has it wait aside while later ones pass; `lose` has it never leave, and count as accepted.
    `before_answer` sends it while the answer of the call that caused it is still out. A `forge`d letter and one of an
    `unknown_kind` go beside the true one. `old_secret` signs with a former secret too, `spell` writes the body otherwise.
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


NO_DELIVERY_FAULTS = DeliveryFaults()


@dataclass(frozen=True, slots=True)
class Attempt:
    """
    One letter to an endpoint: the attempt `number` of its delivery, or what a `fault` sent beside it.

    `status` is the endpoint's HTTP status; where none came, `error` says why. `answer` is the first of what it said.
    """

    number: int
    at: Instant
    due: Instant
    status: int | None
    error: str | None
    duration_ms: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    answer: bytes = b""
    fault: str | None = None

    @property
    def accepted(self) -> bool:
        """Any 2xx (fixed decision `wh-success`)."""
        return self.status is not None and 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class Delivery:
    """
    One event on its way to one endpoint; `seq` is the event's.

    `due` is the instant of its next attempt, or of its last one once it has ended. `attempts_in_schedule` counts the attempts of the
    running schedule, which a resend begins anew. `faults` are those of its next attempt, None before anybody asked.
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
        """The number of its next attempt, counted over resends."""
        return 1 + sum(each.fault is None for each in self.attempts)

    @property
    def has_ended(self) -> bool:
        return self.status in ("delivered", "abandoned")


class PlannedAttempt(NamedTuple):
    """An attempt that may be made now: whoever holds it sends it, without a lock, and reports."""

    epoch: int
    delivery: Delivery
    webhook: Webhook
    number: int
    at: Instant
    faults: DeliveryFaults
    message_id: str | None


QueueKey = tuple[int, str]  # the event's seq and the delivery's id, so that places sort in the order of happening


class Outbox:
    """
    The deliveries of a sandbox. Lives as long as its sandbox.

    `queues` holds, by endpoint, what waits for its turn in the order of happening; `loose` what a script has taken out
    of that order; `aside` the one of them that lets the next event pass. `stored` are events that nobody took yet.
    `under_way` is no state: attempts that somebody is making right now, by endpoint.
    """

    __slots__ = (
        "allowed_hosts",
        "by_event",
        "deliveries",
        "in_flight",
        "queues",
        "swapped_out",
        "unclaimed_events",
        "unordered",
    )

    def __init__(self, allowed_hosts: frozenset[str] = frozenset()) -> None:
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
        """True where nothing waits to be sent, now or later."""
        return not self.queues and not self.unordered

    def of_event(self, event_id: str) -> Iterator[Delivery]:
        """The deliveries of an event, in the order in which its endpoints were registered."""
        return (self.deliveries[each] for each in self.by_event.get(event_id, ()))

    def of_webhook(self, webhook_id: str) -> list[Delivery]:
        """The deliveries to an endpoint, in the order of happening."""
        return [each for each in self.deliveries.values() if each.webhook_id == webhook_id]

    def remove(self, place: QueueKey, webhook_id: str) -> None:
        """Take it out of its queue, or from among the loose ones."""
        for lane in (self.queues, self.unordered):
            if place in lane.get(webhook_id, ()):
                lane[webhook_id].remove(place)
                if not lane[webhook_id]:
                    del lane[webhook_id]
        if self.swapped_out.get(webhook_id) == place[1]:
            del self.swapped_out[webhook_id]

    def copy(self) -> Outbox:
        """An outbox of its own over the same frozen records, with nothing under way."""
        twin = Outbox(self.allowed_hosts)
        twin.deliveries, twin.by_event = self.deliveries.copy(), self.by_event.copy()
        twin.queues = {key: lane.copy() for key, lane in self.queues.items()}
        twin.unordered = {key: lane.copy() for key, lane in self.unordered.items()}
        twin.swapped_out, twin.unclaimed_events = self.swapped_out.copy(), self.unclaimed_events.copy()
        return twin
