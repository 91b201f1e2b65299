"""Requests of HTTP/1.1: the environ of the accepted ones, and the refusal of all others."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from mockserver.server.http1.server import Server
from tests.server.rawclient import RawClient

Serve = Callable[..., Server]
SHOWN = ("REQUEST_METHOD", "SCRIPT_NAME", "PATH_INFO", "QUERY_STRING", "RAW_URI", "REQUEST_URI", "SERVER_PROTOCOL")


def environ_of(serve: Serve, *lines: str) -> dict[str, Any]:
    """The text entries of the environ that the app is given for this request."""

    def app(environ: Any, start: Any) -> list[bytes]:
        seen.update(environ)
        start("200 OK", [])
        return [b""]

    seen: dict[str, Any] = {}
    with RawClient(serve(app).port) as client:
        assert 200 == client.say(*lines).answer().status
    return seen


def test_the_environ_has_the_request(serve: Serve) -> None:
    environ = environ_of(
        serve, "PATCH /a%20b/%C3%A7%2Fd?q=%20x&y HTTP/1.1", "Content-Type: text/x", "X-Some-Thing:  v "
    )

    assert ["PATCH", "", "/a b/\xc3\xa7/d", "q=%20x&y", *["/a%20b/%C3%A7%2Fd?q=%20x&y"] * 2, "HTTP/1.1"] == [
        environ[key] for key in SHOWN
    ]
    assert ("text/x", "v", "here") == (environ["CONTENT_TYPE"], environ["HTTP_X_SOME_THING"], environ["HTTP_HOST"])
    assert "HTTP_CONTENT_TYPE" not in environ


def test_the_environ_has_the_server_and_the_client(serve: Serve) -> None:
    environ = environ_of(serve, "GET / HTTP/1.0")

    assert ("127.0.0.1", "127.0.0.1", "HTTP/1.0") == tuple(
        environ[key] for key in ("SERVER_NAME", "REMOTE_ADDR", "SERVER_PROTOCOL")
    )
    assert environ["SERVER_PORT"].isdigit()
    assert environ["REMOTE_PORT"].isdigit()
    assert ((1, 0), "http") == (environ["wsgi.version"], environ["wsgi.url_scheme"])
    assert (True, False, False) == tuple(environ[f"wsgi.{key}"] for key in ("multithread", "multiprocess", "run_once"))
    assert environ["wsgi.input_terminated"]
    assert {"wsgi.input", "wsgi.errors", "mockserver.socket"} <= set(environ)


# target, path, query, host
ABSOLUTE = [
    ("http://other:81/a?b", "/a", "b", "other:81"),
    ("HTTP://other", "/", "", "other"),
    ("http://other?b", "/", "b", "other"),
]


@pytest.mark.parametrize(("target", "path", "query", "host"), ABSOLUTE)
def test_an_absolute_target_brings_its_own_host(serve: Serve, target: str, path: str, query: str, host: str) -> None:
    environ = environ_of(serve, f"GET {target} HTTP/1.1")

    assert (path, query, host) == (environ["PATH_INFO"], environ["QUERY_STRING"], environ["HTTP_HOST"])
    assert target == environ["RAW_URI"]


def test_repeated_headers_are_joined(serve: Serve) -> None:
    environ = environ_of(
        serve, "GET / HTTP/1.1", "X-API-Key: a", "Cookie: c=1", "x-api-key: b", "Cookie: d=2", "Content-Length: 0, 0"
    )

    assert ("a,b", "c=1; d=2", "0") == tuple(
        environ[key] for key in ("HTTP_X_API_KEY", "HTTP_COOKIE", "CONTENT_LENGTH")
    )


def test_a_header_with_an_underscore_is_dropped(serve: Serve) -> None:
    environ = environ_of(serve, "GET / HTTP/1.1", "X_API_Key: forged", "Content_Length: 5")

    assert "HTTP_X_API_KEY" not in environ
    assert "CONTENT_LENGTH" not in environ


def test_an_asterisk_is_a_target_of_options(serve: Serve) -> None:
    assert "*" == environ_of(serve, "OPTIONS * HTTP/1.1")["PATH_INFO"]


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
def test_invalid_http_is_refused_in_json_and_never_reaches_the_app(serve: Serve, status: int, sent: str) -> None:
    calls: list[object] = []
    with RawClient(serve(lambda environ, start: calls.append(environ)).port) as client:
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
    assert [] == calls


def test_the_body_of_a_refusal_is_the_servers_owners_to_word(serve: Serve) -> None:
    server = serve(None, error_body=lambda is_app_failure: (422, json.dumps({"of": is_app_failure}).encode()))
    with RawClient(server.port) as client:
        client.socket.sendall(b"GET /\r\n\r\n")
        answer = client.answer()

    assert (422, {"of": False}) == (answer.status, answer.json())
    assert answer.headers["x-mock-reason"]


@pytest.mark.parametrize("length", [8 * 1024, 8 * 1024 - 1])
def test_a_line_at_its_bound_is_taken(serve: Serve, length: int) -> None:
    path = "/" + "a" * (length - len("GET / HTTP/1.1"))
    environ = environ_of(serve, f"GET {path} HTTP/1.1", "X: " + "b" * (length - 3))

    assert (path, length - 3) == (environ["PATH_INFO"], len(environ["HTTP_X"]))
