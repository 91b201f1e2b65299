"""The careful receiver of events, and the bugs that real receivers have, each seeded as a small difference from it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tests.clients.receiving import CarefulReceiver, End, WebhookRequest


class NoDedupe(CarefulReceiver):
    """does everything again when an event is repeated"""

    def __call__(self, webhook: WebhookRequest) -> int:
        self._seen.clear()
        return super().__call__(webhook)

    def _record(self, session_id: str, end: End) -> None:
        self._ends[session_id] = None
        super()._record(session_id, end)


class ForgedAccepted(CarefulReceiver):
    """acknowledges an event without checking its signature"""

    def is_genuine(self, webhook: WebhookRequest) -> bool:
        return True


class LateEventOverwrites(CarefulReceiver):
    """takes the late failure of an old session for the end of the connection"""

    latest: End | None = None

    def _record(self, session_id: str, end: End) -> None:
        super()._record(session_id, end)
        self.latest = end

    @property
    def connection(self) -> End | None:
        return self.latest


BUGS: Mapping[str, type[CarefulReceiver]] = MappingProxyType(
    {"no-dedupe": NoDedupe, "forged-accepted": ForgedAccepted, "late-event-overwrites": LateEventOverwrites}
)
