"""Repeated calls that a report ascribes to the transport: only those of clients whose transports repeat."""

from __future__ import annotations

from contextlib import closing, suppress
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from mockserver import MockServer, Sandbox
from mockserver.testing.remote import RemoteServer

NOTE = "repeated by the transport"


def send(sandbox: Sandbox, headers: dict[str, str]) -> None:
    """Send a call on a connection of its own."""
    address = urlsplit(sandbox.base_url)
    with closing(HTTPConnection(address.netloc, timeout=10)) as client, suppress(OSError):
        client.request("GET", f"{address.path}/v1/campaigns", headers={"X-API-Key": sandbox.secret_key, **headers})
        client.getresponse().read()


@pytest.mark.parametrize(
    ("headers", "is_noted"),
    [({}, True), ({"User-Agent": "GuzzleHttp/7"}, True), ({"User-Agent": "python-requests/2.32"}, False)],
)
def test_a_repetition_over_a_socket_is_noted_by_the_agent(
    mockserver: Sandbox, headers: dict[str, str], is_noted: bool
) -> None:
    mockserver.on("listCampaigns").nth(1).drop("after")
    for _ in range(2):
        send(mockserver, headers)

    assert is_noted == (NOTE in mockserver.report("it failed"))


@pytest.mark.parametrize("remote", [False, True])
def test_a_call_of_the_sandbox_is_repeated_by_no_transport(remote: bool) -> None:
    with MockServer() as server, (RemoteServer(server.url) if remote else server).sandbox() as sandbox:
        sandbox.on("listCampaigns").nth(1).drop("after")
        with pytest.raises(ConnectionError):
            sandbox.call("GET", "/v1/campaigns")
        sandbox.call("GET", "/v1/campaigns")

        assert NOTE not in sandbox.report("it failed")
