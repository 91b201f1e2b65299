"""Bodies of requests: counted, chunked, announced with `Expect: 100-continue`, and not read."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from mockserver.server.http1.body import SMALL_MAX_BYTES, BodyTotal
from tests.harness.rows import each_row
from tests.server.clocked import Clocked, Echo
from tests.server.conftest import Serve
from tests.server.rawclient import RawClient
from tests.server.wsgi import WsgiHandler

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


@each_row("body", [b"", b"abc", b"\r\n\r\n", LARGE])
def test_a_counted_body_is_read_to_its_end_and_no_further(serve: Serve, body: bytes) -> None:
    with RawClient(serve(echo).port) as client:
        for path in ("/first", "/second"):
            client.send(f"POST {path} HTTP/1.1", f"Content-Length: {len(body)}", body=body)
            assert path.encode() + b" " + body == client.answer().body


# What is sent, and what the app reads.
CHUNKS = [
    (b"0\r\n\r\n", b""),  # none
    (b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", b"abcde"),  # two
    (b'3;a="b"\r\nabc\r\n0;c\r\n\r\n', b"abc"),  # extension
    (b"3;" + b"a" * 8190 + b"\r\nabc\r\n0\r\n\r\n", b"abc"),  # extension at the bound
    (b"1\r\na\r\n" * 20_000 + b"0\r\n\r\n", b"a" * 20_000),  # short chunks
    (b"A\r\n0123456789\r\n00\r\n\r\n", b"0123456789"),  # hexadecimal
    (b"3\r\nabc\r\n0\r\nX-Sum: 1\r\nX-API-Key: forged\r\n\r\n", b"abc"),  # trailers
    (b"%x\r\n%b\r\n0\r\n\r\n" % (len(LARGE), LARGE), LARGE),  # large
]


@each_row(("sent", "read"), CHUNKS)
def test_a_chunked_body_is_joined_and_its_trailers_dropped(serve: Serve, sent: bytes, read: bytes) -> None:
    with RawClient(serve(echo).port) as client:
        for path in ("/first", "/second"):
            client.send(f"POST {path} HTTP/1.1", CHUNKED, body=sent)
            assert path.encode() + b" " + read == client.answer().body


# What is sent after the head.
BROKEN = [
    b"\r\nabc",  # no size
    b"xyz\r\n",  # size that is no number
    b"-1\r\n",  # signed size
    b"11111111111111111\r\n",  # huge size
    b"2\r\nabc\r\n0\r\n\r\n",  # chunk too long
    b"3\nabc",  # bare line feed
    b"0\r\nX: a\nY: b\r\n\r\n",  # line feed in a trailer
    b"3;" + b"a" * 9000,  # endless size line
    b"3;" + b"a" * 9000 + b"\r\nabc\r\n0\r\n\r\n",  # long extension
    b"3;" + b"a" * 8191 + b"\r\nabc\r\n0\r\n\r\n",  # extension over the bound
    b"3\r\nabc\r\n3;" + b"a" * 9000 + b"\r\nabc\r\n0\r\n\r\n",  # long extension of a later chunk
    b"3\r\nabc\r\n0;" + b"a" * 9000 + b"\r\n\r\n",  # long extension of the last chunk
    b"0" * 9000 + b"3\r\nabc\r\n0\r\n\r\n",  # many zeros
    b"0\r\nX: " + b"a" * 9000 + b"\r\n\r\n",  # long trailer
    (b"1;" + b"a" * 200 + b"\r\na\r\n") * 60 + b"0\r\n\r\n",  # extensions of many chunks
    b"0\r\nGET /second HTTP/1.1\r\nHost: here\r\n\r\n",  # request for a trailer
    b"0\r\nX: a\0\r\n\r\n",  # control character in a trailer
    b"0\r\nX: a\r\n b\r\n\r\n",  # folded trailer
    b"0\r\n" + (b"X: " + b"a" * 8000 + b"\r\n") * 9,  # large trailers
]


@each_row("sent", BROKEN)
def test_a_broken_body_is_refused_and_never_reaches_the_app(
    serve: Serve, sent: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    with RawClient(serve(None).port) as client:
        answer = client.send("POST / HTTP/1.1", CHUNKED, body=sent).answer()

        assert (400, 400) == (answer.status, answer.json()["statusCode"])
        assert "close" == answer.headers["connection"]
        assert client.ended()
    assert ("", "") == capfd.readouterr()


@each_row("header", ["Content-Length: 3", CHUNKED])
def test_the_client_is_bidden_to_continue_when_the_app_reads(serve: Serve, header: str) -> None:
    with RawClient(serve(echo).port) as client:
        assert 100 == client.send("POST /a HTTP/1.1", header, "Expect: 100-continue").answer().status
        client.socket.sendall(b"abc" if header != CHUNKED else b"3\r\nabc\r\n0\r\n\r\n")

        assert b"/a abc" == client.answer().body
        assert b"/b " == client.send("GET /b HTTP/1.1").answer().body


# A header, the body, and whether another request may follow.
UNREAD = [
    ("Content-Length: 3", b"abc", True),  # small
    (f"Content-Length: {64 * 1024}", b"a" * 64 * 1024, True),  # at the bound
    (f"Content-Length: {len(LARGE)}", LARGE, False),  # over the bound
    (CHUNKED, b"3\r\nabc\r\n0\r\n\r\n", True),  # small chunks
    (CHUNKED, b"1000\r\n%b\r\n" % (b"a" * 4096) * 40 + b"0\r\n\r\n", False),  # many chunks
]


@each_row(("header", "body", "persists"), UNREAD)
def test_an_unread_body_is_skipped_or_ends_the_connection_after_the_answer(
    serve: Serve, header: str, body: bytes, persists: bool
) -> None:
    with RawClient(serve(NOT_READING).port) as client:
        assert b"unread" == client.send("POST / HTTP/1.1", header, body=body).answer().body
        if persists:
            assert b"unread" == client.send("GET / HTTP/1.1").answer().body
        else:
            assert client.ended()


# A header, and the body.
BEYOND = [
    ("Content-Length: 1001", b"a" * 1001),  # counted
    (CHUNKED, b"3e9\r\n%b\r\n0\r\n\r\n" % (b"a" * 1001)),  # in one chunk
    (CHUNKED, b"200\r\n%b\r\n200\r\n%b\r\n0\r\n\r\n" % (b"a" * 512, b"a" * 512)),  # in two chunks
]


@each_row(("header", "body"), BEYOND)
def test_a_request_with_a_body_beyond_its_bound_has_none(serve: Serve, header: str, body: bytes) -> None:
    handler = Echo(body_max_bytes=1000)
    with RawClient(serve(handler).port) as client:
        for _ in range(2):
            assert 200 == client.send("POST / HTTP/1.1", header, body=body).answer().status

    assert [None, None] == [request.body() for request in handler.requests]


def test_a_body_that_ends_early_is_refused(serve: Serve) -> None:
    called = threading.Event()

    def app(environ: Any, start: Any) -> list[bytes]:
        called.set()
        return echo(environ, start)

    with RawClient(serve(app).port) as client:
        client.send("POST / HTTP/1.1", "Content-Length: 10", body=b"abc").socket.shutdown(socket.SHUT_WR)
        assert 400 == client.answer().json()["statusCode"]
    assert not called.is_set()


KIB = 1024


def post(length: int, *fields: str) -> bytes:
    """Return the head of a request with a body of this length."""
    lines = ["POST / HTTP/1.1", "Host: here", f"Content-Length: {length}", *fields, "", ""]
    return "\r\n".join(lines).encode()


class TestTotalOfBodies:
    """The bodies under way, of every connection of one server."""

    def test_a_body_is_in_a_file_as_soon_as_it_is_larger_than_what_stays_in_memory(self) -> None:
        handler = Echo()
        with Clocked(handler) as client:
            client.send(post(SMALL_MAX_BYTES)).send(b"a" * SMALL_MAX_BYTES)
            client.send(post(SMALL_MAX_BYTES + 2)).send(b"a" * SMALL_MAX_BYTES).send(b"a").settle()
            client.send(b"b")
            client.run(lambda: client.received.endswith(b"aab"))
        assert [False, True] == [request.is_spooled for request in handler.requests]

    def test_the_largest_body_that_arrives_gives_way_when_all_take_more_than_the_total(self) -> None:
        total = BodyTotal(400 * KIB)
        handler = Echo()
        with Clocked(handler, total) as one, Clocked(handler, total) as two, Clocked(handler, total) as three:
            for client, size in ((one, 100 * KIB), (two, 200 * KIB)):
                upload(client, 300 * KIB, size)
            assert 300 * KIB == total.taken_bytes
            upload(three, 300 * KIB, 120 * KIB)
            two.settle()

            assert two.received.startswith(b"HTTP/1.1 500 ")
            assert [True, False, True] == [client.is_open for client in (one, two, three)]
            assert 220 * KIB == total.taken_bytes
            assert [] == two.log

    @pytest.mark.parametrize("end", ["answered", "aborted", "slow", "beyond", "chunks"])
    def test_nothing_is_counted_after_the_end_of_a_request(self, end: str) -> None:
        total = BodyTotal(None)
        with Clocked(Echo(200 * KIB), total) as client:
            if end == "chunks":
                client.send(b"POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n")
                for _ in range(3):
                    client.send(b"18000\r\n" + b"a" * 32 * KIB).send(b"a" * 64 * KIB + b"\r\n")
                    client.settle()
                assert client.received.startswith(b"HTTP/1.1 200 ")
            elif end == "beyond":
                client.send(post(300 * KIB)).send(b"a" * 100)
            else:
                upload(client, 150 * KIB, 100 * KIB)
                assert 100 * KIB == total.taken_bytes
            if end == "answered":
                upload(client, 0, 50 * KIB)
                assert client.received.startswith(b"HTTP/1.1 200 ")
            elif end == "aborted":
                client.connection.abort()
                client.settle()
            elif end == "slow":
                client.wait(30.0).wait(30.0)
                assert client.received.startswith(b"HTTP/1.1 400 ")

            assert 0 == total.taken_bytes


def upload(client: Clocked, length: int, size: int) -> None:
    """Begin a body of this length, 0 for one that has begun, and send as many bytes of it."""
    if length:
        client.send(post(length))
    for at in range(0, size, 32 * KIB):
        client.send(b"a" * min(32 * KIB, size - at))
        client.settle()


class TestPace:
    """The bytes of a body have to arrive at a least pace."""

    def test_a_body_that_arrives_too_slowly_is_refused_however_often_a_byte_arrives(self) -> None:
        with Clocked(Echo()) as client:
            client.send(post(10_000))
            for _ in range(29):
                client.wait(1.0).send(b"a" * 200)
            assert client.is_open
            client.wait(1.0)

            answer = client.received
            assert answer.startswith(b"HTTP/1.1 400 ")
            assert b"fewer than 256 bytes of the body arrive each second, on average over 30 s" in answer
            assert not client.is_open

    def test_a_body_at_the_least_pace_is_read_to_its_end(self) -> None:
        with Clocked(Echo()) as client:
            client.send(post(256 * 90))
            for _ in range(90):
                client.send(b"a" * 256).wait(1.0)

            assert client.received.startswith(b"HTTP/1.1 200 ")

    def test_the_rest_of_an_unread_body_ends_its_connection_when_it_is_slow(self) -> None:
        with Clocked(Echo(body_max_bytes=10)) as client:
            client.send(b"POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n" + b"a" * 11)
            assert client.received.startswith(b"HTTP/1.1 200 ")
            client.wait(15.0).send(b"a").wait(15.0).send(b"a").wait(15.0)

            assert not client.is_open
            assert b"" == client.received

    def test_the_setting_gives_another_pace(self) -> None:
        for pace, is_open in ((None, True), (10, True), (11, False)):
            with Clocked(Echo(), pace_bytes=pace) as client:
                client.send(post(10_000)).wait(15.0).send(b"a" * 300).wait(15.0)

                assert is_open == client.is_open
