"""
Naive receivers of events, each with the bug that its first line names.

They work as long as every event arrives once, in order, on time, and from the service.
"""

from __future__ import annotations

import json
from typing import Any

from tests.clients.receiving import CONNECTED, WebhookRequest

Event = dict[str, Any]


class NaiveReceiver:
    """
    It accepts every webhook request, records each as often as it arrives, and treats the last one as the truth.

    `welcomed` names the session for each welcome that went out; `status` and `number` are what the application shows.
    """

    def __init__(self) -> None:
        self.status: str | None = None
        self.number: str | None = None
        self.welcomed: list[str] = []

    def __call__(self, webhook: WebhookRequest) -> int:
        self.record(json.loads(webhook.body))
        return 200

    def record(self, event: Event) -> None:
        """A success is a success, and everything else is a failure."""
        data = event["data"]
        if event["event"] == CONNECTED:
            self.status, self.number = "connected", data["entrypoint"]["displayPhone"]
            self.welcomed.append(data["sessionId"])
        else:
            self.status, self.number = "failed", None
