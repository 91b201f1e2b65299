"""What one run notes about its actors, their steps that can be released, and what all runs of a search learn about threads."""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping, Sequence

from mockserver.core.instants import Instant
from mockserver.core.scheduler import next_due
from mockserver.core.state.sandbox import SandboxState
from mockserver.core.webhooks.deliveries import due_endpoints
from mockserver.testing.runs.orders import schedules
from mockserver.testing.runs.orders.gate import Waiting
from mockserver.testing.runs.orders.schedules import Ready


class Actor:
    """A client, or the deliveries of one endpoint, in one run."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.waiting: list[Waiting] = []
        self.is_begun = self.is_over = self.is_task = False
        self.thread: threading.Thread | None = None
        self.blocked_at: str | None = None
        self.random = random.Random(name).getstate()
        self.unanswered = 0  # released requests over sockets

    @property
    def is_running(self) -> bool:
        return self.is_begun and not self.is_over

    @property
    def sleeps_until(self) -> Instant | None:
        return self.next_waiting().until if self.waiting else None

    def next_waiting(self) -> Waiting:
        return self.waiting[0] if len(self.waiting) == 1 else min(self.waiting, key=lambda waiting: waiting.order)

    def ready(self) -> list[Ready]:
        """Return the step with which it waits; empty if it has none."""
        if not self.is_begun:
            return [Ready(self.name, "start")]
        return [Ready(self.name, self.next_waiting().waits)] if self.waiting else []


class KnownThreads:
    """What the runs of one search have learned: threads that call for clients, and where clients were blocked."""

    def __init__(self) -> None:
        self.calling: set[threading.Thread] = set()
        self.blocks: set[str] = set()


class ReadySteps:
    """
    The steps of one run that can be released.

    Lifetime: one run.

    Args:
        state: The sandbox.
        actors: By name; deliveries are added when they begin.
        clients: The names of the clients in their order.
    """

    def __init__(self, state: SandboxState, actors: Mapping[str, Actor], clients: Sequence[str]) -> None:
        self._state, self._actors, self._clients = state, actors, clients

    def rows(self) -> list[Ready]:
        """Return the steps: of clients in their order, then of deliveries, then the timers."""
        rows = [row for name in self._clients for row in self._actors[name].ready()]
        due = self.due_deliveries()
        for name in self.endpoints():
            actor = self._actors.get(name)
            if actor is not None and actor.is_running:
                rows += actor.ready()
            elif name in due:
                rows.append(Ready(name, "delivery"))
        return schedules.next_in_time(rows, self._sleeps(), next_due(self._state))

    def endpoints(self) -> dict[str, str]:
        """Return the ids of the endpoints by the names of their deliveries."""
        webhooks = [webhook for tenant in self._state.tenants.values() for webhook in tenant.webhooks]
        return {schedules.endpoint_name(place): webhook for place, webhook in enumerate(webhooks)}

    def due_deliveries(self) -> frozenset[str]:
        """Return the names of the endpoints that have a delivery which is due."""
        if self._state.outbox.is_idle:
            return frozenset()
        due = due_endpoints(self._state)
        return frozenset(name for name, endpoint in self.endpoints().items() if endpoint in due)

    def _sleeps(self) -> dict[str, Instant]:
        ends = ((actor.name, actor.sleeps_until) for actor in self._actors.values())
        return {name: until for name, until in ends if until is not None}
