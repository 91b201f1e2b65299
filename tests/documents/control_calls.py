"""
Calls of the control plane that hold every answer to its document.

`Controls` notes which command was refused with which code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from ruamel.yaml import YAML

from mockserver.server.control.routes import COMMANDS, ROUTES
from mockserver.server.front_controller import handle_request
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import DEFAULT_ID, HostedSandbox, SandboxHost
from mockserver.wire.request import HttpRequest
from mockserver.wire.response import HttpResponse
from tests.documents.reading import BASE_URL, DocumentedOperation, control, operations, validator

NOON = "2026-03-01T12:00:00Z"
LOCAL = {"host": "127.0.0.1"}


@cache
def _documented() -> Mapping[str, DocumentedOperation]:
    return operations(control())


@cache
def _check(command: str, status: int, media_type: str) -> Any:
    schema = _documented()[command].raw["responses"][str(status)]["content"][media_type]["schema"]
    return validator(control(), schema)


def undocumented(command: str, status: int, media_type: str, body: Any) -> list[str]:
    """Return what in an answer is not in the document; `body` is None for one without content."""
    responses = _documented()[command].raw["responses"]
    if str(status) not in responses:
        return [f"{command}: status {status}"]
    contents = responses[str(status)].get("content", {})
    if body is None or not contents:
        return [] if body is None and not contents else [f"{command} {status}: content"]
    if media_type not in contents:
        return [f"{command} {status}: {media_type}"]
    return [f"{command} {status}: {error}" for error in _check(command, status, media_type).iter_errors(body)]


def _read(media_type: str, text: str) -> Any:
    if media_type.startswith("text/"):
        return text
    return json.loads(text) if media_type == "application/json" else YAML(typ="safe", pure=True).load(text)


class Controls:
    """A host with the demo as its default sandbox, and what its control plane has answered."""

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        self.host = SandboxHost()
        self.default = self.host.create(SandboxConfig("demo", clock={"freeze": NOON}, given=given), id=DEFAULT_ID)
        self.refused: set[tuple[str, int, str]] = set()

    def run(self, command: str, body: Any = None, query: str = "", prefix: str = "", **options: Any) -> Any:
        """Run a command that succeeds; return its answer."""
        status, answer = self.call(command, body, query, prefix, **options)
        assert COMMANDS[command].status == status, (command, answer)
        return answer

    def refuse(
        self, command: str, code: str, body: Any = None, query: str = "", prefix: str = "", **options: Any
    ) -> str:
        """Run a command that is refused with this code; return the message."""
        _, answer = self.call(command, body, query, prefix, **options)
        assert code == answer["code"], (command, answer)
        return str(answer["message"])

    def call(
        self,
        command: str,
        body: Any = None,
        query: str = "",
        prefix: str = "",
        *,
        headers: Mapping[str, str] | None = None,
        root: HostedSandbox | None = None,
        **params: str,
    ) -> tuple[int, Any]:
        """Call a command; hold its answer to the document."""
        row = COMMANDS[command]
        path = row.path
        for name, value in params.items():
            path = path.replace(f"{{{name}}}", value)
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        request = HttpRequest.create(row.method, prefix + path + query, {**LOCAL, **(headers or {})}, content, BASE_URL)
        response, after = handle_request(self.host, request, root)
        assert isinstance(response, HttpResponse)
        after()
        media_type = dict(response.headers).get("Content-Type", "").partition(";")[0]
        text = response.body.decode()
        answer: Any = _read(media_type, text) if text else None
        assert [] == undocumented(command, response.status, media_type, answer)
        if response.status >= 400:
            self.refused.add((command, response.status, answer["code"]))
        return response.status, answer


def described_refusals() -> set[tuple[str, int, str]]:
    """Return every refusal that the document describes: command, status and code."""
    return {
        (row.id, int(status), code)
        for row in ROUTES
        for status, answer in _documented()[row.id].raw["responses"].items()
        if int(status) >= 400
        for code in answer["content"]["application/json"]["schema"]["allOf"][1]["properties"]["code"]["enum"]
    }
