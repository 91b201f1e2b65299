"""What happens to a connection when the app fails, the app breaks it, or the client disconnects."""

from __future__ import annotations

import re
import socket
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from mockserver.server.http1.messages import Response
from mockserver.server.http1.wire import NO_LINGER
from tests.harness.waiting import wait_until
from tests.server.conftest import Serve
from tests.server.rawclient import DEADLINE_SECONDS, RawClient
from tests.server.wsgi import answering


def raising(environ: Any, start: Any) -> Any:
    raise LookupError("secret detail")


def raising_late(environ: Any, start: Any) -> Iterator[bytes]:
    start("200 OK", [])
    raise LookupError("secret detail")
    yield b""


FAILING = [
    raising,
    raising_late,
    answering(["text"]),
    answering([b"x"], "200 OK", ("X-Split", "a\r\nb: c")),
    answering([b"x"], "100 Continue"),
    lambda environ, start: [b"no start"],
    lambda environ, start: sys.exit(3),
]


@pytest.mark.parametrize("app", FAILING)
def test_a_failing_app_is_an_internal_error_with_a_logged_traceback(serve: Serve, app: Any) -> None:
    log: list[str] = []
    with RawClient(serve(app, log=log.append).port) as client:
        for _ in range(2):
            answer = client.send("GET / HTTP/1.1").answer()
            assert (500, "application/json") == (answer.status, answer.headers["content-type"])
            assert {"statusCode", "code", "message"} == set(answer.json())
            assert "INTERNAL_ERROR" == answer.json()["code"]
            assert not re.search("(?i)secret|traceback|<html", repr(answer))

    assert any("Traceback" in line for line in log)


def test_an_app_that_fails_in_the_middle_breaks_its_answer_off(serve: Serve) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"one"
        raise LookupError("secret detail")

    log: list[str] = []
    app = lambda environ, start: Response(200, (("Content-Length", "6"),), pieces())
    with RawClient(serve(app, log=log.append).port) as client:
        assert b"one" == client.send("GET / HTTP/1.1").answer().body
        assert client.ended()
    assert "LookupError: secret detail" in log[0]


def test_pieces_are_closed_in_the_end(serve: Serve) -> None:
    closed = threading.Event()

    class Pieces(list[bytes]):
        def close(self) -> None:
            closed.set()

    with RawClient(serve(answering(Pieces([b"x"]))).port) as client:
        client.send("GET / HTTP/1.1").answer()
        assert closed.wait(DEADLINE_SECONDS)


def reset(client: RawClient) -> None:
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n\r\nabc"])
def test_a_client_that_vanishes_leaves_no_trace(serve: Serve, sent: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    def reading(environ: Any, start: Any) -> Iterator[bytes]:
        environ["wsgi.input"].read()
        start("200 OK", [])
        return iter([b"x" * 1000] * 1000)

    server = serve(reading)
    with RawClient(server.port) as client:
        client.socket.sendall(sent)
        reset(client)
    with RawClient(server.port) as other:
        assert 200 == other.send("GET / HTTP/1.1").answer().status
    wait_until(lambda: not server.connections)  # and so has been logged

    assert ("", "") == capfd.readouterr()


def test_a_client_that_stops_reading_leaves_no_trace(serve: Serve, capfd: pytest.CaptureFixture[str]) -> None:
    ended = threading.Event()

    async def endless() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"x" * 10_000
        finally:
            ended.set()

    server = serve(lambda environ, start: Response(200, (("Content-Length", "9" * 15),), endless()))
    with RawClient(server.port) as client:
        client.send("GET / HTTP/1.1").line()
        reset(client)

    assert ended.wait(DEADLINE_SECONDS)
    wait_until(lambda: not server.connections)  # and so has been logged
    assert ("", "") == capfd.readouterr()
