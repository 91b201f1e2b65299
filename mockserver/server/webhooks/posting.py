"""
One POST to a receiver, over a connection of its own to an address that the url policy has checked.

Not by a connection of http.client: libraries such as vcrpy replace its class for the process's clients.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Mapping
from http.client import HTTPResponse, IncompleteRead
from urllib.parse import urlsplit

from mockserver.core.webhooks import url_policy
from mockserver.server.webhooks.results import RESPONSE_MAX_BYTES, SendResult

_SWITCHING_PROTOCOLS = 101  # the one status below 200 after which no other response follows


class RefusedAddress(Exception):
    """An address of the host is one that the url policy rejects; its text says which and why."""


class _FinalResponse(HTTPResponse):
    """The response after the interim ones."""

    def begin(self) -> None:
        super().begin()
        while self.status < 200 and self.status != _SWITCHING_PROTOCOLS:
            self.headers = None  # type: ignore[assignment]  # has it read the next head
            super().begin()


def post(
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    allowed_hosts: frozenset[str],
    timeout_seconds: float,
    on_connected: Callable[[socket.socket], object],
) -> SendResult:
    """
    Send a request and read the response; no redirect is followed, and no proxy is used.

    Args:
        url: one that the url policy accepts.
        headers: in addition to Host, Content-Length and Accept-Encoding.
        body: the request's bytes.
        allowed_hosts: see `url_policy.address_rejection`.
        timeout_seconds: of each single wait.
        on_connected: called with the connection's socket, before any byte is sent.

    Raises:
        RefusedAddress: an address of the host is not allowed.
        OSError: there is no response.
        HTTPException: the response is not valid, or ends too early.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = url_policy.port_of(parts)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    fields = {"Accept-Encoding": "identity", "Content-Length": str(len(body)), "Host": parts.netloc, **headers}
    head = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
    wire = _connected(host, port, allowed_hosts, timeout_seconds)
    try:
        on_connected(wire)
        if parts.scheme == "https":
            wire = ssl.create_default_context().wrap_socket(wire, server_hostname=host)
        wire.sendall("\r\n".join(head).encode("latin-1") + body)
        with _FinalResponse(wire, method="POST") as response:
            response.begin()
            # A 204 has no body, also if it announces chunks.
            content = b"" if response.length == 0 else response.read(RESPONSE_MAX_BYTES)
            if response.length and len(content) < RESPONSE_MAX_BYTES:
                raise IncompleteRead(content, response.length)
            wait = response.headers.get("Retry-After", "")
            return SendResult(response.status, retry_after=wait, body=content)
    finally:
        wire.close()


def _connected(host: str, port: int, allowed_hosts: frozenset[str], timeout_seconds: float) -> socket.socket:
    """Return a connection to the first address of the host that accepts; the name is resolved here, once."""
    addresses = [info[-1] for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    for address in addresses:
        reason = url_policy.address_rejection(host, str(address[0]), allowed_hosts)
        if reason is not None:
            raise RefusedAddress(f"{host} is {address[0]}, {reason}")
    failure = OSError(f"{host} has no address")
    for address in addresses:
        try:
            wire = socket.create_connection((str(address[0]), port), timeout_seconds)
        except OSError as refused:
            failure = refused
        else:
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return wire
    raise failure
