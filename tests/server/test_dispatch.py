"""Deliveries while time passes: receivers that call back over a socket, and the commands on webhooks over HTTP."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
import requests
from flask import Flask, request
from standardwebhooks import Webhook

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from mockserver.testing.calls import CallMismatch
from mockserver.testing.remote import RemoteServer
from tests.clients.operations import SESSIONS
from tests.operations.inbox import Inbox
from tests.operations.session_calls import NOON, begin
from tests.server.conftest import Serve
from tests.server.control_calls import control, make, refused
from tests.server.receivers import PATIENCE_SECONDS
from tests.server.sockets import ReceivedRequest, app

pytestmark = pytest.mark.clause("events.once")


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer() as running:
        yield running


@pytest.mark.mockserver(now=NOON)
def test_a_wsgi_app_receives_in_process(mockserver: Sandbox) -> None:
    hooks, seen = Flask("crm"), []

    @hooks.post("/hooks/crm")
    def receive() -> tuple[str, int]:
        seen.append(Webhook(secret).verify(request.get_data(), dict(request.headers)))
        return "", 202

    receiver = mockserver.receive_webhooks(hooks, path="/hooks/crm")
    secret = receiver.secret
    mockserver.complete_session(begin(mockserver))

    assert 1 == len(seen)
    assert [202] == [each["status"] for each in receiver.deliveries[0]["attempts"]]


@pytest.mark.mockserver(now=NOON)
def test_a_wsgi_app_gets_the_query_of_its_path(mockserver: Sandbox) -> None:
    hooks, seen = Flask("crm"), []

    @hooks.post("/hooks/crm")
    def receive() -> str:
        seen.append(request.args["team"])
        return ""

    mockserver.receive_webhooks(hooks, path="/hooks/crm?team=S%C3%A3o")
    mockserver.complete_session(begin(mockserver))

    assert ["São"] == seen


@pytest.mark.mockserver(now=NOON)
@pytest.mark.parametrize(
    ("answer", "found"), [(True, "True"), (-1, "-1"), ("ok", "a str"), ((200,), "a tuple"), ({"ok": 1}, "a dict")]
)
def test_a_value_that_is_not_a_response_fails_the_attempt_with_what_was_expected(
    mockserver: Sandbox, answer: Any, found: str
) -> None:
    receiver = mockserver.receive_webhooks(lambda request: answer)
    mockserver.complete_session(begin(mockserver))

    [attempt] = receiver.deliveries[0]["attempts"]
    wanted = "expected None, a status, or (status, headers, body)"
    assert (500, f"the receiver returned {found}; {wanted}") == (attempt["status"], attempt["error"])


@pytest.mark.mockserver(now=NOON)
def test_a_wsgi_app_that_breaks_is_a_failed_attempt(mockserver: Sandbox) -> None:
    def broken(environ: JSON, start_response: Callable[..., Any]) -> None:
        raise RuntimeError("no database")

    receiver = mockserver.receive_webhooks(broken)
    mockserver.complete_session(begin(mockserver))

    [attempt] = receiver.deliveries[0]["attempts"]
    assert 500 == attempt["status"]
    assert re.fullmatch(r"the receiver raised RuntimeError: no database \(test_dispatch.py:\d+\)", attempt["error"])


def test_a_receiver_on_a_socket_is_answered_while_time_passes(server: MockServer, serve: Serve) -> None:
    with server.sandbox(now=NOON) as sandbox:
        seen = []

        def answer(request: ReceivedRequest) -> None:
            session_id = request.json["data"]["sessionId"]
            url = f"{sandbox.base_url}{SESSIONS}/{session_id}"
            session = requests.get(url, headers={"X-API-Key": sandbox.secret_key}, timeout=10).json()
            clock = control(sandbox.base_url, "GET", "/clock").json()["now"]
            seen.append((session_id, session["status"], clock))

        sandbox.receive_webhooks(serve(app(answer)).url)
        first = begin(sandbox)
        sandbox.advance("5m")
        second = begin(sandbox)

        reply = control(sandbox.base_url, "POST", "/clock/advance", {"by": "1h"}).json()

    assert [
        (first, "expired", "2026-03-01T12:20:00.000Z"),
        (second, "expired", "2026-03-01T12:25:00.000Z"),
    ] == seen
    assert "2026-03-01T13:05:00.000Z" == reply["now"]


def test_a_call_that_ends_late_leaves_what_is_due_to_the_advance(
    mockserver: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the advance goes on, and may end, while the call's thread still sends."""
    own, senders = threading.current_thread(), []
    mockserver.receive_webhooks(lambda _: senders.append(threading.current_thread()))
    begin(mockserver)
    dispatch = mockserver._hosted.dispatch
    send_due = dispatch.send_due

    def send_after_a_call() -> None:
        if threading.current_thread() is own:
            ending = threading.Thread(target=dispatch.dispatch_due)
            ending.start()
            ending.join(PATIENCE_SECONDS)
        send_due()

    monkeypatch.setattr(dispatch, "send_due", send_after_a_call)
    mockserver.advance("1h")

    assert [own] == senders


