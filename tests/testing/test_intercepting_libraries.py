"""Libraries that intercept HTTP clients leave those of a sandbox alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
import requests

from mockserver import MockServer, Sandbox
from tests.operations.session_calls import begin
from tests.server.receivers import ACCEPTED, receiving

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


def test_a_cassette_of_vcrpy_leaves_webhook_requests_alone(demo: Sandbox, tmp_path: Path) -> None:
    vcr: Any = pytest.importorskip("vcr")
    with receiving([ACCEPTED]) as receiver, vcr.use_cassette(str(tmp_path / "none.yaml"), record_mode="none"):
        hook = demo.receive_webhooks(receiver.url)
        demo.complete_session(begin(demo))

    assert ["delivered"] == [row["status"] for row in hook.deliveries]


def test_requests_mock_still_intercepts_other_sessions(demo: Sandbox) -> None:
    with requests_mock.Mocker() as mocker, demo.requests_session() as own, requests.Session() as other:
        mocker.get("http://other.example/", text="canned")
        own.get(f"{demo.base_url}/v1/campaigns")

        assert "canned" == other.get("http://other.example/").text
        assert 1 == mocker.call_count
