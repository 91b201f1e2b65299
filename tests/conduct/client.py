"""A client in the hands of a test: each method is one call, and an answer that never came is None."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mockserver.testing.sandbox import Sandbox
from mockserver.testing.transports.in_process import Response

SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
NOON = "2026-03-01T12:00:00Z"
TAGGED = [{"combinator": "and", "statements": [{"field": "chat.tagIds", "operator": "has-any", "value": ["tag_vip"]}]}]
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
GIVEN = {
    "funnels": [{"id": "funnel_a", "steps": [{"id": "funnel_step_a"}]}],
    "templates": [
        {"id": "template_t", "name": "T"},
        {"id": "template_v", "name": "V", "variables": [{"key": "var1", "label": "Cupom", "required": True}]},
    ],
    "chats": [
        {"id": "chat_a", "platform": "chatapp", "tagIds": ["tag_vip"]},
        {"id": "chat_b", "platform": "chatapp"},
    ],
    "messages": [{"chatId": "chat_a", "text": f"Oi {n}"} for n in range(6)],
}


class Client:
    """Calls a sandbox; careless or careful is whoever holds it."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox

    def ask(self, method: str, path: str, **how: Any) -> Response | None:
        try:
            return self.sandbox.call(method, path, **how)
        except (OSError, EOFError):
            return None
        except Exception as failure:
            if type(failure).__name__ != "IncompleteRead":
                raise
            return None

    def create(self, name: str = "Spring", **changes: Any) -> str:
        body = {"name": name, "platform": "chatapp", "templateId": "template_t", "cadence": 60} | changes
        reply = self.ask("POST", "/v1/campaigns", json=body)
        return str(reply.json().get("campaignId")) if reply else ""

    def preview(self, **body: Any) -> Response | None:
        return self.ask("POST", "/v1/campaigns/audience-preview", json=body)

    def start(self, campaign: str, **variables: str) -> str:
        body = {"commonVariables": variables} if variables else None
        reply = self.ask("POST", f"/v1/campaigns/{campaign}/start", json=body)
        return str(reply.json().get("executionId")) if reply else ""

    def launch(self, name: str = "Spring", **changes: Any) -> tuple[str, str]:
        """A campaign that was created and started: exchanges 1 and 2 of a run."""
        campaign = self.create(name, **changes)
        return campaign, self.start(campaign)

    def cancel(self, campaign: str) -> Response | None:
        return self.ask("POST", f"/v1/campaigns/{campaign}/cancel")

    def campaign(self, campaign: str) -> Response | None:
        return self.ask("GET", f"/v1/campaigns/{campaign}")

    def campaigns(self) -> Response | None:
        return self.ask("GET", "/v1/campaigns")

    def execution(self, pair: tuple[str, str], **how: Any) -> Response | None:
        return self.ask("GET", f"/v1/campaigns/{pair[0]}/executions/{pair[1]}", **how)

    def connect(self, **body: Any) -> str:
        reply = self.ask("POST", SESSIONS, json=body)
        return str(reply.json().get("sessionId")) if reply else ""

    def session(self, session: str, **how: Any) -> Any:
        reply = self.ask("GET", f"{SESSIONS}/{session}", **how)
        return reply.json() if reply else None

    def messages(self, query: str = "") -> Any:
        reply = self.ask("GET", f"/v1/messaging/chats/chat_a{query}")
        return reply.json() if reply else None

    def upload(self, *names: str, field: str = "files") -> Any:
        parts = b"".join(
            f'--b\r\nContent-Disposition: form-data; name="{field}"; filename="{name}"\r\nContent-Type: image/png\r\n\r\n'.encode()
            + PNG + b"\r\n" for name in names
        )  # fmt: skip
        headers = {"content-type": "multipart/form-data; boundary=b"}
        return self.ask("POST", "/v1/messaging/media", body=parts + b"--b--\r\n", headers=headers)

    def wait(self, length: str) -> None:
        self.sandbox.advance(length)


class Provocation(NamedTuple):
    """A careless client, the rule that it breaks, the exchanges that prove it, and a careful client at the same task."""

    rule: str
    exchanges: Sequence[int]
    careless: Callable[[Client], object]
    careful: Callable[[Client], object]

    @property
    def id(self) -> str:
        name = self.careless.__name__.strip("_")
        return self.rule if name.replace("_", "-") == self.rule else f"{self.rule}-{name}"
