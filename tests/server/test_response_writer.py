"""How a response and its body are framed on a connection, and whether the connection stays open."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mockserver.server.http1.connection import ClientDisconnected, RawSocket, ResponseWriter
from mockserver.server.http1.server import Server
from tests.server.rawclient import RawClient

Serve = Callable[..., Server]


def answering(pieces: Any, status: str = "200 OK", *headers: tuple[str, str]) -> Any:
    def app(environ: Any, start: Any) -> Any:
        start(status, list(headers))
        return pieces() if callable(pieces) else pieces

    return app


def two_pieces() -> Iterator[bytes]:
    yield b"one"
    yield b""
    yield b"two"


# version line, further header: how a body of unknown length is framed, and what is said of the connection
FRAMINGS = [
    ("HTTP/1.1", "X-Any: 1", "chunked", None),
    ("HTTP/1.1", "Connection: close", "chunked", "close"),
    ("HTTP/1.0", "X-Any: 1", "end", "close"),
    ("HTTP/1.0", "Connection: keep-alive", "end", "close"),
]


@pytest.mark.parametrize(("version", "header", "framing", "connection"), FRAMINGS)
def test_a_body_of_unknown_length_is_chunked_or_ends_with_the_connection(
    serve: Serve, version: str, header: str, framing: str, connection: str | None
) -> None:
    with RawClient(serve(answering(two_pieces)).port) as client:
        answer = client.say(f"GET / {version}", header).answer()

        assert b"onetwo" == answer.body
        assert framing == answer.framing
        assert connection == answer.headers.get("connection")
        if connection == "close":
            assert client.ended()


# version, header, what is said of the connection where the length is known
PERSISTENCE = [
    ("HTTP/1.1", "X-Any: 1", None),
    ("HTTP/1.1", "Connection: Close", "close"),
    ("HTTP/1.1", "Connection: x, close", "close"),
    ("HTTP/1.0", "X-Any: 1", "close"),
    ("HTTP/1.0", "Connection: Keep-Alive", "keep-alive"),
]


@pytest.mark.parametrize(("version", "header", "connection"), PERSISTENCE)
def test_a_connection_persists_as_the_client_means_it(
    serve: Serve, version: str, header: str, connection: str | None
) -> None:
    with RawClient(serve(answering([b"hello"])).port) as client:
        answer = client.say(f"GET / {version}", header).answer()

        assert ("length", b"hello") == (answer.framing, answer.body)
        assert connection == answer.headers.get("connection")
        if connection == "close":
            assert client.ended()
        else:
            assert b"hello" == client.say(f"GET / {version}", header).answer().body


def test_an_app_may_end_the_connection_by_header(serve: Serve) -> None:
    with RawClient(serve(answering([b"hello"], "200 OK", ("Connection", "close"))).port) as client:
        assert "close" == client.say("GET / HTTP/1.1").answer().headers["connection"]
        assert client.ended()


@pytest.mark.parametrize("pieces", [[b"hello"], two_pieces, []])
@pytest.mark.parametrize(("method", "status"), [("HEAD", "200 OK"), ("GET", "204 No Content"), ("GET", "304 x")])
def test_some_responses_have_no_body_whatever_the_app_returns(
    serve: Serve, pieces: Any, method: str, status: str
) -> None:
    with RawClient(serve(answering(pieces, status)).port) as client:
        for _ in range(2):
            answer = client.say(f"{method} / HTTP/1.1").answer(method)

            assert int(status[:3]) == answer.status
            assert "transfer-encoding" not in answer.headers
            assert method == "HEAD" or "content-length" not in answer.headers


def test_head_has_the_length_of_get(serve: Serve) -> None:
    for app in (answering([b"hello"]), answering(two_pieces, "200 OK", ("Content-Length", "5"))):
        with RawClient(serve(app).port) as client:
            assert "5" == client.say("HEAD / HTTP/1.1").answer("HEAD").headers["content-length"]


def test_head_and_body_leave_in_one_send() -> None:
    sends: list[bytes] = []

    class Recorder(socket.socket):
        def send(self, data: Any, flags: int = 0, /) -> int:
            sends.append(bytes(data))
            return len(data)

    with Recorder() as recorder:
        for pieces in ([b"hello"], iter([b"hello"])):
            answer = ResponseWriter(recorder, RawSocket(recorder))
            answer.start("200 OK", [("Content-Length", "5")])
            answer.write_all(pieces)

    assert 2 == len(sends)
    assert all(sent.endswith(b"\r\n\r\nhello") for sent in sends)


def test_an_answer_without_pieces_is_empty(serve: Serve) -> None:
    with RawClient(serve(answering([])).port) as client:
        assert "0" == client.say("GET / HTTP/1.1").answer().headers["content-length"]


def test_data_that_an_app_writes_precedes_what_it_returns(serve: Serve) -> None:
    def app(environ: Any, start: Any) -> list[bytes]:
        start("200 OK", [])(b"written ")
        return [b"returned"]

    with RawClient(serve(app).port) as client:
        assert b"written returned" == client.say("GET / HTTP/1.1").answer().body


def test_more_than_the_announced_length_does_not_reach_the_next_answer(serve: Serve) -> None:
    with RawClient(serve(answering([b"hello, world"], "200 OK", ("Content-Length", "5"))).port) as client:
        for _ in range(2):
            assert b"hello" == client.say("GET / HTTP/1.1").answer().body


def test_less_than_the_announced_length_ends_the_connection(serve: Serve) -> None:
    with RawClient(serve(answering([b"hel"], "200 OK", ("Content-Length", "5"))).port) as client:
        assert b"hel" == client.say("GET / HTTP/1.1").answer().body
        assert client.ended()


def test_a_date_is_added_only_where_the_app_has_none(serve: Serve) -> None:
    day = "Sun, 01 Mar 2026 12:00:00 GMT"
    with RawClient(serve(answering([b""], "200 OK", ("date", day))).port) as client:
        client.say("GET / HTTP/1.1")
        raw = "\n".join(iter(client.line, ""))
        assert [day] == re.findall("(?i)^date: (.*)$", raw, re.MULTILINE)
    with RawClient(serve(answering([b""])).port) as client:
        assert client.say("GET / HTTP/1.1").answer().headers["date"].endswith(" GMT")


class SlowSocket:
    """A socket whose reader takes `rate` bytes in a second, with a timeout of a second, on a clock of its own."""

    def __init__(self, rate: int) -> None:
        self.rate, self.taken = rate, 0

    def send(self, data: memoryview) -> int:
        """Take what the reader takes within the timeout."""
        if not self.rate:
            raise TimeoutError("timed out")
        taken = min(len(data), self.rate)
        self.taken += taken
        return taken

    def sendall(self, data: bytes) -> None:
        """The timeout is that of the whole, as the standard library has it."""
        if len(data) > self.rate:
            raise TimeoutError("timed out")
        self.taken += len(data)


def slow(rate: int) -> tuple[Any, ResponseWriter]:
    wire: Any = SlowSocket(rate)
    answer = ResponseWriter(wire, RawSocket(wire))
    answer.start("200 OK", [])
    return wire, answer


def test_a_steady_reader_gets_a_long_answer_whole_however_long_it_takes() -> None:
    wire, answer = slow(rate=1000)
    answer.write_all([b"x" * 100_000])

    assert wire.taken > 100_000


def test_a_client_that_reads_nothing_for_the_timeout_counts_as_disconnected() -> None:
    _, answer = slow(rate=0)
    with pytest.raises(ClientDisconnected):
        answer.write_all([b"x" * 100_000])

    assert answer.disconnected


@pytest.mark.parametrize("length", ["abc", "", "\xb2", "+5", "-5", "1_0", " 5", "5, 5", "9" * 5000])
def test_a_content_length_that_is_not_a_number_is_never_sent(serve: Serve, length: str) -> None:
    log: list[str] = []
    with RawClient(serve(answering([b"12345"], "200 OK", ("Content-Length", length)), log=log.append).port) as client:
        answer = client.say("GET / HTTP/1.1").answer()
        assert (500, "length") == (answer.status, answer.framing)
        assert 500 == client.say("GET / HTTP/1.1").answer().status
    assert 2 == sum("Content-Length" in line for line in log)
