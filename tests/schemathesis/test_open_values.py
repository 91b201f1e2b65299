"""Values that the API document leaves open: seed data gives a record each of them."""

from __future__ import annotations

import pytest

from mockserver import Sandbox

TYPES = (
    "text", "image", "audio", "video", "document", "sticker", "location", "contact", "template", "comment", "system",
    "unsupported",
)  # fmt: skip
STATUSES = ("pending", "sent", "delivered", "read", "failed")
PLATFORMS = ("chatapp", "chatapp_lite", "photoapp", "botapp")


@pytest.mark.option("message-type-values", "effect")
@pytest.mark.option("message-status-values", "effect")
@pytest.mark.parametrize(("member", "values"), [("type", TYPES), ("status", STATUSES)])
def test_a_message_has_each_type_and_status(mockserver: Sandbox, member: str, values: tuple[str, ...]) -> None:
    messages = [{"chatId": "chat_a", member: value} for value in values]
    mockserver.apply(given={"chats": [{"id": "chat_a"}], "messages": messages})
    records = mockserver.call("GET", "/v1/messaging/chats/chat_a").json()["records"]

    assert list(values) == [record[member] for record in reversed(records)]


@pytest.mark.option("entrypoint-platforms", "effect")
def test_an_entrypoint_has_each_platform(mockserver: Sandbox) -> None:
    mockserver.apply(given={"entrypoints": [{"id": f"entrypoint_{name}", "platform": name} for name in PLATFORMS]})
    read = [mockserver.call("GET", f"/v1/entrypoints/entrypoint_{name}").json() for name in PLATFORMS]

    assert list(PLATFORMS) == [each["entrypoint"]["platform"] for each in read]
