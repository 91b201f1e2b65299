"""Requests of HTTP/1.1: the request that the handler gets, and the refusal of all other bytes."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from mockserver.server.http1.messages import Request, Response
from mockserver.server.http1.server import Server
from tests.server.rawclient import RawClient

Serve = Callable[..., Server]


class Recorder:
    """A handler that stores its requests."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def body_max_bytes(self, target: str) -> int:
        return 1_000

    def respond(self, request: Request) -> Response:
        self.requests.append(request)
        return Response(200, ())


def request_of(serve: Serve, *lines: str) -> Request:
    """Return the request that the handler gets."""
    recorder = Recorder()
    with RawClient(serve(recorder).port) as client:
        assert 200 == client.send(*lines).answer().status
    (request,) = recorder.requests
    return request


def test_the_request_has_the_values_that_were_sent(serve: Serve) -> None:
    request = request_of(
        serve, "PATCH /a%20b/%C3%A7%2Fd?q=%20x&y HTTP/1.1", "Content-Type: text/x", "X-Some-Thing:  v "
    )

    assert ("PATCH", "/a%20b/%C3%A7%2Fd?q=%20x&y", b"") == (request.method, request.target, request.body())
    assert {"content-type": "text/x", "x-some-thing": "v", "host": "here"} == request.headers


def test_the_request_has_its_client_and_its_number_on_the_connection(serve: Serve) -> None:
    recorder = Recorder()
    with RawClient(serve(recorder).port) as client:
        for _ in range(2):
            client.send("GET / HTTP/1.1").answer()
        address = client.socket.getsockname()

    assert [(address, 0), (address, 1)] == [(each.client, each.exchanges_before) for each in recorder.requests]


# target, path with query, host
ABSOLUTE = [
    ("http://other:81/a?b", "/a?b", "other:81"),
    ("HTTP://other", "/", "other"),
    ("http://other?b", "/?b", "other"),
]


@pytest.mark.parametrize(("target", "path", "host"), ABSOLUTE)
def test_an_absolute_target_has_its_own_host(serve: Serve, target: str, path: str, host: str) -> None:
    request = request_of(serve, f"GET {target} HTTP/1.1")

    assert (path, host) == (request.target, request.headers["host"])


def test_repeated_headers_are_joined(serve: Serve) -> None:
    request = request_of(serve, "GET / HTTP/1.1", "X-API-Key: a", "Cookie: c=1", "x-api-key: b", "Cookie: d=2")

    assert ("a,b", "c=1; d=2") == (request.headers["x-api-key"], request.headers["cookie"])


def test_a_header_with_an_underscore_is_dropped(serve: Serve) -> None:
    request = request_of(serve, "GET / HTTP/1.1", "X_API_Key: forged", "Content_Length: 5")

    assert {"host": "here"} == request.headers


def test_an_asterisk_is_a_target_of_options(serve: Serve) -> None:
    assert "*" == request_of(serve, "OPTIONS * HTTP/1.1").target


@pytest.mark.parametrize("method", ["get", "BREW", "M-SEARCH", "QUERY", "x.y"])
def test_an_unknown_method_reaches_the_handler(serve: Serve, method: str) -> None:
    assert method == request_of(serve, f"{method} / HTTP/1.1").method


def test_bytes_that_a_client_did_not_escape_stay_in_the_target(serve: Serve) -> None:
    recorder = Recorder()
    with RawClient(serve(recorder).port) as client:
        client.socket.sendall("GET /a?b=ç HTTP/1.1\r\nHost: here\r\n\r\n".encode())
        assert 200 == client.answer().status

    assert "/a?b=ç".encode() == recorder.requests[0].target.encode("latin-1")


