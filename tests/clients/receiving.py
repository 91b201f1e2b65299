"""
A careful receiver of events, and what its application makes of them.

1. A webhook request is genuine if its signature is valid for its bytes, with any secret in use, and it concerns this tenant.
2. It is answered immediately, and recorded later; an event received before is not recorded again. Useless ones are accepted.
3. Each session has one end, however often it is reported; a read of the session reports it as an event does.
4. A number that is connected stays so until a newer session connects another one: no late failure takes it back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from standardwebhooks import Webhook, WebhookVerificationError

from tests.clients.connecting import Connection

CONNECTED = "entrypoints.chatapp.connected"
CONNECTION_FAILED = "entrypoints.chatapp.connection_failed"


class WebhookRequest(Protocol):
    """The parts of a request that a receiver reads."""

    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def body(self) -> bytes: ...


@dataclass(frozen=True)
class End:
    """How a session ended: the channel that it connected, or why there is none."""

    entrypoint: Mapping[str, Any] | None
    reason: str | None


class CarefulReceiver:
    """
    The connections of one tenant, as recorded by its own application.

    `welcomed` names the sessions for which a welcome was sent, once each; `refused` counts the requests that were not
    genuine. `secrets` are all that are in use: a former one remains until its successor is everywhere.
    """

    def __init__(self, secrets: Sequence[str], tenant_id: str) -> None:
        self.secrets = list(secrets)
        self.welcomed: list[str] = []
        self.refused = 0
        self._tenant_id = tenant_id
        self._ends: dict[str, End | None] = {}  # by the ids of the sessions it has made, oldest first
        self._seen: set[str] = set()
        self._inbox: list[Mapping[str, Any]] = []

    def keep(self, session_id: str) -> None:
        """Record a new session; its event may have arrived before."""
        self._ends.setdefault(session_id, None)
        self.work()

    def learn(self, read: Connection) -> None:
        """Record a read of the session: the fallback if no event has reported how it ended."""
        if read.status != "pending":
            self._record(read.session_id, End(read.entrypoint, read.reason))

    def __call__(self, webhook: WebhookRequest) -> int:
        """The status with which a webhook request is answered; nothing is done about it before."""
        if not self.is_genuine(webhook):
            self.refused += 1
            return 401
        event = json.loads(webhook.body)
        if event.get("data", {}).get("tenantId", self._tenant_id) != self._tenant_id:
            self.refused += 1
            return 403
        webhook_id = _header(webhook, "webhook-id")
        if webhook_id not in self._seen:
            self._seen.add(webhook_id)
            self._inbox.append(event)
        return 204

    def work(self) -> None:
        """Record the received events; an event of an unknown session waits for the session."""
        waiting = []
        for event in self._inbox:
            kind, data = event["event"], event["data"]
            if kind not in (CONNECTED, CONNECTION_FAILED):
                continue
            if data["sessionId"] in self._ends:
                self._record(data["sessionId"], End(data.get("entrypoint"), data.get("reason")))
            else:
                waiting.append(event)
        self._inbox = waiting

    @property
    def connection(self) -> End | None:
        """What the newest session connected that connected anything, else how the newest one ended."""
        ends = list(self._ends.values())
        return next((end for end in reversed(ends) if end and end.entrypoint), ends[-1] if ends else None)

    @property
    def number(self) -> str | None:
        """The number that is connected."""
        end = self.connection
        return None if end is None or end.entrypoint is None else str(end.entrypoint["displayPhone"])

    def is_genuine(self, webhook: WebhookRequest) -> bool:
        for secret in self.secrets:
            try:
                Webhook(secret).verify(webhook.body, dict(webhook.headers.items()))
            except (WebhookVerificationError, ValueError):  # the latter for a header that is not a signature at all
                continue
            return True
        return False

    def _record(self, session_id: str, end: End) -> None:
        if self._ends[session_id] is None:
            self._ends[session_id] = end
            if end.entrypoint is not None:
                self.welcomed.append(session_id)


def _header(webhook: WebhookRequest, name: str) -> str:
    """The value of a header, whatever the case of its name."""
    return next(value for key, value in webhook.headers.items() if key.lower() == name)
