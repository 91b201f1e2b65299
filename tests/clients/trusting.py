"""
Naive receivers of events, each with the bug that its first line names.

They work as long as every event arrives once, in order, on time, and from the service.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from standardwebhooks import Webhook, WebhookVerificationError

from tests.clients.receiving import CONNECTED, CONNECTION_FAILED, WebhookRequest

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


class KnowingReceiver(NaiveReceiver):
    """It books only sessions that are known by now, and breaks at any other."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[str, str | None] = {}

    def keep(self, session_id: str) -> None:
        self.known[session_id] = None

    def record(self, event: Event) -> None:
        session_id = event["data"]["sessionId"]
        if session_id not in self.known:
            self.at_stranger(session_id)
            return
        super().record(event)
        self.known[session_id] = self.status

    def at_stranger(self, session_id: str) -> None:
        raise KeyError(session_id)  # the server that runs it answers 500


class ForgettingReceiver(KnowingReceiver):
    """It accepts the event of a session that is not known by now, and forgets it."""

    def at_stranger(self, session_id: str) -> None:
        pass


class NarrowReceiver(NaiveReceiver):
    """It refuses kinds of events that the document does not list."""

    def __call__(self, webhook: WebhookRequest) -> int:
        if json.loads(webhook.body)["event"] not in (CONNECTED, CONNECTION_FAILED):
            return 400
        return super().__call__(webhook)


class RespellingReceiver(NaiveReceiver):
    """It verifies what it has parsed and serialized again, and not the bytes that arrived."""

    def __init__(self, secret: str) -> None:
        super().__init__()
        self._webhook = Webhook(secret)

    def __call__(self, webhook: WebhookRequest) -> int:
        read = json.loads(webhook.body)
        written = {"event": read["event"], "data": read["data"]}
        text = json.dumps(written, ensure_ascii=False, separators=(",", ":"))
        try:
            self._webhook.verify(text, dict(webhook.headers.items()))
        except WebhookVerificationError:
            return 401
        return super().__call__(webhook)


class OneSignatureReceiver(NaiveReceiver):
    """It checks the first signature alone, of however many there are."""

    def __init__(self, secret: str) -> None:
        super().__init__()
        self._webhook = Webhook(secret)

    def __call__(self, webhook: WebhookRequest) -> int:
        first, *_ = webhook.headers["webhook-signature"].split(" ")
        try:
            self._webhook.verify(webhook.body, {**webhook.headers, "webhook-signature": first})
        except WebhookVerificationError:
            return 401
        return super().__call__(webhook)


class UndatedReceiver(NaiveReceiver):
    """It computes the signature by itself, and does not check the age of the webhook request."""

    def __init__(self, secret: str) -> None:
        super().__init__()
        self._webhook = Webhook(secret)

    def __call__(self, webhook: WebhookRequest) -> int:
        sent = datetime.fromtimestamp(int(webhook.headers["webhook-timestamp"]), UTC)
        right = self._webhook.sign(webhook.headers["webhook-id"], sent, webhook.body.decode())
        if webhook.headers.get("webhook-signature") != right:
            return 401
        return super().__call__(webhook)


class SlowReceiver(NaiveReceiver):
    """It does everything before it answers, and by then the service has hung up: the first time only, while caches are cold."""

    def __init__(self) -> None:
        super().__init__()
        self._is_warm = False

    def __call__(self, webhook: WebhookRequest) -> int:
        status = super().__call__(webhook)
        if not self._is_warm:
            self._is_warm = True
            raise TimeoutError
        return status


class ReceiverBehindAPage(NaiveReceiver):
    """While it is down, a maintenance page answers in its place, with 200."""

    def __init__(self) -> None:
        super().__init__()
        self.is_down = True

    def __call__(self, webhook: WebhookRequest) -> int:
        return 200 if self.is_down else super().__call__(webhook)
