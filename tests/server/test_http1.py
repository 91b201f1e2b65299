"""Requests of HTTP/1.1: the request that the handler gets, and the refusal of all other bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mockserver.server.http1.messages import Request
from mockserver.server.http1.request import EMPTY_LINES_MAX, BadRequest, HeadReader
from tests.harness.rows import each_row
from tests.server.clocked import Clocked, Echo
from tests.server.conftest import Serve
from tests.server.rawclient import RawClient


def request_of(serve: Serve, *lines: str) -> Request:
    """Return the request that the handler gets."""
    handler = Echo()
    with RawClient(serve(handler).port) as client:
        assert 200 == client.send(*lines).answer().status
    (request,) = handler.requests
    return request


def test_the_request_has_its_number_on_the_connection(serve: Serve) -> None:
    handler = Echo()
    with RawClient(serve(handler).port) as client:
        for _ in range(2):
            client.send("GET / HTTP/1.1").answer()

    assert [0, 1] == [each.exchanges_before for each in handler.requests]


def test_a_header_with_an_underscore_is_dropped(serve: Serve) -> None:
    request = request_of(serve, "GET / HTTP/1.1", "X_API_Key: forged", "Content_Length: 5")

    assert {"host": "localhost"} == request.headers


@each_row("method", ["get", "BREW", "M-SEARCH", "QUERY", "x.y"])
def test_an_unknown_method_reaches_the_handler(serve: Serve, method: str) -> None:
    assert method == request_of(serve, f"{method} / HTTP/1.1").method


def test_bytes_that_a_client_did_not_escape_stay_in_the_target(serve: Serve) -> None:
    handler = Echo()
    with RawClient(serve(handler).port) as client:
        client.socket.sendall("GET /a?b=ç HTTP/1.1\r\nHost: here\r\n\r\n".encode())
        assert 200 == client.answer().status

    assert "/a?b=ç".encode() == handler.requests[0].target.encode("latin-1")


HOST = "Host: here\r\n"
WRONG_LINES = (
    "GET /",  # no version
    "GET  / HTTP/1.1",
    "GET /a b HTTP/1.1",
    "GET /a\x01 HTTP/1.1",
    "GET a HTTP/1.1",
    "GET * HTTP/1.1",
    "PRI * HTTP/2.0",
)
WRONG_FIELDS = (
    "X: a\nY: b",
    "X: a\r\n b",  # folded
    "X : a",
    "X",
    ": a",
    "X: a\0",
    "Host: here",  # a second one
    "Content-Length: 1\r\nContent-Length: 2",
    "Content-Length: 2, 2",
    "Content-Length: +1",
    "Content-Length:",
    "Content-Length: 1\r\nTransfer-Encoding: chunked",
    "Expect: miracles",
)
REFUSED = (
    *(f"{line}\r\n{HOST}\r\n" for line in WRONG_LINES),
    *(f"POST / HTTP/1.1\r\n{HOST}{field}\r\n\r\nab" for field in WRONG_FIELDS),
    f"POST / HTTP/1.0\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    f"POST / HTTP/1.1\r\n{HOST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "\x16\x03\x01\x02\x00",  # TLS
    "GET / HTTP/1.1\nHost: here\n\n",
    "GET / HTTP/1.1\r\n\r\n",  # no host
    "GET/" + "a" * 9000,  # an endless method
)


@each_row("sent", REFUSED)
def test_invalid_http_is_refused_in_json_and_never_reaches_the_handler(serve: Serve, sent: str) -> None:
    handler = Echo()
    with RawClient(serve(handler).port) as client:
        client.socket.sendall(sent.encode("latin-1"))
        answer = client.answer()

        assert 400 == answer.status
        assert ("application/json", "close") == (answer.headers["content-type"], answer.headers["connection"])
        assert {
            "statusCode": 400,
            "code": "VALIDATION_ERROR",
            "message": "Os dados enviados são inválidos. Verifique o campo requisição.",
        } == answer.json()
        assert client.ended()
    assert [] == handler.requests


def test_the_body_of_a_refusal_is_the_servers_owners_to_word(serve: Serve) -> None:
    server = serve(Echo(), error_body=lambda is_app_failure: (422, json.dumps({"of": is_app_failure}).encode()))
    with RawClient(server.port) as client:
        client.socket.sendall(b"GET /\r\n\r\n")
        answer = client.answer()

    assert (422, {"of": False}) == (answer.status, answer.json())
    assert answer.headers["x-mock-reason"]


class Counted(bytearray):
    """Received bytes that count how many of them are looked at."""

    looked = 0

    def _count(self, begin: int, end: int | None) -> None:
        self.looked += max(0, min(len(self), len(self) if end is None else end) - begin)

    def find(self, wanted: bytes, begin: int = 0, end: int | None = None) -> int:  # type: ignore[override]
        self._count(begin, end)
        return super().find(wanted, begin, len(self) if end is None else end)

    def count(self, wanted: bytes, begin: int = 0, end: int | None = None) -> int:  # type: ignore[override]
        self._count(begin, end)
        return super().count(wanted, begin, len(self) if end is None else end)

    def startswith(self, wanted: bytes, begin: int = 0) -> bool:  # type: ignore[override]
        self.looked += len(wanted)
        return super().startswith(wanted, begin)

    def __getitem__(self, place: Any) -> Any:
        taken = super().__getitem__(place)
        self.looked += len(taken) if isinstance(place, slice) else 1
        return taken


LOOKS_MAX = 20  # at each byte that arrives alone
LONG_HEADS = [
    b"GET /" + b"a" * 8_000,  # request line
    b"G" * 8_000,  # method
    b"GET / HTTP/1.1\r\nX: " + b"a" * 60_000,  # header
    b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 10_000,  # headers
    b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X: a\r\n" * 10_000 + b"\r\n",  # whole
]


@each_row("size", [1, 2, 3, 1_000])
@each_row("sent", LONG_HEADS)
def test_each_byte_of_a_head_is_looked_at_a_fixed_number_of_times(sent: bytes, size: int) -> None:
    reader, received = HeadReader(), Counted()
    ends = []
    for at in range(0, len(sent), size):
        received += sent[at : at + size]
        ends.append(reader.end(received))

    assert [0] * (len(ends) - 1) == ends[:-1]
    assert (len(sent) if sent.endswith(b"\r\n\r\n") else 0) == ends[-1]
    assert received.looked <= LOOKS_MAX * len(sent)


@each_row("is_whole", [False, True])
def test_empty_lines_before_a_request_are_bounded(is_whole: bool) -> None:
    request = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"
    for count, status in ((EMPTY_LINES_MAX, b"HTTP/1.1 200 "), (EMPTY_LINES_MAX + 1, b"HTTP/1.1 400 ")):
        sent = b"\r\n" * count + request
        with Clocked(Echo()) as client:
            for piece in [sent] if is_whole else [sent[at : at + 1] for at in range(len(sent))]:
                client.send(piece) if client.is_open else None

            assert client.received.startswith(status)


def test_a_flood_of_empty_lines_is_not_read_to_its_end() -> None:
    received = Counted(b"\r\n" * 30_000)
    with pytest.raises(BadRequest, match="empty lines precede a request"):
        HeadReader().end(received)

    assert received.looked < 100


# What is sent before the deadline.
LATE = [
    b"G",  # begun
    b"GET / HTTP/1.1\r\nHost: here\r\n",  # without its last line
    b"GET / HTTP/1.1\r\nHost: here\r\n\r\nGET / HT",  # after another request
    b"GET / HTTP/1.0\r\n",  # of HTTP/1.0
    b"\r\nGET",  # after an empty line
]


@each_row("sent", LATE)
def test_a_head_that_is_not_whole_in_time_is_refused_however_often_a_byte_arrives(sent: bytes) -> None:
    with Clocked(Echo(), head_seconds=10.0) as client:
        client.send(sent)
        for _ in range(9):
            client.wait(1.0).send(b"x")
        assert client.is_open
        client.wait(1.0)

        answer = client.received.rpartition(b"HTTP/1.1 ")[2]
        assert answer.startswith(b"400 ")
        assert b"X-Mock-Reason: the whole head of a request did not arrive within 10 s\r\n" in answer
        assert not client.is_open


def test_the_deadline_of_a_head_is_not_one_of_its_body_or_of_an_idle_connection() -> None:
    with Clocked(Echo(), head_seconds=10.0) as client:
        client.wait(29.0).send(b"POST / HTTP/1.1\r\nHost: here\r\nContent-Len").wait(9.0).send(b"gth: 3\r\n\r\n").wait(
            20.0
        )
        assert client.send(b"abc").received.endswith(b"abc")
        assert client.wait(29.0).is_open
        assert client.send(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n").received.startswith(b"HTTP/1.1 200 ")


def test_a_head_has_the_time_that_the_setting_gives_it() -> None:
    for seconds, is_open in ((20.0, True), (None, True), (5.0, False)):
        with Clocked(Echo(), head_seconds=seconds) as client:
            assert is_open == client.send(b"GET").wait(10.0).is_open
