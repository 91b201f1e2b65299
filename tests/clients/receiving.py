"""
A careful receiver of events, and what its application makes of them.

1. A letter is believed if its signature holds for its bytes, with any secret that is in use, and it is about this tenant.
2. It is answered at once, and booked later; one that came before is not booked again. What is of no use is accepted too.
3. Each session has one end, however often and in whatever way it is told; reading a session tells it as an event does.
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


class Letter(Protocol):
    """What a receiver looks at in a request."""

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
    The connections of one tenant, as its own application knows them.

    `welcomed` names the sessions for which a welcome went out, once each; `refused` counts the letters that were not
    believed. `secrets` are all that are in use: a former one stays until its successor is everywhere.
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
        """A session was made; its event may have come before."""
        self._ends.setdefault(session_id, None)
        self.work()

    def learn(self, read: Connection) -> None:
        """The session was read: the fallback where no event has told how it ended."""
        if read.status != "pending":
            self._book(read.session_id, End(read.entrypoint, read.reason))

    def __call__(self, letter: Letter) -> int:
        """The status with which a letter is answered; nothing is done about it before."""
        if not self.is_genuine(letter):
            self.refused += 1
            return 401
        event = json.loads(letter.body)
        if event.get("data", {}).get("tenantId", self._tenant_id) != self._tenant_id:
            self.refused += 1
            return 403
        letter_id = _header(letter, "webhook-id")
        if letter_id not in self._seen:
            self._seen.add(letter_id)
            self._inbox.append(event)
        return 204

    def work(self) -> None:
        """Book what has come; an event of a session that is not known yet stays until it is."""
        waiting = []
        for event in self._inbox:
            kind, told = event["event"], event["data"]
            if kind not in (CONNECTED, CONNECTION_FAILED):
                continue
            if told["sessionId"] in self._ends:
                self._book(told["sessionId"], End(told.get("entrypoint"), told.get("reason")))
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

    def is_genuine(self, letter: Letter) -> bool:
        for secret in self.secrets:
            try:
                Webhook(secret).verify(letter.body, dict(letter.headers.items()))
            except (WebhookVerificationError, ValueError):  # the latter for a header that is no signature at all
                continue
            return True
        return False

    def _book(self, session_id: str, end: End) -> None:
        if self._ends[session_id] is None:
            self._ends[session_id] = end
            if end.entrypoint is not None:
                self.welcomed.append(session_id)


def _header(letter: Letter, name: str) -> str:
    """The value of a header, however its name is spelt."""
    return next(value for spelt, value in letter.headers.items() if spelt.lower() == name)
