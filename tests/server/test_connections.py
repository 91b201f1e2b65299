"""Connections to receivers: reused while deliveries are due, replaced if the receiver has closed them, closed at the end."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from mockserver import MockServer, Sandbox
from mockserver.core.webhooks import url_policy
from mockserver.server.webhooks import connections
from mockserver.server.webhooks.sender import HttpSender
from mockserver.testing.receivers import Receiver
from tests.harness.rows import each_row
from tests.operations.session_calls import NOON, begin
from tests.server.receivers import ACCEPTED, PATIENCE_SECONDS, read_request, receiving

pytestmark = [pytest.mark.mockserver(now=NOON), pytest.mark.clause("events.subscribed")]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.fixture
def sender() -> Iterator[HttpSender]:
    sender = HttpSender(url_policy.THIS_MACHINE | {"hooks.example"})
    yield sender
    sender.cancel_all(for_good=True)


def post(sender: HttpSender, url: str) -> tuple[int | None, str | None]:
    result = sender.send(url, {"Content-Type": "application/json"}, b"{}")
    return result.status, result.error


def expire(sandbox: Sandbox, count: int) -> None:
    """Let this many sessions expire at one instant."""
    for _ in range(count):
        begin(sandbox)
    sandbox.advance("20m")


def attempts(hook: Receiver) -> list[list[tuple[int | None, str | None]]]:
    """The status and error of each attempt, by delivery."""
    return [[(each.get("status"), each.get("error")) for each in row["attempts"]] for row in hook.deliveries]


def close_at_once(wire: socket.socket) -> None:
    """Close the connection, which then has no more requests."""


def close_unread(wire: socket.socket) -> None:
    """Close the connection as a request arrives, before it is read."""
    wire.recv(1, socket.MSG_PEEK)


def close_after_reading(wire: socket.socket) -> None:
    read_request(wire)


def test_deliveries_that_are_due_together_use_one_connection_per_receiver(mockserver: Sandbox) -> None:
    with receiving([ACCEPTED] * 20) as one, receiving([OK] * 20) as two:
        hooks = [mockserver.receive_webhooks(each.url) for each in (one, two)]
        expire(mockserver, 20)
        assert all(each.closed[0].wait(PATIENCE_SECONDS) for each in (one, two))

    assert [[20], [20]] == [one.counts, two.counts]
    assert [[(204, None)]] * 20 == attempts(hooks[0])
    assert [[(200, None)]] * 20 == attempts(hooks[1])


@each_row(
    ("reply", "status"),
    [
        (ACCEPTED, 204),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", 204),
        (OK, 200),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n", 200),
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy", 503),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 200),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Trailer: a\r\n\r\n", 200),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, 200),
        (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 2 + ACCEPTED, 204),
    ],
)
def test_a_connection_is_reused_after_a_whole_response(sender: HttpSender, reply: bytes, status: int) -> None:
    with receiving([reply, reply, reply]) as receiver:
        results = [post(sender, receiver.url) for _ in range(3)]
        sender.close_idle()

    assert [(status, None)] * 3 == results
    assert [3] == receiver.counts


@each_row(
    ("reply", "status"),
    [
        (b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n", 204),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: Keep-Alive, Close\r\n\r\n", 200),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: x\r\nConnection: close\r\n\r\n", 200),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 200),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok", 200),
        (OK + b"HTTP/1.1 500 Not asked for\r\n\r\n", 200),
        (ACCEPTED + b"a body that a 204 cannot have", 204),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n", 204),
        (b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", 204),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", 200),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n" + b"x" * 70_000, 200),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", 101),
    ],
)
def test_a_connection_is_not_reused_if_its_next_bytes_are_in_doubt(
    sender: HttpSender, reply: bytes, status: int
) -> None:
    with receiving([reply], [reply]) as receiver:
        results = [post(sender, receiver.url) for _ in range(2)]

    assert [(status, None)] * 2 == results
    assert [1, 1] == receiver.counts


def test_a_connection_that_the_receiver_has_closed_is_replaced(sender: HttpSender) -> None:
    with receiving([ACCEPTED, close_at_once], [ACCEPTED]) as receiver:
        first = post(sender, receiver.url)
        assert receiver.closed[0].wait(PATIENCE_SECONDS)
        assert [(204, None)] * 2 == [first, post(sender, receiver.url)]
        sender.close_idle()

    assert [1, 1] == receiver.counts


def test_a_connection_that_closes_before_its_request_is_read_adds_no_attempt(mockserver: Sandbox) -> None:
    with receiving([ACCEPTED, close_unread], [ACCEPTED, close_unread], [ACCEPTED]) as receiver:
        hook = mockserver.receive_webhooks(receiver.url)
        expire(mockserver, 3)

    assert [[(204, None)]] * 3 == attempts(hook)
    assert [1, 1, 1] == receiver.counts


def test_a_request_that_was_read_and_not_answered_is_a_failed_attempt(mockserver: Sandbox) -> None:
    with receiving([ACCEPTED, close_after_reading], [ACCEPTED]) as receiver:
        hook = mockserver.receive_webhooks(receiver.url)
        expire(mockserver, 2)
        before = receiver.counts
        mockserver.advance("5s")

    assert [1] == before
    assert [[(204, None)], [(None, "no response: RemoteDisconnected"), (204, None)]] == attempts(hook)


def resolve(monkeypatch: pytest.MonkeyPatch, *answers: str) -> list[str]:
    """Resolve `hooks.example` and `changing.localhost` to these addresses, one after another; the addresses given out."""
    given: list[str] = []
    real = socket.getaddrinfo

    def getaddrinfo(host: str, port: int, *rest: Any, **named: Any) -> list[Any]:
        if host not in ("hooks.example", "changing.localhost"):
            return real(host, port, *rest, **named)
        given.append(answers[len(given)])
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (given[-1], port))]

    monkeypatch.setattr("socket.getaddrinfo", getaddrinfo)
    return given


def test_a_reused_connection_stays_at_the_address_that_was_checked(
    monkeypatch: pytest.MonkeyPatch, sender: HttpSender
) -> None:
    given = resolve(monkeypatch, "127.0.0.1", "192.0.2.7")
    with receiving([ACCEPTED, ACCEPTED]) as receiver:
        url = f"http://changing.localhost:{receiver.port}/hook"
        assert [(204, None)] * 2 == [post(sender, url) for _ in range(2)]
        assert ["127.0.0.1"] == given
        sender.close_idle()
        result = post(sender, url)

    assert (None, "refused: changing.localhost is 192.0.2.7, which is not this machine") == result
    assert [2] == receiver.counts


def test_a_connection_is_replaced_after_its_lifetime(monkeypatch: pytest.MonkeyPatch, sender: HttpSender) -> None:
    given = resolve(monkeypatch, "127.0.0.1", "127.0.0.1")
    monkeypatch.setattr(connections, "_LIFETIME_SECONDS", -1.0)
    with receiving([ACCEPTED], [ACCEPTED]) as receiver:
        for _ in range(2):
            assert (204, None) == post(sender, f"http://hooks.example:{receiver.port}/hook")
        sender.close_idle()

    assert ["127.0.0.1"] * 2 == given
    assert [1, 1] == receiver.counts


@pytest.mark.parametrize("ending", ["reset", "close"])
def test_the_end_of_a_sandboxs_epoch_ends_a_request_on_a_reused_connection(
    mockserver_server: MockServer, ending: str
) -> None:
    arrived, released = threading.Event(), threading.Event()

    def hold(wire: socket.socket) -> None:
        read_request(wire)
        arrived.set()
        wire.recv(1)
        released.set()

    with receiving([ACCEPTED, hold]) as receiver, mockserver_server.sandbox(now=NOON) as sandbox:
        sandbox.receive_webhooks(receiver.url)
        waiting = threading.Thread(target=expire, args=(sandbox, 2))
        waiting.start()
        assert arrived.wait(PATIENCE_SECONDS)
        getattr(sandbox, ending)()
        assert released.wait(PATIENCE_SECONDS)
        waiting.join(PATIENCE_SECONDS)
        assert not waiting.is_alive()


def test_the_time_limit_applies_to_each_request_of_a_connection() -> None:
    sender = HttpSender(timeout_seconds=0.1)

    def hold(wire: socket.socket) -> None:
        read_request(wire)
        wire.recv(1)

    with receiving([ACCEPTED, ACCEPTED, hold], [ACCEPTED]) as receiver:
        results = [post(sender, receiver.url) for _ in range(3)]

    assert [(204, None), (204, None), (None, "timeout")] == results
    assert [2] == receiver.counts
