"""Webhook endpoints that a test has registered, and the deliveries to them."""

from __future__ import annotations

from collections.abc import Callable

from mockserver._json import JSON


class Receiver:
    """
    A registered webhook endpoint. Created by `Sandbox.receive_webhooks`.

    Attributes:
        id: The endpoint's id, such as `webhook_1`, for `Sandbox.webhooks`.
        url: Where deliveries are sent; for an app or a function, the url that its requests have.
        secret: The secret with which deliveries were signed when it was registered.
    """

    def __init__(self, webhook_id: str, url: str, secret: str, events: Callable[[], list[JSON]]) -> None:
        self._events = events
        self.id = webhook_id
        self.url = url
        self.secret = secret

    @property
    def deliveries(self) -> list[JSON]:
        """
        The deliveries to this endpoint, in the order of their events.

        Each is a dict with the members `event` (its kind), `eventId`, `status` and `attempts`; an attempt has its instant
        `at`, the receiver's HTTP `status` or an `error`, and its real duration `durationMs`.
        """
        return [
            {"event": event["event"], "eventId": event["id"], **delivery}
            for event in self._events()
            for delivery in event["deliveries"]
            if delivery["endpoint"] == self.id
        ]

    def __repr__(self) -> str:
        return f"<Receiver {self.id} at {self.url}>"
