"""Request targets, Host headers and methods as clients may write them, and the response to HEAD without a body."""

from __future__ import annotations

import json

import pytest

from mockserver.server import app as flask_app
from mockserver.server.hosting.host import SandboxHost
from mockserver.server.http1.request import HEAD_MAX_BYTES, is_authority
from mockserver.server.socket_handler import SocketHandler
from tests.clients.operations import SESSIONS
from tests.harness.rows import each_row
from tests.server.conftest import Serve
from tests.server.hostile import Request, send
from tests.server.hosts import host_of, key_of
from tests.server.rawclient import RawClient

NAMES = [
    "",
    "localhost",
    "127.0.0.1:80",
    "crm.example:8080",
    "[::1]",
    "[::1]:80",
    "a_b",
    "xn--bcher-kva.example:",
    "mockserver.test",
]
NO_NAMES = [
    "[",
    "]",
    "[::1",
    "[zz]",
    "a[b",
    "a b",
    "a/b",
    "a?b",
    "a#b",
    "a@b",
    "a:b",
    "a:99999",
    "a:80:80",
    "é",
    "a\\b",
    "<b>",
    '"',
    "a:²",
    "a%",
    "a%2",
    "a%zz",
]


@each_row("host", NAMES)
def test_a_host_is_a_name_or_an_address_with_an_optional_port(host: str) -> None:
    assert is_authority(host)


@each_row("host", NO_NAMES)
def test_a_host_that_is_neither_is_refused_on_the_socket(serve: Serve, host: str) -> None:
    with RawClient(serve(SocketHandler(SandboxHost())).port) as client:
        client.socket.sendall(f"GET /_mock/health HTTP/1.1\r\nHost: {host}\r\n\r\n".encode("latin-1", "replace"))
        answer = client.answer()

    assert not is_authority(host)
    assert (400, "VALIDATION_ERROR") == (answer.status, answer.json()["code"])


@each_row("host", NO_NAMES)
def test_an_invalid_host_appears_in_no_returned_url(host: str) -> None:
    """Servers other than this package's own pass such a Host on to the application."""
    served = host_of()
    headers = {"X-API-Key": key_of(served), "Content-Type": "application/json", "Host": host}
    answer = send(flask_app.build(served), Request("POST", SESSIONS, headers, b"{}"))

    assert answer.status == 202
    assert json.loads(answer.body)["url"].startswith(f"{served.origin}/connect/")


def test_an_answer_has_the_host_that_its_request_names(serve: Serve) -> None:
    host = host_of()
    fields = f"X-API-Key: {key_of(host)}\r\nContent-Type: application/json\r\nContent-Length: 2"
    with RawClient(serve(SocketHandler(host)).port) as client:
        for name in ("localhost", "127.0.0.2:8080", "localhost"):
            client.socket.sendall(f"POST {SESSIONS} HTTP/1.1\r\nHost: {name}\r\n{fields}\r\n\r\n{{}}".encode())
            assert client.answer().json()["url"].startswith(f"http://{name}/connect/")


# an absolute target, and the path with the query that it means (RFC 9112 3.2.2)
ABSOLUTE = [
    ("http://localhost/_mock/health", 200),
    ("HTTP://LOCALHOST/_mock/journal?text=/b", 200),
    ("http://localhost?a/_mock/health", 404),
    ("http://localhost?a=http://b/c/_mock/health", 404),
    ("http://localhost", 404),
    ("https://localhost/_mock/health", 200),
]


@pytest.mark.parametrize(("target", "status"), ABSOLUTE)
def test_an_absolute_target_leads_where_its_path_leads(serve: Serve, target: str, status: int) -> None:
    host = host_of()
    with RawClient(serve(SocketHandler(host)).port) as client:
        assert status == client.send(f"GET {target} HTTP/1.1").answer().status
    assert status == send(flask_app.build(host), Request("GET", target)).status


REFUSED_HEADS = [
    b"HEAD / HTTP/1.1\r\n\r\n",  # no host
    b"HEAD / HTTP/1.1\r\nHost: [\r\n\r\n",  # a wrong host
    b"HEAD a HTTP/1.1\r\nHost: a\r\n\r\n",  # no target
    b"HEAD / HTTP/2.0\r\nHost: a\r\n\r\n",  # another version
    b"HEAD / HTTP/1.1\r\nHost: a\r\nx y: z\r\n\r\n",  # a wrong header
    b"HEAD / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 2\r\n\r\n",  # two lengths
    b"HEAD / HTTP/1.1\r\nX: " + b"a" * HEAD_MAX_BYTES,  # a head that is too long
    b"HEAD / HTTP/1.1\nHost: a\n\n",  # a bare line feed
    b"HEAD /_mock/health HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",  # a chunk without a size
]


@each_row("sent", REFUSED_HEADS)
def test_an_answer_to_head_has_no_body_also_where_the_server_refuses_the_request(serve: Serve, sent: bytes) -> None:
    host = host_of()
    with RawClient(serve(SocketHandler(host)).port) as client:
        client.socket.sendall(sent)
        answer = client.answer("HEAD")

        assert answer.status >= 400
        assert int(answer.headers["content-length"]) > 0  # as GET would have it
        assert client.ended()