def test_an_advance_sends_what_a_call_makes_due_at_its_end(
    mockserver: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    received: list[Any] = []
    mockserver.receive_webhooks(lambda webhook: received.append(webhook.json()["data"]["sessionId"]))
    session = begin(mockserver)
    dispatch = mockserver._hosted.dispatch
    advance_to = dispatch._advance_to

    def advance_then_call(*arguments: Any) -> Any:
        fired = advance_to(*arguments)
        calling = threading.Thread(target=mockserver.complete_session, args=(session,))
        calling.start()
        calling.join(PATIENCE_SECONDS)
        return fired

    monkeypatch.setattr(dispatch, "_advance_to", advance_then_call)
    mockserver.advance("1m")

    assert [session] == received


def test_a_receiver_on_a_socket_may_advance_the_clock(server: MockServer, serve: Serve) -> None:
    with server.sandbox(now=NOON) as sandbox:
        seen = []

        def answer(request: ReceivedRequest) -> None:
            seen.append(request.json["data"]["sessionId"])
            if len(seen) == 1:
                assert 200 == control(sandbox.base_url, "POST", "/clock/advance", {"by": "10m"}).status_code

        sandbox.receive_webhooks(serve(app(answer)).url)
        first, second = begin(sandbox), begin(sandbox)
        sandbox.complete_session(first)
        sandbox.advance("10m")

    assert [first, second] == seen


@pytest.fixture(params=["in process", "remote"])
def overlapped(request: pytest.FixtureRequest, server: MockServer) -> Iterator[Sandbox]:
    """A sandbox whose session expires after 20 minutes."""
    source = server if request.param == "in process" else RemoteServer(server.url)
    with source.sandbox(now=NOON) as sandbox:
        begin(sandbox)
        yield sandbox


def overlap(sandbox: Sandbox, first: Callable[[], object], *others: Callable[[], object]) -> None:
    """Run a command in another thread, and while it delivers an event on its way the others, one after another."""
    arrived, held = threading.Event(), threading.Event()
    sandbox.receive_webhooks(lambda _: arrived.set() or held.wait(PATIENCE_SECONDS) and None)
    advancing = threading.Thread(target=first)
    advancing.start()
    assert arrived.wait(PATIENCE_SECONDS)
    for other in others:
        other()
    held.set()
    advancing.join(PATIENCE_SECONDS)
    assert not advancing.is_alive()


def minutes_since_noon(sandbox: Sandbox) -> float:
    return (sandbox.now - datetime.fromisoformat(NOON)).total_seconds() / 60


def test_lengths_of_overlapping_advances_add_up(overlapped: Sandbox) -> None:
    sandbox, seen = overlapped, []

    def advance() -> None:
        sandbox.advance(minutes=30)
        seen.append(minutes_since_noon(sandbox))

    overlap(sandbox, lambda: sandbox.advance("1h"), advance, lambda: sandbox.advance(0), advance)

    assert [90.0, 120.0] == seen
    assert 120.0 == minutes_since_noon(sandbox)


def test_overlapping_sleeps_share_their_time(overlapped: Sandbox) -> None:
    sandbox, seen = overlapped, []

    def sleep() -> None:
        sandbox.sleep(30 * 60)
        seen.append(minutes_since_noon(sandbox))

    overlap(sandbox, lambda: sandbox.sleep(60 * 60), sleep)

    assert [50.0] == seen
    assert 60.0 == minutes_since_noon(sandbox)


def test_a_sleep_shares_the_time_of_an_advance(overlapped: Sandbox) -> None:
    sandbox = overlapped

    overlap(sandbox, lambda: sandbox.advance("1h"), lambda: sandbox.sleep(30 * 60))

    assert 60.0 == minutes_since_noon(sandbox)


@pytest.mark.parametrize("act", ["sleep", "wait"])
def test_an_instant_that_another_thread_has_passed_meanwhile_is_reached(
    server: MockServer, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    with RemoteServer(server.url).sandbox(now=NOON) as sandbox:
        backend = sandbox._backend
        run = backend.run

        def run_late(command: Any, /, **arguments: Any) -> JSON:
            if "to" in arguments:
                run(command, by="1h")
            return run(command, **arguments)

        monkeypatch.setattr(backend, "run", run_late)
        if act == "sleep":
            sandbox.sleep(60)
        else:
            with pytest.raises(CallMismatch, match="at least 1 call of listCampaigns within 1m, got 0"):
                sandbox.wait_for("listCampaigns", within="1m")

        assert 60.0 == minutes_since_noon(sandbox)


def test_an_advance_of_another_epoch_adds_nothing(server: MockServer) -> None:
    with server.sandbox(now=NOON) as sandbox:
        begin(sandbox)
        overlap(sandbox, lambda: sandbox.advance("1h"), sandbox.reset, lambda: sandbox.advance("30m"))

        assert 30.0 == minutes_since_noon(sandbox)


def test_an_advance_by_a_receiver_of_the_advance_begins_at_its_instant(server: MockServer) -> None:
    with server.sandbox(now=NOON) as sandbox:
        begin(sandbox)
        sandbox.receive_webhooks(lambda _: 204 if sandbox.advance("10m") == [] else 500)
        sandbox.advance("1h")

        assert 60.0 == minutes_since_noon(sandbox)


def test_advances_of_many_threads_lose_no_time(overlapped: Sandbox) -> None:
    sandbox = overlapped
    sandbox.receive_webhooks(lambda _: 204)

    def advance() -> None:
        for _ in range(10):
            sandbox.advance("1m")

    threads = [threading.Thread(target=advance) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)

    assert 40.0 == minutes_since_noon(sandbox)


def test_deliveries_of_a_call_on_a_socket_are_sent_after_its_response(server: MockServer, serve: Serve) -> None:
    arrived, held = threading.Event(), threading.Event()
    with server.sandbox(now=NOON, choices={"expiry-driver": "on-read"}) as sandbox:
        url = serve(app(lambda _: arrived.set() or held.wait(10) and None)).url
        sandbox.receive_webhooks(url)
        session_id = begin(sandbox)
        sandbox.advance("20m")

        headers = {"X-API-Key": sandbox.secret_key, "Connection": "close"}
        response = requests.get(f"{sandbox.base_url}{SESSIONS}/{session_id}", headers=headers, timeout=10)

        assert "expired" == response.json()["status"] and not held.is_set()
        assert arrived.wait(10)
        held.set()


def test_a_reset_cancels_an_advance_that_waits_for_a_receiver(server: MockServer, serve: Serve) -> None:
    arrived, held = threading.Event(), threading.Event()
    with server.sandbox(now=NOON) as sandbox:
        sandbox.receive_webhooks(serve(app(lambda _: arrived.set() or held.wait(10) and None)).url)
        begin(sandbox)
        waiting = threading.Thread(target=sandbox.advance, args=("1h",))
        waiting.start()
        assert arrived.wait(10)

        sandbox.reset()
        waiting.join(10)

        assert not waiting.is_alive() and not held.is_set()
        assert ([], 12, 0) == (sandbox.events, sandbox.now.hour, sandbox.now.minute)
        held.set()


def test_the_commands_on_webhooks_are_there_over_http(server: MockServer, serve: Serve) -> None:
    seen = []
    made = make(server.url, clock={"freeze": NOON})
    url = serve(app(lambda request: seen.append(request.data))).url
    given = {"webhooks": [{"url": url, "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}]}
    [webhook_id] = made.control("POST", "/scenarios", {"given": given}).json()["created"]["webhooks"]
    made.control("POST", f"/sessions/{made.session()}/complete", {})
    [event] = made.control("GET", "/events").json()["events"]

    again = made.control("POST", f"/events/{event['id']}/redeliver")
    recovered = made.control("POST", f"/webhooks/{webhook_id}/recover")
    rotated = made.control("POST", f"/webhooks/{webhook_id}/rotate", {"secret": "whsec_C2FVsBQIhrscChlQIMV+b5sS"})

    assert 2 == len(seen) and seen[0] == seen[1]
    assert [200, 200] == [each["status"] for each in again.json()["deliveries"][0]["attempts"]]
    assert {"webhookId": webhook_id, "events": []} == recovered.json()
    now = datetime.fromisoformat(made.control("GET", "/clock").json()["now"])
    masked = {"webhookId": webhook_id, "secret": "whs...", "oldSecret": "whs..."}
    assert masked == {key: value for key, value in rotated.json().items() if key != "oldSecretUntil"}
    assert timedelta(days=1) == datetime.fromisoformat(rotated.json()["oldSecretUntil"]) - now


@pytest.mark.parametrize(
    ("path", "body", "refusal"),
    [
        ("/events/event_x/redeliver", None, (404, "MOCK_NOT_FOUND")),
        ("/webhooks/webhook_x/recover", None, (404, "MOCK_NOT_FOUND")),
        ("/webhooks/webhook_x/rotate", {"secret": "s"}, (404, "MOCK_NOT_FOUND")),
        ("/webhooks/webhook_x/rotate", {}, (400, "MOCK_BAD_BODY")),
    ],
)
def test_what_does_not_exist_is_refused(
    server: MockServer, path: str, body: JSON | None, refusal: tuple[int, str]
) -> None:
    assert refusal == refused(make(server.url).control("POST", path, body))


def test_an_event_without_an_endpoint_cannot_be_sent_again(server: MockServer) -> None:
    made = make(server.url)
    made.control("POST", f"/sessions/{made.session()}/complete", {})
    [event] = made.control("GET", "/events").json()["events"]

    assert (409, "MOCK_ILLEGAL_MOVE") == refused(made.control("POST", f"/events/{event['id']}/redeliver"))


@pytest.mark.mockserver(now=NOON)
def test_a_receiver_of_another_sandbox_is_never_called(mockserver: Sandbox, mockserver_server: MockServer) -> None:
    mine, theirs = Inbox(), Inbox()
    mockserver.receive_webhooks(mine)
    with mockserver_server.sandbox(now=NOON) as other:
        other.receive_webhooks(theirs)
        other.complete_session(begin(other))

    assert [0, 1] == [len(mine.webhooks), len(theirs.webhooks)]


def test_a_receivers_own_call_is_answered_before_what_waits_for_another_endpoint(
    server: MockServer, serve: Serve
) -> None:
    held, answers = threading.Event(), []
    with server.sandbox(now=NOON) as sandbox:

        def answer(request: ReceivedRequest) -> None:
            answers.append(control(sandbox.base_url, "GET", "/clock").status_code)
            held.set()

        def slow(request: ReceivedRequest) -> None:
            answers.append(held.is_set())

        sandbox.receive_webhooks(serve(app(answer)).url)
        sandbox.receive_webhooks(serve(app(slow)).url)
        sandbox.complete_session(begin(sandbox))

    assert [200, True] == answers


def test_a_server_closes_immediately_during_attempts(serve: Serve) -> None:
    arrived, held = threading.Event(), threading.Event()
    server = MockServer()
    sandbox = server.sandbox(now=NOON)
    sandbox.on("delivery").deliver(forge="wrong-secret", duplicate=3)
    sandbox.receive_webhooks(serve(app(lambda _: arrived.set() or held.wait(10) and None)).url)
    begin(sandbox)
    waiting = threading.Thread(target=sandbox.advance, args=("1h",))
    waiting.start()
    assert arrived.wait(10)
    closing = threading.Thread(target=server.close)

    with sandbox._hosted.sandbox.lock:
        closing.start()
        closing.join(10)
        is_closed = not closing.is_alive()
    waiting.join(10)

    assert is_closed and not waiting.is_alive() and not held.is_set()
    held.set()