HOST = "Host: here\r\n"
# name of the case, status, what is sent
REFUSED = [
    ("no version", 400, "GET /\r\n" + HOST + "\r\n"),
    ("two spaces", 400, "GET  / HTTP/1.1\r\n" + HOST + "\r\n"),
    ("space in the target", 400, "GET /a b HTTP/1.1\r\n" + HOST + "\r\n"),
    ("control in the target", 400, "GET /a\x01 HTTP/1.1\r\n" + HOST + "\r\n"),
    ("target without a slash", 400, "GET a HTTP/1.1\r\n" + HOST + "\r\n"),
    ("asterisk for GET", 400, "GET * HTTP/1.1\r\n" + HOST + "\r\n"),
    ("HTTP/2", 400, "PRI * HTTP/2.0\r\n\r\n"),
    ("TLS", 400, "\x16\x03\x01\x02\x00"),
    ("bare line feed", 400, "GET / HTTP/1.1\nHost: here\n\n"),
    ("line feed in a header", 400, "GET / HTTP/1.1\r\n" + HOST + "X: a\nY: b\r\n\r\n"),
    ("folded header", 400, "GET / HTTP/1.1\r\n" + HOST + "X: a\r\n b\r\n\r\n"),
    ("space before the colon", 400, "GET / HTTP/1.1\r\n" + HOST + "X : a\r\n\r\n"),
    ("no colon", 400, "GET / HTTP/1.1\r\n" + HOST + "X\r\n\r\n"),
    ("no name", 400, "GET / HTTP/1.1\r\n" + HOST + ": a\r\n\r\n"),
    ("zero byte", 400, "GET / HTTP/1.1\r\n" + HOST + "X: a\0\r\n\r\n"),
    ("no host", 400, "GET / HTTP/1.1\r\n\r\n"),
    ("two hosts", 400, "GET / HTTP/1.1\r\n" + HOST + HOST + "\r\n"),
    ("endless request line", 400, "GET /" + "a" * 9000),
    ("long request line", 400, "GET /" + "a" * 9000 + " HTTP/1.1\r\n" + HOST + "\r\n"),
    ("long header", 400, "GET / HTTP/1.1\r\n" + HOST + "X: " + "a" * 9000 + "\r\n\r\n"),
    ("many headers", 400, "GET / HTTP/1.1\r\n" + HOST + "X: a\r\n" * 100 + "\r\n"),
    ("large head", 400, "GET / HTTP/1.1\r\n" + HOST + ("X: " + "a" * 8000 + "\r\n") * 9 + "\r\n"),
    ("two lengths", 400, "POST / HTTP/1.1\r\n" + HOST + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
    ("the same length twice", 400, "POST / HTTP/1.1\r\n" + HOST + "Content-Length: 2, 2\r\n\r\nab"),
    ("signed length", 400, "POST / HTTP/1.1\r\n" + HOST + "Content-Length: +1\r\n\r\na"),
    ("empty length", 400, "POST / HTTP/1.1\r\n" + HOST + "Content-Length:\r\n\r\na"),
    (
        "length and coding",
        400,
        "POST / HTTP/1.1\r\n" + HOST + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    ),
    ("coding in 1.0", 400, "POST / HTTP/1.0\r\n" + HOST + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ("unknown coding", 400, "POST / HTTP/1.1\r\n" + HOST + "Transfer-Encoding: gzip, chunked\r\n\r\n"),
    ("unknown expectation", 400, "GET / HTTP/1.1\r\n" + HOST + "Expect: miracles\r\n\r\n"),
]


@pytest.mark.parametrize(("status", "sent"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_invalid_http_is_refused_in_json_and_never_reaches_the_handler(serve: Serve, status: int, sent: str) -> None:
    recorder = Recorder()
    with RawClient(serve(recorder).port) as client:
        client.socket.sendall(sent.encode("latin-1"))
        answer = client.answer()

        assert status == answer.status
        assert ("application/json", "close") == (answer.headers["content-type"], answer.headers["connection"])
        assert {
            "statusCode": status,
            "code": "VALIDATION_ERROR",
            "message": "Os dados enviados são inválidos. Verifique o campo requisição.",
        } == answer.json()
        assert client.ended()
    assert [] == recorder.requests


def test_the_body_of_a_refusal_is_the_servers_owners_to_word(serve: Serve) -> None:
    server = serve(Recorder(), error_body=lambda is_app_failure: (422, json.dumps({"of": is_app_failure}).encode()))
    with RawClient(server.port) as client:
        client.socket.sendall(b"GET /\r\n\r\n")
        answer = client.answer()

    assert (422, {"of": False}) == (answer.status, answer.json())
    assert answer.headers["x-mock-reason"]


@pytest.mark.parametrize("length", [8 * 1024, 8 * 1024 - 1])
def test_a_line_at_its_bound_is_taken(serve: Serve, length: int) -> None:
    path = "/" + "a" * (length - len("GET / HTTP/1.1"))
    request = request_of(serve, f"GET {path} HTTP/1.1", "X: " + "b" * (length - 3))

    assert (path, length - 3) == (request.target, len(request.headers["x"]))
