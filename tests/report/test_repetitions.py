"""Repeated calls that a report ascribes to the transport: only those of clients whose transports repeat."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

import pytest

from mockserver import MockServer, Sandbox
from mockserver.testing.remote import RemoteServer

NOTE = "repeated by the transport"


def send(sandbox: Sandbox, agent: str) -> None:
    """Send a call over a socket, and read to its end."""
    address = urlsplit(sandbox.base_url)
    head = f"GET {address.path}/v1/campaigns HTTP/1.1\r\nHost: {address.netloc}\r\nX-API-Key: {sandbox.secret_key}\r\n"
    with socket.create_connection((address.hostname or "", address.port or 0), 10) as client:
        client.sendall(f"{head}{agent}Connection: close\r\n\r\n".encode())
        while client.recv(65_536):
            pass


@pytest.mark.parametrize(
    ("agent", "is_noted"),
    [("", True), ("User-Agent: GuzzleHttp/7\r\n", True), ("User-Agent: python-requests/2.32\r\n", False)],
)
def test_a_repetition_over_a_socket_is_noted_by_the_agent(agent: str, is_noted: bool) -> None:
    with MockServer() as server, server.sandbox() as sandbox:
        sandbox.on("listCampaigns").nth(1).drop("after")
        for _ in range(2):
            send(sandbox, agent)

        assert is_noted == (NOTE in sandbox.report("it failed"))


@pytest.mark.parametrize("remote", [False, True])
def test_a_call_of_the_sandbox_is_repeated_by_no_transport(remote: bool) -> None:
    with MockServer() as server, (RemoteServer(server.url) if remote else server).sandbox() as sandbox:
        sandbox.on("listCampaigns").nth(1).drop("after")
        with pytest.raises(ConnectionError):
            sandbox.call("GET", "/v1/campaigns")
        sandbox.call("GET", "/v1/campaigns")

        assert NOTE not in sandbox.report("it failed")
