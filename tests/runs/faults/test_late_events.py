"""Events that a fault delays beyond the test's last line: the receiver gets them before the run is judged."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from mockserver import MockServer, Sandbox
from mockserver.testing.runs.faults import ExploreReport

GIVEN = {"templates": [{"id": "template_t"}], "chats": {"count": 3}}
Explore = Callable[..., ExploreReport]
SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"


@pytest.fixture
def explore(mockserver_server: MockServer) -> Explore:
    def run(test: Callable[[Sandbox], object]) -> ExploreReport:
        return mockserver_server.explore(test, settings={"given": GIVEN}, choices=(), faults=("delay",))

    return run


class Connecting:
    """A receiver that calls for help by a campaign if a connected number fails; a careful one if its present session does."""

    def __init__(self, sandbox: Sandbox, *, is_careful: bool) -> None:
        self._sandbox, self._is_careful = sandbox, is_careful
        self._session = ""
        self._is_connected = False
        self.received: list[str] = []

    def opened(self) -> str:
        self._session = str(self._sandbox.call("POST", SESSIONS, json={}, timeout=5).json()["sessionId"])
        return self._session

    def __call__(self, request: Any) -> int:
        event = request.json()
        kind = event["event"].rpartition(".")[2]
        self.received.append(kind)
        is_present = event["data"]["sessionId"] == self._session or not self._is_careful
        if kind == "connection_failed" and self._is_connected and is_present:
            body = {"name": "Socorro", "platform": "chatapp", "templateId": "template_t", "cadence": 4}
            self._sandbox.call("POST", "/v1/campaigns", json=body, timeout=5)
        self._is_connected = self._is_connected or kind == "connected"
        return 204


@pytest.mark.parametrize(
    ("is_careful", "found"), [(True, []), (False, ["the test passed, and its calls caused 1 campaign instead of 0"])]
)
def test_a_receiver_gets_a_delayed_event_before_its_run_is_judged(
    explore: Explore, is_careful: bool, found: list[str]
) -> None:
    receivers: list[Connecting] = []

    def test(sandbox: Sandbox) -> None:
        receivers.append(Connecting(sandbox, is_careful=is_careful))
        sandbox.receive_webhooks(receivers[-1])
        sandbox.fail_session(receivers[-1].opened())
        sandbox.complete_session(receivers[-1].opened())
        sandbox.advance("1m")

    report = explore(test)

    assert ["connected", "connection_failed"] == receivers[2].received
    assert found == [row.message for row in report.findings], report.text()


def test_what_a_receiver_does_in_each_run_once_the_test_has_ended_is_no_difference(
    explore: Explore,
) -> None:
    """The session that is pending at the end expires before the delayed event arrives, as it does after the clean run."""

    def test(sandbox: Sandbox) -> None:
        def on_event(request: Any) -> int:
            if request.json()["data"].get("status") == "expired":
                body = {"name": "Socorro", "platform": "chatapp", "templateId": "template_t", "cadence": 4}
                sandbox.call("POST", "/v1/campaigns", json=body, timeout=5)
            return 204

        sandbox.receive_webhooks(on_event)
        for _ in range(2):
            session = sandbox.call("POST", SESSIONS, json={}, timeout=5).json()["sessionId"]
        sandbox.complete_session(session)
        sandbox.advance("1m")

    report = explore(test)

    assert [] == report.findings, report.text()
    assert (2, 2) == (len(report.clean.delivered), report.verdicts["survived"])


@contextmanager
def served(received: list[bytes]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_a_receiver_that_has_ended_with_the_test_is_not_accused(explore: Explore) -> None:
    received: list[bytes] = []

    def test(sandbox: Sandbox) -> None:
        with served(received) as url:
            sandbox.receive_webhooks(url)
            sandbox.complete_session(sandbox.call("POST", SESSIONS, json={}, timeout=5).json()["sessionId"])
            sandbox.advance("1m")

    report = explore(test)

    assert [] == report.findings, report.text()
    assert 2 == len(received)  # of the clean runs


def test_a_coroutine_that_receives_on_the_loop_of_the_test_is_not_accused(
    explore: Explore,
) -> None:
    async def test(sandbox: Sandbox) -> None:
        queue: asyncio.Queue[bytes] = asyncio.Queue()

        async def on_event(request: Any) -> int:
            await queue.put(request.body)
            return 204

        sandbox.receive_webhooks(on_event)
        created = await sandbox.aio.call("POST", SESSIONS, json={}, timeout=5)
        await sandbox.aio.complete_session(created.json()["sessionId"])
        await sandbox.aio.sleep(60)

    report = explore(test)

    assert [] == report.findings, report.text()
    assert 1 == report.verdicts["survived"]
