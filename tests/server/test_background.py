"""A server that runs by itself sends events without a request; a slow receiver delays no other; nothing is left behind."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from werkzeug.wrappers import Response

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from mockserver.server.hosting.background import BackgroundWorker
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import DEFAULT_ID, SandboxHost
from mockserver.server.http1.server import Server
from mockserver.server.socket_handler import SocketHandler
from tests.clients.operations import SESSIONS
from tests.harness.waiting import PATIENCE_SECONDS, wait_until
from tests.server.conftest import Serve
from tests.server.control_calls import Made, make
from tests.server.hosts import host_of
from tests.server.sockets import ReceivedRequest, app

pytestmark = pytest.mark.clause("events.nothing-lost")


class Standalone:
    """A running server with its background, and calls to its default sandbox."""

    def __init__(self, host: SandboxHost, url: str, background: BackgroundWorker) -> None:
        self.host, self.hosted, self.background = host, host.sandboxes[DEFAULT_ID], background
        tenant = self.hosted.tenant
        self.made = Made(url, DEFAULT_ID, url, tenant.id, tenant.secret_key, tenant.public_key)

    def receive(self, url: str, **settings: JSON) -> str:
        body = self.made.control("POST", "/scenarios", {"given": {"webhooks": [{"url": url, **settings}]}}).json()
        return str(body["created"]["webhooks"][0])

    def events(self) -> list[JSON]:
        found: list[JSON] = self.made.control("GET", "/events").json()["events"]
        return found

    def complete(self, session_id: str) -> None:
        assert 200 == self.made.control("POST", f"/sessions/{session_id}/complete?wait=false", {}).status_code


@pytest.fixture
def standalone() -> Iterator[Standalone]:
    before = set(threading.enumerate())
    host = host_of()
    background = BackgroundWorker(host)
    with Server(SocketHandler(host)) as server:
        host.origin = server.url
        background.start()
        yield Standalone(host, server.url, background)
        background.stop()
    wait_until(lambda: not any("mockserver" in each.name for each in set(threading.enumerate()) - before))


def test_a_failure_of_the_limits_stops_neither_their_next_check_nor_the_timers(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("mockserver.server.hosting.background._TICK_SECONDS", 0.001)
    host, calls = SandboxHost(), []
    hosted = host.create(SandboxConfig("demo"))
    monkeypatch.setattr("mockserver.server.hosting.background.run_until", lambda *_: calls.append("timers"))
    monkeypatch.setattr(host, "on_tick", lambda: calls.append("limits") or 1 / 0)
    background = BackgroundWorker(host)

    background.start()
    wait_until(lambda: len(calls) >= 4)
    background.stop()

    assert not hosted.sandbox.clock.frozen
    assert ["limits", "timers"] * 2 == calls[:4]
    assert "unexpected failure in the background" in caplog.messages


def test_a_slow_receiver_delays_neither_the_api_nor_another_endpoint(standalone: Standalone, serve: Serve) -> None:
    held, seen = threading.Event(), []
    standalone.receive(serve(app(lambda _: held.wait(PATIENCE_SECONDS) and None)).url)
    standalone.receive(serve(app(lambda request: seen.append(request.json["data"]["sessionId"]))).url)
    sessions = [standalone.made.session() for _ in range(3)]

    for session_id in sessions:
        standalone.complete(session_id)
    wait_until(lambda: sessions == seen)

    assert "completed" == standalone.made.api("GET", f"{SESSIONS}/{sessions[0]}").json()["status"]
    slow, quick = standalone.events()[0]["deliveries"]
    assert ("due", "delivered") == (slow["status"], quick["status"])
    assert [{"at"}] == [set(each) for each in slow["attempts"]]
    held.set()
    wait_until(lambda: {"delivered"} == {each["deliveries"][0]["status"] for each in standalone.events()})


def test_an_advance_waits_for_running_attempts_and_retries_at_their_instants(
    standalone: Standalone, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrived, waits, held, fired = threading.Event(), threading.Event(), threading.Event(), []
    worked = standalone.hosted.dispatch._worked
    wait = worked.wait
    monkeypatch.setattr(worked, "wait", lambda _: waits.set() or wait(PATIENCE_SECONDS))

    def answer(_: ReceivedRequest) -> Response:
        arrived.set()
        held.wait(PATIENCE_SECONDS)
        return Response(status=503)

    def advance() -> None:
        fired.extend(standalone.made.control("POST", "/clock/advance", {"by": "40m"}).json()["fired"])

    standalone.made.control("PUT", "/clock", {"freeze": "2031-01-01T00:00:00Z"})
    standalone.receive(serve(app(answer)).url)
    standalone.complete(standalone.made.session())
    assert arrived.wait(PATIENCE_SECONDS)
    advancing = threading.Thread(target=advance)
    advancing.start()
    assert waits.wait(PATIENCE_SECONDS)
    held.set()
    advancing.join(PATIENCE_SECONDS)

    assert ["delivery.wake"] * 3 == [each["what"] for each in fired]
    [delivery] = standalone.events()[0]["deliveries"]
    assert ["00:00:00", "00:00:05", "00:05:05", "00:35:05"] == [each["at"][11:19] for each in delivery["attempts"]]


@pytest.mark.parametrize("end", ["reset", "delete"])
def test_a_request_in_flight_is_canceled_when_its_sandbox_is_reset_or_closed(
    standalone: Standalone, serve: Serve, end: str
) -> None:
    held, arrived = threading.Event(), threading.Event()
    url = serve(app(lambda _: arrived.set() or held.wait(PATIENCE_SECONDS) and None)).url
    other = requests.post(f"{standalone.made.server}/_mock/sandboxes", json={}, timeout=10).json()
    made = Made(
        standalone.made.server, *(other[key] for key in ("sandboxId", "baseUrl", "tenantId", "secretKey", "publicKey"))
    )
    dispatch = standalone.host.sandboxes[made.id].dispatch
    made.control("POST", "/scenarios", {"given": {"webhooks": [{"url": url}]}})
    made.control("POST", f"/sessions/{made.session()}/complete", {})
    assert arrived.wait(PATIENCE_SECONDS)

    if end == "reset":
        assert 204 == made.control("POST", "/reset").status_code
    else:
        requests.delete(f"{made.server}/_mock/sandboxes/{made.id}", timeout=10)

    wait_until(lambda: not dispatch._awaited)
    assert not held.is_set()
    if end == "reset":
        assert [] == made.control("GET", "/events").json()["events"]
    held.set()


@pytest.mark.parametrize("sandboxes", [1, 4, 64])
def test_a_receiver_is_sent_its_event_while_64_of_other_sandboxes_hang(
    standalone: Standalone, serve: Serve, sandboxes: int
) -> None:
    seen: list[str] = []
    standalone.host.webhook_timeout_seconds = 3_600
    with socket.create_server(("127.0.0.1", 0), backlog=64) as hanging:  # the system accepts, and nothing answers
        given = {"webhooks": [{"url": f"http://127.0.0.1:{hanging.getsockname()[1]}/"}] * (64 // sandboxes)}
        for _ in range(sandboxes):
            made = make(standalone.made.server, given=given)
            made.control("POST", f"/sessions/{made.session()}/complete?wait=false", {})

        standalone.receive(serve(app(lambda request: seen.append(request.json["data"]["sessionId"]))).url)
        session_id = standalone.made.session()
        standalone.complete(session_id)

        wait_until(lambda: [session_id] == seen)
        standalone.background.stop()


COUNT = 40  # more than the threads of the pool


def test_forty_receivers_that_call_back_at_a_time_are_all_answered() -> None:
    all_called = threading.Barrier(COUNT)
    statuses: list[int] = []

    def prepare(sandbox: Sandbox) -> str:
        def receive(_: object) -> int:
            all_called.wait(PATIENCE_SECONDS)  # each of them keeps a thread of the server meanwhile
            answer = requests.get(f"{sandbox.base_url}/_mock/clock", timeout=PATIENCE_SECONDS)  # takes another one
            statuses.append(answer.status_code)
            return 200

        sandbox.receive_webhooks(receive)
        sandbox.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={})
        return f"{sandbox.base_url}/_mock/clock/advance"

    def advance(url: str) -> int:
        return requests.post(url, json={"by": "20m"}, timeout=3 * PATIENCE_SECONDS).status_code

    with MockServer() as server, ThreadPoolExecutor(COUNT) as clients:
        sandboxes = [server.sandbox() for _ in range(COUNT)]
        answers = list(clients.map(advance, [prepare(sandbox) for sandbox in sandboxes]))

        assert [200] * COUNT == answers
        assert [200] * COUNT == statuses
        assert {"delivered"} == {sandbox.events[0]["deliveries"][0]["status"] for sandbox in sandboxes}
