"""Deliveries while time passes: receivers that call back over a socket, and the commands on webhooks over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
import requests
from flask import Flask, request
from standardwebhooks import Webhook

from mockserver import MockServer, Sandbox
from mockserver.testing.remote import RemoteServer
from tests.clients.operations import SESSIONS
from tests.operations.session_calls import NOON, begin
from tests.server.conftest import Serve
from tests.server.control_calls import control
from tests.server.receivers import PATIENCE_SECONDS
from tests.server.sockets import ReceivedRequest, app

pytestmark = pytest.mark.clause("events.once")


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


def test_a_receiver_on_a_socket_is_answered_while_time_passes(mockserver_server: MockServer, serve: Serve) -> None:
    with mockserver_server.sandbox(now=NOON) as sandbox:
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


def test_a_receiver_on_a_socket_may_advance_the_clock(mockserver_server: MockServer, serve: Serve) -> None:
    with mockserver_server.sandbox(now=NOON) as sandbox:
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
def overlapped(request: pytest.FixtureRequest, mockserver_server: MockServer) -> Iterator[Sandbox]:
    """A sandbox whose session expires after 20 minutes."""
    source = mockserver_server if request.param == "in process" else RemoteServer(mockserver_server.url)
    with source.sandbox(now=NOON) as sandbox:
        begin(sandbox)
        yield sandbox


def minutes_since_noon(sandbox: Sandbox) -> float:
    return (sandbox.now - datetime.fromisoformat(NOON)).total_seconds() / 60


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


def test_a_reset_cancels_an_advance_that_waits_for_a_receiver(mockserver_server: MockServer, serve: Serve) -> None:
    arrived, held = threading.Event(), threading.Event()
    with mockserver_server.sandbox(now=NOON) as sandbox:
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
