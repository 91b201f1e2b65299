"""Libraries that intercept HTTP clients leave those of a sandbox alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
import requests

from mockserver import MockServer, Sandbox

# Libraries that intercept the calls of requests or httpx.
requests_mock: Any = pytest.importorskip("requests_mock")
responses: Any = pytest.importorskip("responses")
respx: Any = pytest.importorskip("respx")
INTERCEPTING: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "responses": lambda: responses.RequestsMock(assert_all_requests_are_fired=False),
    "requests-mock": requests_mock.Mocker,
    "respx": lambda: respx.mock(assert_all_called=False),
}


@pytest.fixture
def demo(mockserver_server: MockServer) -> Iterator[Sandbox]:
    with mockserver_server.sandbox("demo") as sandbox:
        yield sandbox


@pytest.mark.parametrize("intercepting", INTERCEPTING.values(), ids=INTERCEPTING)
@pytest.mark.parametrize("is_made_before", [True, False])
def test_no_library_intercepts_the_clients_of_a_sandbox(
    demo: Sandbox, intercepting: Callable[[], AbstractContextManager[Any]], is_made_before: bool
) -> None:
    headers = {"X-API-Key": demo.secret_key}
    url = f"{demo.base_url}/v1/campaigns"
    outside = (demo.requests_session(), demo.httpx_client()) if is_made_before else ()
    with intercepting():
        for client in outside or (demo.requests_session(), demo.httpx_client()):
            assert [200, 200] == [client.get(url, headers=headers).status_code for _ in range(2)]
    for client in outside:
        assert 200 == client.get(url, headers=headers).status_code


def test_requests_mock_still_intercepts_other_sessions(demo: Sandbox) -> None:
    with requests_mock.Mocker() as mocker, demo.requests_session() as own, requests.Session() as other:
        mocker.get("http://other.example/", text="canned")
        own.get(f"{demo.base_url}/v1/campaigns")

        assert "canned" == other.get("http://other.example/").text
        assert 1 == mocker.call_count
