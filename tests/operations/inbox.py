"""A receiver that records its webhook requests and answers as configured, and queries of the deliveries to it."""

from __future__ import annotations

from typing import Any

from mockserver.server.webhooks.local_receivers import ReceivedWebhook


class Inbox:
    """Answers 200, or the next of `answers`; a function among them is called, an exception raised."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.webhooks: list[ReceivedWebhook] = []

    def __call__(self, webhook: ReceivedWebhook) -> Any:
        self.webhooks.append(webhook)
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        return answer() if callable(answer) else answer

    @property
    def sessions(self) -> list[str]:
        """The ids of the sessions of the webhook requests, in the order of arrival."""
        return [webhook.json()["data"]["sessionId"] for webhook in self.webhooks]


def attempts(receiver: Any) -> list[list[tuple[str, int | str | None]]]:
    """The time of each attempt, in minutes and seconds since noon, and its result."""
    return [
        [(each["at"][11:19], each.get("status", each.get("error"))) for each in delivery["attempts"]]
        for delivery in receiver.deliveries
    ]
