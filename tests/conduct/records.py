"""Explicitly constructed deliveries and visits, for behaviour that a receiver or a browser hardly shows."""

from __future__ import annotations

from typing import Any

from mockserver.core.run import Run
from mockserver.core.state.outbox import Attempt, Delivery
from mockserver.core.state.records import Event, PageVisit
from mockserver.judge.client.judge import ConductResult, judge
from mockserver.trace.of_sandbox import trace_of
from tests.clients.driven import Client

CONNECTED, FAILED = "entrypoints.chatapp.connected", "entrypoints.chatapp.connection_failed"
BROWSER = "Mozilla/5.0"


class Watched(Client):
    """A client whose sandbox gets explicitly constructed deliveries and visits."""

    def __init__(self, sandbox: Any) -> None:
        super().__init__(sandbox)
        self.core = sandbox._hosted.sandbox

    def deliver(self, session: str, *statuses: int, kind: str = CONNECTED, age: int = 0, **how: Any) -> None:
        """One attempt for each status, answered so; `age` is how many seconds ago the event happened."""
        tenant, now, deliveries = next(iter(self.core.tenants.values())), self.core.now, self.core.outbox.deliveries
        event = Event(
            0, f"event_{len(deliveries)}", now - age * 1_000_000, kind, tenant.id, tenant.sessions[session], None
        )
        fields = {"error": None, "duration_ms": 3, "headers": {"webhook-signature": "v1,a"}, "body": b"{}"} | how
        made = tuple(
            Attempt(number=n, at=now, due=now, status=each, **fields) for n, each in enumerate(statuses, start=1)
        )
        deliveries[event.id] = Delivery(0, event.id, event, "webhook_a", tenant.id, "delivered", 0, now, attempts=made)

    def visit(
        self, session: str, status: int = 200, method: str = "GET", agent: str = BROWSER, dest: str = "document"
    ) -> None:
        n = len(self.core.visits) + 1
        self.core.visits.append(PageVisit(n, self.core.now, session, method, "intro", agent, dest, None, status))

    def judged(self) -> ConductResult:
        return judge(trace_of(Run.of(self.core)))
