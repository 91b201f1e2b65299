"""
Who may call the control plane: the token, the name by which the client addresses the server, and the origin.

The server's token opens everything. The token of a sandbox, which its creation returns, opens that sandbox's own commands
and its end; nothing of another sandbox, and nothing that lists or creates them.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from mockserver.server.api.request import HttpRequest
from mockserver.server.errors import ControlError
from mockserver.server.hosting.host import HostedSandbox, SandboxHost

_OF_THE_SERVER: Final = ("createSandbox", "listSandboxes", "deleteSandboxes", "readMetrics")


def check_token(
    host: SandboxHost, hosted: HostedSandbox | None, request: HttpRequest, command: str, params: Mapping[str, str]
) -> None:
    """
    Check the token, if the server has one.

    Args:
        host: the server's sandboxes.
        hosted: the sandbox that the request addresses.
        request: of the client.
        command: the id of the command.
        params: those of its path.

    Raises:
        ControlError: The request has no token that opens the command; no word of it shows whether a sandbox exists.
    """
    if host.token is None:
        return
    opening = [host.token]
    if command == "deleteSandbox":
        opening.append(host.sandbox_token(params["id"]))
    elif hosted is not None and command not in _OF_THE_SERVER:
        opening.append(host.sandbox_token(hosted.id))
    token = request.headers.get("authorization", "").removeprefix("Bearer ").encode()
    if not any(hmac.compare_digest(token, each.encode()) for each in opening):
        expected = "the token that the server has printed, or the one that the creation of this sandbox has returned"
        raise ControlError(401, "MOCK_TOKEN_WANTED", f"expected {expected}, as Authorization: Bearer TOKEN")


def check_origin(host: SandboxHost, request: HttpRequest) -> None:
    """Refuse a name that is not the server's, unless it has a token, and a page of another site."""
    allowed = ", ".join(sorted(host.allowed_hosts))
    written = request.headers.get("host")
    name = _host_name(f"//{written or ''}")
    if written and name not in host.allowed_hosts and host.token is None:  # a token replaces the name
        expected = f"{allowed}; another name is allowed by --allow-host"
        raise ControlError(403, "MOCK_FOREIGN_HOST", f"Host: got {name!r}; expected {expected}")
    origin = request.headers.get("origin")
    if origin is not None and _host_name(origin) not in host.allowed_hosts:
        expected = "one of this server: a page of another site must not call the control plane"
        raise ControlError(403, "MOCK_FOREIGN_ORIGIN", f"Origin: got {origin!r}; expected {expected}")


def _host_name(url: str) -> str:
    """Return the host of a url in lower case; empty if the url has none, or has a user."""
    try:
        parts = urlsplit(url)
        return "" if "@" in parts.netloc else parts.hostname or ""
    except ValueError:
        return ""
