"""The address in the url of a session: that of the call which created it, whatever is opened later."""

from __future__ import annotations

import json
import urllib.request
from urllib.parse import urlsplit

import httpx
import pytest

from mockserver import MockServer, Sandbox
from tests.clients.operations import SESSIONS


def over_socket(sandbox: Sandbox, host: str | None = None) -> dict[str, str]:
    headers = {"X-API-Key": sandbox.secret_key, "Content-Type": "application/json"} | ({"Host": host} if host else {})
    request = urllib.request.Request(f"{sandbox.base_url}{SESSIONS}", b"{}", headers)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as response:
        created: dict[str, str] = json.load(response)
    return created


@pytest.mark.parametrize("own_port", [False, True])
def test_a_session_that_is_created_over_a_socket_has_an_url_at_the_address_called(own_port: bool) -> None:
    with MockServer() as server, server.sandbox(own_port=own_port) as sandbox:
        here = over_socket(sandbox)["url"]
        port = urlsplit(sandbox.base_url).port
        named = over_socket(sandbox, f"localhost:{port}")["url"]

        assert here.startswith(f"{sandbox.base_url}/connect/")
        assert f"localhost:{port}" == urlsplit(named).netloc
        assert 200 == httpx.get(here, trust_env=False).status_code
