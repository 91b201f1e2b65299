"""What receivers of events have answered, a row an attempt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mockserver.core.instants import Instant
from mockserver.core.sandbox import Sandbox


class Letter(NamedTuple):
    """One attempt to deliver an event to one endpoint; `twist` says what a script made of it, None for the plain letter."""

    endpoint: str
    event_id: str
    kind: str
    session_id: str
    happened_at: Instant
    at: Instant
    status: int | None
    duration_ms: int
    twist: str | None
    headers: Mapping[str, str]
    body: bytes
    answer: bytes

    @property
    def accepted(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def is_true(self) -> bool:
        """True for the event itself and its copies, False for what a script sent beside it."""
        return self.twist in (None, "duplicate")

    @property
    def told(self) -> str:
        """The letter as a finding names it."""
        return f"{self.event_id} at {self.endpoint}"


def letters(sandbox: Sandbox) -> Sequence[Letter]:
    """Every attempt that reached out for an endpoint, in the order of sending."""
    found = [
        Letter(
            delivery.webhook_id,
            delivery.event.id,
            delivery.event.kind,
            delivery.event.session.id,
            delivery.event.at,
            each.at,
            each.status,
            each.duration_ms,
            each.twist,
            each.headers,
            each.body,
            each.answer,
        )
        for delivery in sandbox.outbox.deliveries.values()
        for each in delivery.attempts
    ]
    return sorted(found, key=lambda letter: letter.at)
