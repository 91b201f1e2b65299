"""Bodies of requests: counted, chunked, announced with `Expect: 100-continue`, and not read."""

from __future__ import annotations

import socket
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from mockserver.server.http1.messages import Request, Response, ResponseOrDisconnect
from mockserver.server.http1.server import Server
from tests.server.rawclient import RawClient
from tests.server.wsgi import WsgiHandler

Serve = Callable[..., Server]
CHUNKED = "Transfer-Encoding: chunked"
LARGE = b"0123456789" * 20_000


def echo(environ: Any, start: Any) -> list[bytes]:
    body = environ["wsgi.input"].read()
    start("200 OK", [])
    return [environ["PATH_INFO"].encode() + b" " + body]


def unread(environ: Any, start: Any) -> list[bytes]:
    start("200 OK", [])
    return [b"unread"]


NOT_READING = WsgiHandler(unread, max_bytes=0)


@pytest.mark.parametrize("body", [b"", b"abc", b"\r\n\r\n", LARGE], ids=["empty", "small", "line ends", "large"])
def test_a_counted_body_is_read_to_its_end_and_no_further(serve: Serve, body: bytes) -> None:
    with RawClient(serve(echo).port) as client:
        for path in ("/first", "/second"):
            client.send(f"POST {path} HTTP/1.1", f"Content-Length: {len(body)}", body=body)
            assert path.encode() + b" " + body == client.answer().body


