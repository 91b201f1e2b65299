"""
Connecting a number, as a careful client does it: the link is for an end user, and a read of the session returns its end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.clients.calls import TRIES, Calls, Unreachable, Unsure, back_off_s
from tests.clients.operations import JSON

WORTH_ANOTHER_SESSION = frozenset({"expired", "token_exchange_failed"})
LINKS_MAX = 3
POLL_SESSION_S = 5
SESSION_LIFE_S = 20 * 60
SESSION_GRACE_S = 60  # a service may take its time to notice that a deadline has passed


@dataclass(frozen=True)
class Connection:
    """How a session ended; `pending` if its deadline passed and the service still returns that."""

    session_id: str
    status: str
    reason: str | None
    entrypoint: JSON | None


class Connecting(Calls):
    """The part of `Careful` that is about connection sessions; only `Careful` inherits it."""

    def connect(
        self, keep: Callable[[str], object], show: Callable[[str], object], *, attempts: int = 1, **body: Any
    ) -> Connection:
        """
        Have an end user connect a number; a further attempt only for a reason that may pass.

        `keep` gets the session's id before `show` gets the link to open. If `show` returns False, the end user has reported
        that the link is broken: then they get a new one, and the old session is left to its deadline.
        """
        links = LINKS_MAX
        while True:
            created = self._created(body)
            keep(created["sessionId"])
            links -= 1
            if show(created["url"]) is False and links:
                continue
            ended = self.await_session(created["sessionId"])
            attempts -= 1
            if ended.reason not in WORTH_ANOTHER_SESSION or not attempts:
                return ended

    def _created(self, body: JSON) -> JSON:
        for attempt in range(TRIES):
            try:
                created: JSON = self.create_session(dict(body))
                return created
            except Unsure:
                self._wait(back_off_s(attempt))  # the lost one expires unseen, since nothing lists sessions
        raise Unreachable("a connection session")

    def await_session(self, session_id: str, patience_s: float = SESSION_LIFE_S + SESSION_GRACE_S) -> Connection:
        """Poll while the session is pending, a little beyond its deadline at most."""
        waited_s = 0.0
        while True:
            ended = self.session(session_id)
            if ended.status != "pending" or waited_s > patience_s:
                return ended
            self._wait(POLL_SESSION_S)
            waited_s += POLL_SESSION_S

    def session(self, session_id: str) -> Connection:
        read = self.read_session(session_id)
        return Connection(session_id, read["status"], read.get("reason"), read.get("entrypoint"))

    def returned(self, url: str, session_id: str) -> Connection:
        """Somebody visits the returnUrl: anybody can, with whatever query, so that it is a reason to read, and no more."""
        return self.session(session_id)

    def entrypoint(self, entrypoint_id: str) -> JSON:
        found: JSON = self.read_entrypoint(entrypoint_id)["entrypoint"]
        return found
