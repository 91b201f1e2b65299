"""How a response and its body are framed on a connection, and whether the connection stays open."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from mockserver.server.http1.messages import Response
from tests.server.conftest import Serve
from tests.server.rawclient import DEADLINE_SECONDS, RawClient
from tests.server.wsgi import answering


def two_pieces() -> Iterator[bytes]:
    yield b"one"
    yield b""
    yield b"two"


def test_each_piece_of_a_body_is_sent_when_it_is_due(serve: Serve) -> None:
    go_on = threading.Event()

    async def pieces() -> AsyncIterator[bytes]:
        yield b"one"
        await asyncio.get_running_loop().run_in_executor(None, go_on.wait, DEADLINE_SECONDS)
        yield b"two"

    app = lambda environ, start: Response(200, (("Content-Length", "6"),), pieces())
    with RawClient(serve(app).port) as client:
        client.send("GET / HTTP/1.1")
        while client.line():
            pass
        assert b"one" == client.read(3)
        go_on.set()
        assert b"two" == client.read(3)


# version, header, the response's Connection header
PERSISTENCE = [
    ("HTTP/1.1", "X-Any: 1", None),
    ("HTTP/1.1", "Connection: Close", "close"),
    ("HTTP/1.1", "Connection: x, close", "close"),
    ("HTTP/1.0", "X-Any: 1", "close"),
    ("HTTP/1.0", "Connection: Keep-Alive", "keep-alive"),
]


@pytest.mark.parametrize(("version", "header", "connection"), PERSISTENCE)
def test_a_connection_persists_as_the_client_requests(
    serve: Serve, version: str, header: str, connection: str | None
) -> None:
    with RawClient(serve(answering([b"hello"])).port) as client:
        answer = client.send(f"GET / {version}", header).answer()

        assert ("length", b"hello") == (answer.framing, answer.body)
        assert connection == answer.headers.get("connection")
        if connection == "close":
            assert client.ended()
        else:
            assert b"hello" == client.send(f"GET / {version}", header).answer().body


@pytest.mark.parametrize("pieces", [[b"hello"], two_pieces, []])
@pytest.mark.parametrize(("method", "status"), [("HEAD", "200 OK"), ("GET", "204 No Content"), ("GET", "304 x")])
def test_some_responses_have_no_body_whatever_the_app_returns(
    serve: Serve, pieces: Any, method: str, status: str
) -> None:
    with RawClient(serve(answering(pieces, status)).port) as client:
        for _ in range(2):
            answer = client.send(f"{method} / HTTP/1.1").answer(method)

            assert int(status[:3]) == answer.status
            assert "transfer-encoding" not in answer.headers
            assert method == "HEAD" or "content-length" not in answer.headers


def test_more_than_the_announced_length_does_not_reach_the_next_answer(serve: Serve) -> None:
    with RawClient(serve(answering([b"hello, world"], "200 OK", ("Content-Length", "5"))).port) as client:
        for _ in range(2):
            assert b"hello" == client.send("GET / HTTP/1.1").answer().body


def test_less_than_the_announced_length_ends_the_connection(serve: Serve) -> None:
    with RawClient(serve(answering([b"hel"], "200 OK", ("Content-Length", "5"))).port) as client:
        assert b"hel" == client.send("GET / HTTP/1.1").answer().body
        assert client.ended()


def test_a_date_is_added_only_where_the_app_has_none(serve: Serve) -> None:
    day = "Sun, 01 Mar 2026 12:00:00 GMT"
    with RawClient(serve(answering([b""], "200 OK", ("date", day))).port) as client:
        client.send("GET / HTTP/1.1")
        raw = "\n".join(iter(client.line, ""))
        assert [day] == re.findall("(?i)^date: (.*)$", raw, re.MULTILINE)
    with RawClient(serve(answering([b""])).port) as client:
        assert client.send("GET / HTTP/1.1").answer().headers["date"].endswith(" GMT")


MEGABYTES = 16  # more than the buffers of both systems take


def test_a_client_that_reads_nothing_for_the_timeout_counts_as_disconnected(serve: Serve) -> None:
    lost = threading.Event()

    async def note() -> None:
        lost.set()

    app = lambda environ, start: Response(200, (), b"x" * MEGABYTES * 1024 * 1024, on_lost=note)
    with RawClient(serve(app, idle_seconds=0.05).port) as client:
        client.send("GET / HTTP/1.1")
        assert lost.wait(DEADLINE_SECONDS)


def test_no_further_request_is_read_of_a_client_that_does_not_read(serve: Serve) -> None:
    calls: list[str] = []

    def app(environ: Any, start: Any) -> list[bytes]:
        calls.append(environ["PATH_INFO"])
        start("200 OK", [])
        return [b"x" * MEGABYTES * 1024 * 1024]

    with RawClient(serve(app).port) as client, RawClient(serve(app).port) as other:
        client.send("GET /1 HTTP/1.1").send("GET /2 HTTP/1.1")
        other.send("GET /other HTTP/1.1").answer()
        assert "/2" not in calls
        assert 2 * [MEGABYTES * 1024 * 1024] == [len(client.answer().body) for _ in range(2)]
    assert ["/1", "/2"] == [call for call in calls if call != "/other"]


@pytest.mark.parametrize("length", ["abc", "", "\xb2", "+5", "-5", "1_0", " 5", "5, 5", "9" * 5000])
def test_a_content_length_that_is_not_a_number_is_never_sent(serve: Serve, length: str) -> None:
    log: list[str] = []
    with RawClient(serve(answering([b"12345"], "200 OK", ("Content-Length", length)), log=log.append).port) as client:
        answer = client.send("GET / HTTP/1.1").answer()
        assert (500, "length") == (answer.status, answer.framing)
        assert 500 == client.send("GET / HTTP/1.1").answer().status
    assert 2 == sum("Content-Length" in line for line in log)