# name of the case, what is sent, what the app reads
CHUNKS = [
    ("none", b"0\r\n\r\n", b""),
    ("two", b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", b"abcde"),
    ("extension", b'3;a="b"\r\nabc\r\n0;c\r\n\r\n', b"abc"),
    ("hexadecimal", b"A\r\n0123456789\r\n00\r\n\r\n", b"0123456789"),
    ("trailers", b"3\r\nabc\r\n0\r\nX-Sum: 1\r\nX-API-Key: forged\r\n\r\n", b"abc"),
    ("large", b"%x\r\n%b\r\n0\r\n\r\n" % (len(LARGE), LARGE), LARGE),
]


@pytest.mark.parametrize(("sent", "read"), [case[1:] for case in CHUNKS], ids=[case[0] for case in CHUNKS])
def test_a_chunked_body_is_joined_and_its_trailers_dropped(serve: Serve, sent: bytes, read: bytes) -> None:
    with RawClient(serve(echo).port) as client:
        for path in ("/first", "/second"):
            client.send(f"POST {path} HTTP/1.1", CHUNKED, body=sent)
            assert path.encode() + b" " + read == client.answer().body


def test_a_chunked_body_may_arrive_byte_by_byte(serve: Serve) -> None:
    with RawClient(serve(echo).port) as client:
        client.send("POST /a HTTP/1.1", CHUNKED)
        for byte in b"3\r\nabc\r\n0\r\nX: y\r\n\r\n":
            client.socket.sendall(bytes([byte]))

        assert b"/a abc" == client.answer().body


# name of the case, status, what is sent after the head
BROKEN = [
    ("no size", 400, b"\r\nabc"),
    ("size that is no number", 400, b"xyz\r\n"),
    ("signed size", 400, b"-1\r\n"),
    ("huge size", 400, b"11111111111111111\r\n"),
    ("chunk too long", 400, b"2\r\nabc\r\n0\r\n\r\n"),
    ("bare line feed", 400, b"3\nabc"),
    ("line feed in a trailer", 400, b"0\r\nX: a\nY: b\r\n\r\n"),
    ("endless size line", 400, b"3;" + b"a" * 9000),
    ("request for a trailer", 400, b"0\r\nGET /second HTTP/1.1\r\nHost: here\r\n\r\n"),
    ("control character in a trailer", 400, b"0\r\nX: a\0\r\n\r\n"),
    ("folded trailer", 400, b"0\r\nX: a\r\n b\r\n\r\n"),
    ("large trailers", 400, b"0\r\n" + (b"X: " + b"a" * 8000 + b"\r\n") * 9),
]


@pytest.mark.parametrize(("status", "sent"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_a_broken_body_is_refused_and_never_reaches_the_app(
    serve: Serve, status: int, sent: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    with RawClient(serve(None).port) as client:
        answer = client.send("POST / HTTP/1.1", CHUNKED, body=sent).answer()

        assert (status, status) == (answer.status, answer.json()["statusCode"])
        assert "close" == answer.headers["connection"]
        assert client.ended()
    assert ("", "") == capfd.readouterr()


def test_pipelined_requests_are_answered_in_their_order(serve: Serve) -> None:
    with RawClient(serve(echo).port) as client:
        client.socket.sendall(
            b"\r\nPOST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab"
            b"POST /2 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nc\r\n0\r\n\r\n"
            b"\r\n\r\nGET /3 HTTP/1.1\r\nHost: x\r\n\r\n"
        )

        assert [b"/1 ab", b"/2 c", b"/3 "] == [client.answer().body for _ in range(3)]


def test_pipelined_requests_are_all_answered_to_a_client_that_has_ended_its_side(serve: Serve) -> None:
    class Handler(WsgiHandler):
        def respond(self, request: Request) -> ResponseOrDisconnect:  # type: ignore[override]
            return Response(200, (), request.target.encode())

    server, count = serve(Handler(None)), 50
    with RawClient(server.port) as client:
        client.socket.sendall(b"".join(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % number for number in range(count)))
        client.socket.shutdown(socket.SHUT_WR)

        assert [b"/%d" % number for number in range(count)] == [client.answer().body for _ in range(count)]
        assert client.ended()


@pytest.mark.parametrize("header", ["Content-Length: 3", CHUNKED])
def test_the_client_is_bidden_to_continue_when_the_app_reads(serve: Serve, header: str) -> None:
    with RawClient(serve(echo).port) as client:
        assert 100 == client.send("POST /a HTTP/1.1", header, "Expect: 100-continue").answer().status
        client.socket.sendall(b"abc" if header != CHUNKED else b"3\r\nabc\r\n0\r\n\r\n")

        assert b"/a abc" == client.answer().body
        assert b"/b " == client.send("GET /b HTTP/1.1").answer().body


def test_a_client_whose_body_is_not_read_gets_no_100_continue(serve: Serve) -> None:
    with RawClient(serve(NOT_READING).port) as client:
        answer = client.send("POST / HTTP/1.1", "Content-Length: 3", "Expect: 100-continue").answer()

        assert (200, "close") == (answer.status, answer.headers["connection"])
        assert client.ended()


def test_a_client_that_does_not_wait_is_not_bidden(serve: Serve) -> None:
    with RawClient(serve(echo).port) as client:
        client.send("POST / HTTP/1.1", "Content-Length: 3", "Expect: 100-continue", body=b"abc")

        assert 200 == client.answer().status


def test_http_1_0_has_no_expectation(serve: Serve) -> None:
    with RawClient(serve(echo).port) as client:
        client.send("POST / HTTP/1.0", "Content-Length: 3", "Expect: 100-continue", body=b"abc")

        assert 200 == client.answer().status


# name of the case, header, body, whether another request may follow
UNREAD = [
    ("small", "Content-Length: 3", b"abc", True),
    ("at the bound", f"Content-Length: {64 * 1024}", b"a" * 64 * 1024, True),
    ("over the bound", f"Content-Length: {len(LARGE)}", LARGE, False),
    ("small chunks", CHUNKED, b"3\r\nabc\r\n0\r\n\r\n", True),
    ("many chunks", CHUNKED, b"1000\r\n%b\r\n" % (b"a" * 4096) * 40 + b"0\r\n\r\n", False),
]


@pytest.mark.parametrize(
    ("header", "body", "persists"), [case[1:] for case in UNREAD], ids=[case[0] for case in UNREAD]
)
def test_an_unread_body_is_skipped_or_ends_the_connection_after_the_answer(
    serve: Serve, header: str, body: bytes, persists: bool
) -> None:
    with RawClient(serve(NOT_READING).port) as client:
        assert b"unread" == client.send("POST / HTTP/1.1", header, body=body).answer().body
        if persists:
            assert b"unread" == client.send("GET / HTTP/1.1").answer().body
        else:
            assert client.ended()


def test_a_large_body_can_be_answered_before_it_has_arrived(serve: Serve) -> None:
    with RawClient(serve(NOT_READING).port) as client:
        client.send("POST / HTTP/1.1", f"Content-Length: {len(LARGE)}")

        assert "close" == client.answer().headers["connection"]


# name of the case, header, body
BEYOND = [
    ("counted", "Content-Length: 1001", b"a" * 1001),
    ("in one chunk", CHUNKED, b"3e9\r\n%b\r\n0\r\n\r\n" % (b"a" * 1001)),
    ("in two chunks", CHUNKED, b"200\r\n%b\r\n200\r\n%b\r\n0\r\n\r\n" % (b"a" * 512, b"a" * 512)),
]


@pytest.mark.parametrize(("header", "body"), [case[1:] for case in BEYOND], ids=[case[0] for case in BEYOND])
def test_a_request_with_a_body_beyond_its_bound_has_none(serve: Serve, header: str, body: bytes) -> None:
    seen: list[tuple[bytes | None, int | None]] = []

    class Handler:
        def body_max_bytes(self, target: str) -> int:
            return 1000

        def respond(self, request: Request) -> Response:
            seen.append((request.body(), request.size_bytes))
            return Response(413, ())

    with RawClient(serve(Handler()).port) as client:
        for _ in range(2):
            assert 413 == client.send("POST / HTTP/1.1", header, body=body).answer().status

    assert 2 * [(None, None)] == seen


@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_large_body_is_spooled_to_a_file(serve: Serve, is_chunked: bool) -> None:
    body, spooled = b"0123456789abcdef" * 128 * 1024, []

    class Handler(WsgiHandler):
        def respond(self, request: Request) -> Awaitable[ResponseOrDisconnect]:
            spooled.append(request.is_spooled)
            return super().respond(request)

    header, sent = (
        (CHUNKED, b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))
        if is_chunked
        else (f"Content-Length: {len(body)}", body)
    )
    with RawClient(serve(Handler(echo)).port) as client:
        assert b"/ " + body == client.send("POST / HTTP/1.1", header, body=sent).answer().body

    assert [True] == spooled


def test_a_body_that_ends_early_is_refused(serve: Serve) -> None:
    called = threading.Event()

    def app(environ: Any, start: Any) -> list[bytes]:
        called.set()
        return echo(environ, start)

    with RawClient(serve(app).port) as client:
        client.send("POST / HTTP/1.1", "Content-Length: 10", body=b"abc").socket.shutdown(socket.SHUT_WR)
        assert 400 == client.answer().json()["statusCode"]
    assert not called.is_set()
