"""What can be released between two steps of a run: steps of clients, deliveries that are due, timers, and ends of sleeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mockserver.core.instants import Instant
from mockserver.core.scheduler import next_due
from mockserver.core.state.sandbox import SandboxState
from mockserver.core.webhooks.deliveries import due_endpoints
from mockserver.testing.runs.orders import schedules
from mockserver.testing.runs.orders.actors import Actor
from mockserver.testing.runs.orders.schedules import TIMERS, Ready


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
        sleeps = self._sleeps()
        if not sleeps:
            return rows
        ending, timers = schedules.next_in_time(sleeps, next_due(self._state))
        rows = [row for row in rows if row.waits != "sleep" or row.name in ending]
        return [*rows, Ready(TIMERS, "time")] if timers else rows

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
