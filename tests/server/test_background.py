"""A server that runs by itself sends events without a request; a slow receiver delays no other; nothing is left behind."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
import requests
from freezegun import freeze_time
from werkzeug.wrappers import Response

from mockserver._json import JSON
from mockserver.server.hosting.background import _THREADS_MAX, BackgroundWorker
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import DEFAULT_ID, HostedSandbox, SandboxHost
from mockserver.server.http1.server import Server
from mockserver.server.socket_handler import SocketHandler
from mockserver.server.webhooks.pacing import Pacing
from tests.clients.operations import SESSIONS
from tests.harness.waiting import PATIENCE_SECONDS, wait_until
from tests.server.conftest import Serve
from tests.server.control_calls import Made, make
from tests.server.receivers import ACCEPTED, receiving
from tests.server.sockets import ReceivedRequest, app

pytestmark = pytest.mark.clause("events.nothing-lost")


class Standalone:
    """A running server with its background, and calls to its default sandbox."""

    def __init__(self, host: SandboxHost, hosted: HostedSandbox, server: Server, background: BackgroundWorker) -> None:
        self.host, self.hosted, self.background = host, hosted, background
        tenant = hosted.tenant
        self.made = Made(server.url, hosted.id, server.url, tenant.id, tenant.secret_key, tenant.public_key)

    def receive(self, url: str, **settings: JSON) -> str:
        body = self.made.control("POST", "/scenarios", {"given": {"webhooks": [{"url": url, **settings}]}}).json()
        return str(body["created"]["webhooks"][0])

    def events(self) -> list[JSON]:
        found: list[JSON] = self.made.control("GET", "/events").json()["events"]
        return found

    def complete(self, session_id: str) -> None:
        assert 200 == self.made.control("POST", f"/sessions/{session_id}/complete?wait=false", {}).status_code


class RecordedPacing(Pacing):
    """What happens to the pacing of a server, in order; no delivery waits."""

    def __init__(self) -> None:
        super().__init__()
        self.record: list[str] = []

    def note_call(self) -> None:
        self.record.append("call")

    def wait_seconds(self) -> float:
        self.record.append("turn")
        return 0.0


@pytest.fixture
def standalone() -> Iterator[Standalone]:
    before = set(threading.enumerate())
    host = SandboxHost()
    hosted = host.create(SandboxConfig(), id=DEFAULT_ID)
    background = BackgroundWorker(host)
    with Server(SocketHandler(host)) as server:
        host.origin = server.url
        background.start()
        yield Standalone(host, hosted, server, background)
        background.stop()
    wait_until(lambda: not any("mockserver" in each.name for each in set(threading.enumerate()) - before))


def test_an_event_leaves_by_itself(standalone: Standalone, serve: Serve) -> None:
    seen = []
    standalone.receive(serve(app(lambda request: seen.append(request.json["data"]["sessionId"]))).url)
    session_id = standalone.made.session()

    standalone.complete(session_id)

    wait_until(lambda: [session_id] == seen)


def test_a_clock_that_is_set_past_events_is_set_once_they_are_delivered(standalone: Standalone, serve: Serve) -> None:
    seen = []
    assert 200 == standalone.made.control("PUT", "/clock", {"freeze": "2026-03-01T12:00:00Z"}).status_code
    standalone.receive(serve(app(lambda request: seen.append(request.json["data"]["sessionId"]))).url)
    sessions = [standalone.made.session() for _ in range(3)]

    assert 200 == standalone.made.control("PUT", "/clock", {"freeze": "2026-03-01T12:30:00Z"}).status_code

    assert sessions == seen  # expired at 12:20:00


def test_an_advance_is_recorded_after_the_deliveries_of_the_workers_that_it_waits_for(
    standalone: Standalone, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = threading.Event()
    standalone.receive(serve(app(lambda _: asked.wait(PATIENCE_SECONDS) and None)).url)
    standalone.complete(standalone.made.session())
    dispatch = standalone.hosted.dispatch
    wait_for_workers = dispatch.await_workers
    monkeypatch.setattr(dispatch, "await_workers", lambda: asked.set() or wait_for_workers())

    standalone.made.control("POST", "/clock/advance", {"by": "0s"})

    journal = standalone.hosted.sandbox.journal
    assert ("advance", journal.last_transition) == (journal.commands[-1].command, journal.commands[-1].transitions)


def test_each_request_to_a_receiver_takes_a_turn_after_the_calls_of_the_api(
    standalone: Standalone, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    pacing = RecordedPacing()
    monkeypatch.setattr(standalone.background, "_pacing", pacing)
    standalone.receive(serve(app(lambda _: None)).url)
    session_id = standalone.made.session()  # a call of the API; those of the control plane are not counted
    standalone.made.api("GET", f"{SESSIONS}/{session_id}")

    standalone.complete(session_id)
    wait_until(lambda: ["delivered"] == [each["deliveries"][0]["status"] for each in standalone.events()])

    assert ["call", "call", "turn"] == pacing.record


def test_no_connection_stays_open_when_everything_is_sent(standalone: Standalone) -> None:
    with receiving([ACCEPTED]) as receiver:
        standalone.receive(receiver.url)
        standalone.complete(standalone.made.session())
        assert receiver.closed[0].wait(PATIENCE_SECONDS)

    assert [1] == receiver.counts


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


def test_an_expiry_leaves_unasked_also_where_the_processs_clock_is_frozen(serve: Serve) -> None:
    with freeze_time("2031-01-01T00:00:00Z") as frozen:
        host = SandboxHost()
        hosted = host.create(SandboxConfig(), id=DEFAULT_ID)
        background, seen = BackgroundWorker(host), []
        with Server(SocketHandler(host)) as server:
            host.origin = server.url
            background.start()
            standalone = Standalone(host, hosted, server, background)
            standalone.receive(serve(app(lambda request: seen.append(request.json["data"]["status"]))).url)
            standalone.made.session()
            frozen.tick(1200)
            wait_until(lambda: ["expired"] == seen)
            background.stop()


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


def test_a_receiver_that_advances_the_clock_is_answered_during_its_request(
    standalone: Standalone, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mockserver.server.webhooks.dispatcher._WORKERS_TIMEOUT_SECONDS", 0.05)
    seen: list[tuple[str, int]] = []

    def answer(request: ReceivedRequest) -> None:
        advanced = standalone.made.control("POST", "/clock/advance", {"by": "20m"})
        seen.append((request.json["data"]["sessionId"], advanced.status_code))

    standalone.made.control("PUT", "/clock", {"freeze": "2031-01-01T00:00:00Z"})
    standalone.receive(serve(app(answer)).url)
    first, second = standalone.made.session(), standalone.made.session()
    standalone.complete(first)

    wait_until(lambda: [(first, 200), (second, 200)] == seen)
    wait_until(lambda: [[200], [200]] == [statuses(each) for each in standalone.events()])
    assert "2031-01-01T00:40:00.000Z" == standalone.made.control("GET", "/clock").json()["now"]


def statuses(event: JSON) -> list[int | None]:
    return [each.get("status") for each in event["deliveries"][0]["attempts"]]


def test_an_advance_waits_but_once_for_a_receiver_that_is_slow(
    standalone: Standalone, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mockserver.server.webhooks.dispatcher._WORKERS_TIMEOUT_SECONDS", 0.05)
    arrived, held, waits = threading.Event(), threading.Event(), []
    worked = standalone.hosted.dispatch._worked
    wait = worked.wait
    monkeypatch.setattr(worked, "wait", lambda seconds: waits.append(seconds) or wait(seconds))
    standalone.receive(serve(app(lambda _: arrived.set() or held.wait(PATIENCE_SECONDS) and None)).url)
    standalone.complete(standalone.made.session())
    assert arrived.wait(PATIENCE_SECONDS)

    for _ in range(3):
        assert 200 == standalone.made.control("POST", "/clock/advance", {"by": "1m"}).status_code

    assert [0.05] == waits and not held.is_set()
    held.set()


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


def test_stopping_cancels_running_attempts(standalone: Standalone, serve: Serve) -> None:
    held, arrived = threading.Event(), threading.Event()
    standalone.receive(serve(app(lambda _: arrived.set() or held.wait(PATIENCE_SECONDS) and None)).url)
    standalone.complete(standalone.made.session())
    assert arrived.wait(PATIENCE_SECONDS)

    standalone.background.stop()

    assert not held.is_set()
    held.set()


def test_a_busy_worker_does_not_delay_the_stop(standalone: Standalone, serve: Serve) -> None:
    arrived, over = threading.Event(), threading.Event()
    standalone.receive(serve(app(lambda _: arrived.set() or over.wait(PATIENCE_SECONDS) and None)).url)
    standalone.complete(standalone.made.session())
    assert arrived.wait(PATIENCE_SECONDS)
    stopping = threading.Thread(target=standalone.background.stop)

    with standalone.hosted.sandbox.lock:  # which a worker needs to report the result of its request
        stopping.start()
        stopping.join(PATIENCE_SECONDS)
        is_stopped = not stopping.is_alive()
    over.set()

    assert is_stopped
    wait_until(lambda: not any("mockserver sender" in each.name for each in threading.enumerate()))


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


def test_requests_beyond_the_number_of_workers_wait_for_a_free_one(standalone: Standalone, serve: Serve) -> None:
    seen: list[str] = []
    url = serve(app(lambda request: seen.append(request.json["data"]["sessionId"]))).url
    for _ in range(2 * _THREADS_MAX):
        standalone.receive(url)
    session_id = standalone.made.session()

    standalone.complete(session_id)

    wait_until(lambda: [session_id] * 2 * _THREADS_MAX == seen)
