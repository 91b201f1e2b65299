"""Calls over a socket to a server's control plane, and a world to make them in."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import requests

from tests.clients.operations import SESSIONS

NOON = "2026-03-01T12:00:00Z"


class Made(NamedTuple):
    """A sandbox as its creation over HTTP returns it."""

    server: str
    id: str
    base: str
    tenant: str
    secret_key: str
    public_key: str
    webhook_secrets: Mapping[str, str] = MappingProxyType({})

    def control(self, method: str, path: str, body: Any = None, **options: Any) -> requests.Response:
        """A call to this sandbox's own control plane."""
        return control(self.base, method, path, body, **options)

    def api(self, method: str, path: str, body: Any = None) -> requests.Response:
        """A call to the public API with the secret key."""
        headers = {"X-API-Key": self.secret_key}
        return requests.request(method, self.base + path, json=body, headers=headers, timeout=10)

    def session(self) -> str:
        """The id of a fresh connection session."""
        return str(self.api("POST", SESSIONS, {}).json()["sessionId"])

    def state(self) -> bytes:
        return self.control("GET", "/state").content


def control(base: str, method: str, path: str, body: Any = None, **options: Any) -> requests.Response:
    """The answer to a call of the control plane; `path` is what follows /_mock."""
    return requests.request(method, f"{base}/_mock{path}", json=body, timeout=10, **options)


def make(server: str, **recipe: Any) -> Made:
    """A sandbox made over HTTP."""
    reply = control(server, "POST", "/sandboxes", recipe)
    assert 201 == reply.status_code, reply.text
    body = reply.json()
    assert {"sandboxId", "baseUrl", "tenantId", "secretKey", "publicKey", "webhookSecrets"} == set(body)
    return Made(server, *body.values())


def begin(sandbox: Any) -> str:
    """The id of a fresh connection session."""
    return str(sandbox.call("POST", SESSIONS, json={}).json()["sessionId"])


def is_frozen(sandbox: Any) -> bool:
    """Whether the sandbox's clock is frozen."""
    return bool(sandbox.state()["clock"]["frozen"])


def refused(reply: requests.Response) -> tuple[int, str]:
    """Status and code of the control plane's refusal, which says in English how to mend the call."""
    body = reply.json()
    assert {"statusCode", "code", "message"} == set(body) - {"problems"}, body
    assert reply.status_code == body["statusCode"]
    assert body["code"].startswith("MOCK_") and body["message"]
    assert all({"path", "found", "wanted"} == set(each) - {"nearest"} for each in body.get("problems", ()))
    return reply.status_code, body["code"]
