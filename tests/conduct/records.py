"""Deliveries and visits made by hand, with the fields that the judges read, for a sandbox that has neither."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from mockserver.core.conduct import judging
from mockserver.core.conduct.records import Report
from mockserver.core.records import Event
from tests.conduct.client import Client

CONNECTED, FAILED = "entrypoints.chatapp.connected", "entrypoints.chatapp.connection_failed"
BROWSER = "Mozilla/5.0"


class Watched(Client):
    """A client whose sandbox is given deliveries and visits by hand."""

    def __init__(self, sandbox: Any) -> None:
        super().__init__(sandbox)
        self.core = sandbox._hosted.sandbox
        self.deliveries: dict[str, Any] = {}
        self.core.outbox = SimpleNamespace(deliveries=self.deliveries)
        self.core.visits = []

    def deliver(self, session: str, *statuses: int, kind: str = CONNECTED, age: int = 0, **how: Any) -> None:
        """One attempt for each status, answered so; `age` is how many seconds ago the event happened."""
        tenant = next(iter(self.core.tenants.values()))
        event_id = f"event_{len(self.core.events) + len(self.deliveries)}"
        event = Event(0, event_id, self.core.now - age * 1_000_000, kind, tenant.id, tenant.sessions[session], None)
        fields = {
            "twist": None,
            "duration_ms": 3,
            "headers": {"webhook-signature": "v1,a"},
            "body": b"{}",
            "answer": b"",
        }
        attempts = [SimpleNamespace(at=self.core.now, status=status, **(fields | how)) for status in statuses]
        self.deliveries[event_id] = SimpleNamespace(webhook_id="webhook_a", event=event, attempts=attempts)

    def visit(
        self, session: str, status: int = 200, method: str = "GET", agent: str = BROWSER, dest: str = "document"
    ) -> None:
        n = len(self.core.visits) + 1
        fields = {"session_id": session, "method": method, "step": "intro", "referer": None}
        self.core.visits.append(
            SimpleNamespace(n=n, at=self.core.now, user_agent=agent, sec_fetch_dest=dest, status=status, **fields)
        )

    def judged(self) -> Report:
        return judging.judge(self.core)
