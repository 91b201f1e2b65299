"""A client that a test drives: each method is one call over `Sandbox.call`, and an answer that is lost is None."""

from __future__ import annotations

from typing import Any

from mockserver._json import JSON
from mockserver.testing.sandbox import Sandbox
from mockserver.testing.transports.in_process import Response
from tests.clients.operations import Operations

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"


def body_of(answer: Response | None) -> JSON:
    """Return the body of an answer that was not lost."""
    assert answer is not None
    body: JSON = answer.json()
    return body


class Client(Operations):
    """Calls a sandbox; the test decides whether it is careless or careful."""

    def __init__(self, sandbox: Sandbox) -> None:  # no `super().__init__`: the sandbox is address, key and transport
        self.sandbox = sandbox

    def _send(self, method: str, path: str, **rest: Any) -> Response | None:
        try:
            return self.sandbox.call(method, path, **rest)
        except (OSError, EOFError):
            return None
        except Exception as failure:
            if type(failure).__name__ != "IncompleteRead":
                raise
            return None

    ask = _send

    def create(self, name: str = "Spring", **changes: Any) -> str:
        body = {"name": name, "platform": "chatapp", "templateId": "template_t", "cadence": 60} | changes
        reply = self.create_campaign(body)
        return str(reply.json().get("campaignId")) if reply else ""

    def preview(self, **body: Any) -> Response | None:
        answer: Response | None = self.preview_audience(body)
        return answer

    def start(self, campaign: str, **variables: str) -> str:
        reply = self.start_campaign(campaign, {"commonVariables": variables} if variables else None)
        return str(reply.json().get("executionId")) if reply else ""

    def launch(self, name: str = "Spring", **changes: Any) -> tuple[str, str]:
        """A campaign that was created and started: exchanges 1 and 2 of a run."""
        campaign = self.create(name, **changes)
        return campaign, self.start(campaign)

    def cancel(self, campaign: str) -> Response | None:
        answer: Response | None = self.cancel_campaign(campaign)
        return answer

    def campaign(self, campaign: str) -> Response | None:
        answer: Response | None = self.read_campaign(campaign)
        return answer

    def campaigns(self) -> Response | None:
        answer: Response | None = self.list_campaigns()
        return answer

    def execution(self, pair: tuple[str, str], **how: Any) -> Response | None:
        answer: Response | None = self.read_execution(*pair, **how)
        return answer

    def connect(self, **body: Any) -> str:
        reply = self.create_session(body)
        return str(reply.json().get("sessionId")) if reply else ""

    def session(self, session: str, **how: Any) -> Any:
        reply = self.read_session(session, **how)
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
