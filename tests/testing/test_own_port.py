"""A sandbox at a port of its own: everything under it is that sandbox's, and it has no prefix to lose."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urljoin

import pytest
import requests

from mockserver import MockServer, Sandbox
from mockserver.testing.remote import RemoteServer
from tests.clients.operations import SESSIONS
from tests.testing.conftest import Suite


@pytest.fixture
def alone(running: MockServer) -> Iterator[Sandbox]:
    with running.sandbox("demo", own_port=True) as sandbox:
        yield sandbox


def get(sandbox: Sandbox, path: str) -> requests.Response:
    headers = {"X-API-Key": sandbox.secret_key}
    return requests.get(urljoin(sandbox.base_url, path), headers=headers, timeout=10, allow_redirects=False)


def test_every_url_that_it_hands_out_is_under_its_port(alone: Sandbox) -> None:
    created = requests.post(
        alone.base_url + SESSIONS, json={}, headers={"X-API-Key": alone.secret_key}, timeout=10
    ).json()

    assert created["url"].startswith(f"{alone.base_url}/connect/")
    assert "text/html" in requests.get(created["url"], timeout=10).headers["Content-Type"]
    assert alone.end_user(created["url"]).connect().title.startswith("Número conectado")


def test_its_control_plane_is_its_own(alone: Sandbox, running: MockServer) -> None:
    with running.sandbox(own_port=True, seed=7) as other:
        requests.post(f"{other.base_url}/_mock/clock/advance", json={"by": "1h"}, timeout=10).raise_for_status()

        assert [0, 7] == [get(each, "/_mock/state").json()["seed"] for each in (alone, other)]
        assert 3500 < (other.now - alone.now).total_seconds() < 3700


def test_clients_in_process_reach_it_by_its_address(alone: Sandbox) -> None:
    key = {"X-API-Key": alone.secret_key}

    assert 200 == alone.requests_session().get(f"{alone.base_url}/v1/message-templates", headers=key).status_code
    assert 200 == alone.httpx_client().get("/v1/message-templates", headers=key).status_code
    assert 200 == alone.call("GET", "/v1/message-templates").status
    with pytest.raises(requests.ConnectionError, match=f"expected {alone.base_url}"):
        alone.requests_session().get("http://127.0.0.1:1/v1/message-templates")


def test_the_ports_of_sandboxes_closed_long_ago_are_released(running: MockServer) -> None:
    addresses = []
    for _ in range(20):
        with running.sandbox(own_port=True) as sandbox:
            addresses.append(sandbox)

    assert len(running._own) < 12
    assert 410 == get(addresses[-1], "/v1/campaigns").status_code
    with pytest.raises(requests.ConnectionError):
        get(addresses[0], "/v1/campaigns")


def test_settings_and_marks_enable_it(suite: Suite) -> None:
    suite.pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(scope="session")
        def mockserver_settings():
            return {"own_port": True}
        """
    )
    result = suite.run(
        """
        import pytest
        from urllib.parse import urlsplit

        def test_by_settings(mockserver):
            assert "" == urlsplit(mockserver.base_url).path

        @pytest.mark.mockserver(own_port=False)
        def test_by_a_nearer_mark(mockserver):
            assert "/sandboxes/" in mockserver.base_url
        """
    )

    result.assert_outcomes(passed=2)


def test_a_remote_server_refuses_it_by_name(running: MockServer) -> None:
    with pytest.raises(
        ValueError, match=r"own_port=True \(sandbox\(...\)\): got a server on http.*; expected one in this process"
    ):
        RemoteServer(running.url).sandbox(own_port=True)
    assert "default" not in running._host.sandboxes
