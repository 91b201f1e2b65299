"""Hosts without a socket, and requests to them."""

from __future__ import annotations

from typing import Any

from mockserver.server.front_controller import handle_request
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import DEFAULT_ID, SandboxHost
from mockserver.wire.request import HttpRequest
from mockserver.wire.response import HttpResponse

ADDRESS = "127.0.0.1:5055"
ORIGIN = f"http://{ADDRESS}"


def host_of(scenario: str | None = None, **settings: Any) -> SandboxHost:
    """A host whose default sandbox has these settings."""
    host = SandboxHost()
    host.create(SandboxConfig(scenario, **settings), id=DEFAULT_ID)
    return host


def send(host: SandboxHost, method: str, target: str, body: bytes = b"", /, **headers: str) -> HttpResponse:
    """The response to a request; header names with an underscore in place of the dash."""
    named = {"host": ADDRESS, **{name.replace("_", "-"): value for name, value in headers.items()}}
    response, after = handle_request(
        host, HttpRequest.create(method, target, named, body, host.base_url_of(named["host"]))
    )
    after()
    assert isinstance(response, HttpResponse)
    return response


def key_of(host: SandboxHost) -> str:
    """The secret key of the default sandbox."""
    return host.sandboxes[DEFAULT_ID].tenant.secret_key


def header(response: HttpResponse, name: str) -> str | None:
    """The first header of this name in lower case."""
    return next((value for key, value in response.headers if key.lower() == name), None)
