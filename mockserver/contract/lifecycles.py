"""
The states of campaigns, executions, connection sessions and deliveries, as tables.

Rules of these tables:
1. A row is one legal transition: from a state, by a trigger, to a state. Anything without a row cannot happen.
2. A state without outgoing rows is final.
3. A deadline belongs to a state: entering the state schedules it, leaving the state cancels it.
4. The transition itself emits its event, never its caller. The events are the rows of `EVENTS`.

The tables do not hold the conditions of a transition, which are checks of the operation that applies it, nor the
duration of sends: an execution's `finish` is due when its last send is, which is arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

Kind = Literal["campaign", "execution", "session", "delivery"]


class Step(NamedTuple):
    """A legal transition; `event` is the outbound event that it emits, if any."""

    source: str
    trigger: str
    target: str
    event: str | None = None


class Deadline(NamedTuple):
    """The trigger for a record that stays in `state` until its `expires_at`, which only a session has."""

    state: str
    trigger: str


class Lifecycle(NamedTuple):
    """One kind's states: the first is the initial one."""

    kind: Kind
    states: tuple[str, ...]
    steps: tuple[Step, ...]
    clause: str
    deadlines: tuple[Deadline, ...] = ()

    @property
    def initial(self) -> str:
        return self.states[0]

    @property
    def final(self) -> frozenset[str]:
        return frozenset(self.states) - {step.source for step in self.steps}

    def step(self, source: str, trigger: str) -> Step | None:
        """Return the row for this state and trigger, or None if the transition is not legal."""
        return next((row for row in self.steps if row.source == source and row.trigger == trigger), None)

    def require_step(self, source: str, trigger: str) -> Step:
        """Return the row for this state and trigger; ValueError, an error of the mock itself, if there is none."""
        step = self.step(source, trigger)
        if step is None:
            raise ValueError(f"got '{trigger}' for a {self.kind} that is {source}; expected a transition of the table")
        return step

    def sources(self, trigger: str) -> tuple[str, ...]:
        """Return the states that have a transition by this trigger."""
        return tuple(row.source for row in self.steps if row.trigger == trigger)


CONNECTED = "entrypoints.chatapp.connected"
CONNECTION_FAILED = "entrypoints.chatapp.connection_failed"


class EventKind(NamedTuple):
    """A kind of event: its name on the wire, its schema in `schemas/`, and its texts in the OpenAPI document."""

    name: str
    schema: str
    summary: str
    description: str

    @property
    def group(self) -> str:
        """What an endpoint is registered for to receive this kind and its relatives."""
        return self.name.partition(".")[0]


EVENTS: Mapping[str, EventKind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            EventKind(
                name=CONNECTED,
                schema="event.connected",
                summary="A session completed",
                description="Sent to the endpoints registered for `entrypoints` when a connection session completes.",
            ),
            EventKind(
                name=CONNECTION_FAILED,
                schema="event.connection_failed",
                summary="A session failed or expired",
                description="Sent to the endpoints registered for `entrypoints` when a connection session fails or expires.",
            ),
        )
    }
)
# What an endpoint may be registered for: a group of events, or one kind.
SUBSCRIPTIONS = (*dict.fromkeys(kind.group for kind in EVENTS.values()), *EVENTS)

# fmt: off
CAMPAIGN = Lifecycle(
    kind="campaign",
    states=("draft", "processing", "completed", "canceled", "failed"),
    steps=(
        Step("draft",      "start",  "processing"),
        Step("draft",      "cancel", "canceled"),
        Step("processing", "finish", "completed"),
        Step("processing", "fail",   "failed"),
        Step("processing", "cancel", "canceled"),
    ),
    clause="campaigns.status-values",
)
EXECUTION = Lifecycle(
    kind="execution",
    states=("processing", "completed", "failed", "canceled"),
    steps=(
        Step("processing", "finish", "completed"),
        Step("processing", "fail",   "failed"),
        Step("processing", "cancel", "canceled"),
    ),
    clause="campaigns.status-values",
)
SESSION = Lifecycle(
    kind="session",
    states=("pending", "completed", "failed", "expired"),
    steps=(
        Step("pending", "complete", "completed", CONNECTED),
        Step("pending", "fail",     "failed",    CONNECTION_FAILED),
        Step("pending", "expire",   "expired",   CONNECTION_FAILED),
    ),
    deadlines=(Deadline("pending", "expire"),),
    clause="session.final",
)
FINAL = CAMPAIGN.final | SESSION.final  # of all that a client polls
# A delivery sends one event to one endpoint. An attempt leaves it delivered, waiting for the next attempt,
# or abandoned when the schedule has no further attempt; a resend makes one that has ended due again.
DELIVERY = Lifecycle(
    kind="delivery",
    states=("due", "waiting", "delivered", "abandoned"),
    steps=(
        Step("due",       "accept",  "delivered"),
        Step("due",       "wait",    "waiting"),
        Step("due",       "abandon", "abandoned"),
        Step("waiting",   "wake",    "due"),
        Step("delivered", "resend",  "due"),
        Step("abandoned", "resend",  "due"),
    ),
    clause="events.nothing-lost",
)
# fmt: on

LIFECYCLES: Mapping[str, Lifecycle] = MappingProxyType(
    {table.kind: table for table in (CAMPAIGN, EXECUTION, SESSION, DELIVERY)}
)
