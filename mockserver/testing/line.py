"""The line to a server elsewhere: plain HTTP from the standard library, and the control plane's refusals as exceptions."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from mockserver.scenario.documents import Problem, ScenarioError
from mockserver.testing.transports import Reply

TIMEOUT_S = 30.0


class Line:
    """How a server elsewhere is spoken to; each call is a connection of its own."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url.rstrip("/")
        self._token = token

    def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, timeout: float = TIMEOUT_S
    ) -> Reply:
        """The answer to one request; OSError where the server does not answer."""
        parts = urlsplit(url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=timeout)
        try:
            target = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
            connection.request(method, target, body=body, headers=dict(headers))
            answer = connection.getresponse()
            return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def command(self, method: str, url: str, body: Any) -> Any:
        """One call of the control plane; what it refuses is a ValueError with its own words."""
        headers = {"content-type": "application/json"}
        if self._token is not None:
            headers["authorization"] = f"Bearer {self._token}"
        reply = self.send(method, url, headers, None if body is None else jsonlib.dumps(body).encode())
        if reply.status < 400:
            return reply.json() if reply.body else {}
        try:
            said = reply.json()
            message, problems = said["message"], said.get("problems")
            if not said["code"].startswith("MOCK_"):
                raise KeyError("no refusal of a control plane")
        except (ValueError, LookupError, TypeError, AttributeError):
            raise ValueError(f"{method} {url} answered {reply.status}; wanted a mockserver there") from None
        if problems and said["code"] == "MOCK_BAD_SCENARIO":
            raise ScenarioError(
                [Problem(each["path"], each["found"], each["wanted"], each.get("nearest")) for each in problems]
            )
        raise ValueError(message)
