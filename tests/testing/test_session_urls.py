"""The address in the url of a session: that of the call which created it, whatever is opened later."""

from __future__ import annotations

import json
import urllib.request
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from mockserver import MockServer, Sandbox
from tests.clients.operations import SESSIONS
from tests.harness.rows import each_row

IN_PROCESS = "http://mockserver.test"


def in_process(sandbox: Sandbox) -> dict[str, str]:
    created: dict[str, str] = sandbox.call("POST", SESSIONS, json={}).json()
    return created


def by_requests(sandbox: Sandbox) -> dict[str, str]:
    headers = {"X-API-Key": sandbox.secret_key}
    created: dict[str, str] = (
        sandbox.requests_session().post(f"{sandbox.base_url}{SESSIONS}", json={}, headers=headers).json()
    )
    return created


def by_httpx(sandbox: Sandbox) -> dict[str, str]:
    created: dict[str, str] = (
        sandbox.httpx_client().post(SESSIONS, json={}, headers={"X-API-Key": sandbox.secret_key}).json()
    )
    return created


def over_socket(sandbox: Sandbox, host: str | None = None) -> dict[str, str]:
    headers = {"X-API-Key": sandbox.secret_key, "Content-Type": "application/json"} | ({"Host": host} if host else {})
    request = urllib.request.Request(f"{sandbox.base_url}{SESSIONS}", b"{}", headers)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as response:
        created: dict[str, str] = json.load(response)
    return created


@each_row("own_port", [False, True])
@each_row("create", [in_process, by_requests, by_httpx])
@each_row("is_open", [False, True])
def test_a_session_that_is_created_in_process_has_an_url_in_process(create: Any, own_port: bool, is_open: bool) -> None:
    with MockServer() as server:
        if is_open:
            assert server.sandbox().base_url
        with server.sandbox(own_port=own_port) as sandbox:
            url = create(sandbox)["url"]

            assert url.startswith(f"{IN_PROCESS}/sandboxes/{sandbox.id}/connect/")
            assert 200 == sandbox.requests_session().get(url).status_code
            assert 200 == sandbox.httpx_client().get(url).status_code


@pytest.mark.parametrize("own_port", [False, True])
def test_a_session_that_is_created_over_a_socket_has_an_url_at_the_address_called(own_port: bool) -> None:
    with MockServer() as server, server.sandbox(own_port=own_port) as sandbox:
        here = over_socket(sandbox)["url"]
        port = urlsplit(sandbox.base_url).port
        named = over_socket(sandbox, f"localhost:{port}")["url"]

        assert here.startswith(f"{sandbox.base_url}/connect/")
        assert f"localhost:{port}" == urlsplit(named).netloc
        assert 200 == httpx.get(here, trust_env=False).status_code
