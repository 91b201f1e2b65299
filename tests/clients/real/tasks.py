"""Three tasks of a CRM, by any client: launch a campaign with an image, read a chat in pages, connect a channel."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any
from unittest import mock

import mockserver
from mockserver import Sandbox
from tests.clients.real.adapters import Adapter, Answer, Send

GIVEN: Mapping[str, Any] = MappingProxyType(
    {
        "templates": [
            {"id": "template_one", "name": "One", "items": [{"type": "text", "text": "Oi"}], "variables": []}
        ],
        "chats": [{"id": f"chat_{number}", "platform": "chatapp"} for number in range(3)],
        "messages": [{"chatId": "chat_0", "text": f"Mensagem {number}"} for number in range(3)],
    }
)
FINAL = ("completed", "failed", "canceled", "expired")
CAMPAIGNS, SESSIONS = "/v1/campaigns", "/v1/entrypoints/chatapp/connection-sessions"
POLL_S, POLLS_MAX, TOLERANCE_S = 10, 60, 300


class Refused(Exception):
    """The service refused a call, or its answer is not understood."""


class Client:
    """What a thin client makes of `send`: it raises for a refusal, and returns the JSON value of a success."""

    def __init__(self, send: Send, sandbox: Sandbox) -> None:
        self._send, self._key = send, sandbox.secret_key
        self.sleep = sandbox.sleep

    def call(self, method: str, path: str, body: Any = None) -> Any:
        content = b"" if body is None else json.dumps(body).encode()
        return self._understood(
            self._send(method, path, {"X-API-Key": self._key, "Content-Type": "application/json"}, content)
        )

    def upload(self, name: str, content: bytes) -> Any:
        boundary = "7d29c4b1"
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\nContent-Type: image/png\r\n\r\n'
        body = head.encode() + content + f"\r\n--{boundary}--\r\n".encode()
        headers = {"X-API-Key": self._key, "Content-Type": f"multipart/form-data; boundary={boundary}"}
        return self._understood(self._send("POST", "/v1/messaging/media", headers, body))

    @staticmethod
    def _understood(answer: Answer) -> Any:
        try:
            value = json.loads(answer.body) if answer.body else None
        except ValueError:
            raise Refused(f"status {answer.status}") from None
        if answer.status >= 300:
            raise Refused(f"{answer.status} {value.get('code') if isinstance(value, dict) else ''}")
        return value


def launch(client: Client, _sandbox: Sandbox) -> None:
    """Upload an image, create a campaign, start it, and poll it to its end."""
    client.upload("a.png", mockserver.sample_file("image/png"))
    made = client.call(
        "POST", CAMPAIGNS, {"name": "Natal", "platform": "chatapp", "templateId": "template_one", "cadence": 2}
    )
    campaign = f"{CAMPAIGNS}/{made['campaignId']}"
    client.call("POST", f"{campaign}/start", {})
    assert client.call("GET", campaign)["status"] in ("processing", *FINAL)
    _polled(client, campaign)


def pages(client: Client, _sandbox: Sandbox) -> None:
    """Read the messages of a chat in pages of two."""
    seen, cursor = [], ""
    for _ in range(10):
        page = client.call("GET", f"/v1/messaging/chats/chat_0?limit=2{cursor}")
        seen += [message["id"] for message in page["records"]]
        if not page.get("nextCursor"):
            break
        cursor = f"&cursor={page['nextCursor']}"
    assert len({*seen}) == len(seen) == 3


def connect(client: Client, sandbox: Sandbox) -> None:
    """Create a connection session with a return url, let its person finish it, and receive its verified event."""
    kinds: list[str] = []
    receiver = sandbox.receive_webhooks(lambda webhook: _received(webhook, receiver.secret, kinds))
    session = client.call("POST", SESSIONS, {"returnUrl": "https://crm.example/done"})
    sandbox.end_user(session).connect("+5511999990000")
    _polled(client, f"{SESSIONS}/{session['sessionId']}")
    sandbox.advance("1h")
    assert "entrypoints.chatapp.connected" in kinds


def _received(webhook: Any, secret: str, kinds: list[str]) -> int:
    """Verify an event as the standard has it, and keep its kind."""
    headers = webhook.headers
    if abs(time.time() - int(headers["webhook-timestamp"])) > TOLERANCE_S:
        return 401
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + webhook.body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    signatures = [each.partition(",")[2] for each in headers.get("webhook-signature", "").split()]
    if not any(hmac.compare_digest(expected, each) for each in signatures):
        return 401
    kinds.append(json.loads(webhook.body)["event"])
    return 204


def _polled(client: Client, path: str) -> None:
    for _ in range(POLLS_MAX):
        if client.call("GET", path)["status"] in FINAL:
            return
        client.sleep(POLL_S)
    raise Refused("it does not end")


TASKS: Mapping[str, Callable[[Client, Sandbox], None]] = MappingProxyType(
    {"launch": launch, "pages": pages, "connect": connect}
)


def test_of(adapter: Adapter, task: str) -> Callable[[Sandbox], None]:
    """Return the test of a task by a client, whose sleeps pass on the sandbox's clock."""

    def test(sandbox: Sandbox) -> None:
        with mock.patch("time.sleep", sandbox.sleep):
            TASKS[task](Client(adapter(sandbox), sandbox), sandbox)

    return test
