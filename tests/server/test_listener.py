"""A server that is made when its first client connects."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from textwrap import dedent
from typing import Any

import pytest

from mockserver import MockServer
from mockserver.server.http1.listener import DeferredServer, PortInUse
from mockserver.server.http1.server import Server
from tests.harness.waiting import wait_until
from tests.server.rawclient import RawClient
from tests.server.wsgi import WsgiHandler


def hello(environ: Any, start: Any) -> list[bytes]:
    start("200 OK", [])
    return [b"hello"]


class Deferred:
    """A deferred server of an app, and the servers that it has made."""

    def __init__(self) -> None:
        self.made: list[Server] = []
        self.server = DeferredServer(0, self._make)
        self.port = int(self.server.url.rpartition(":")[2])

    def _make(self, listener: socket.socket) -> Server:
        self.made.append(Server(WsgiHandler(hello), listener=listener))
        return self.made[-1]

    @property
    def threads(self) -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if self.server.url in thread.name]


@pytest.fixture
def deferred() -> Iterator[Deferred]:
    deferred = Deferred()
    yield deferred
    deferred.server.stop()


def get(port: int) -> bytes:
    """Return the body of the answer to a request."""
    with RawClient(port) as client:
        client.send("GET / HTTP/1.1")
        return client.answer().body


def test_it_is_made_when_its_first_client_connects(deferred: Deferred) -> None:
    assert ([], 1) == (deferred.made, len(deferred.threads))
    assert [b"hello"] * 2 == [get(deferred.port) for _ in range(2)]
    assert [deferred.server.url] == [server.url for server in deferred.made]


@pytest.mark.parametrize("has_client", [False, True])
def test_its_stop_releases_the_port_and_ends_its_threads(deferred: Deferred, has_client: bool) -> None:
    if has_client:
        get(deferred.port)
    deferred.server.stop()
    deferred.server.stop()
    deferred.server.start()

    DeferredServer(deferred.port, deferred._make).stop()
    wait_until(lambda: not deferred.threads)
    assert has_client == bool(deferred.made)


def test_a_taken_port_is_refused(deferred: Deferred) -> None:
    with pytest.raises(PortInUse):
        DeferredServer(deferred.port, deferred._make)


def test_a_fork_has_no_copy_of_its_sockets_and_does_not_end_it(deferred: Deferred) -> None:
    if sys.platform == "win32":
        pytest.skip("the system has no fork")
    if not (child := os.fork()):
        deferred.server.start()
        deferred.server.stop()
        os._exit(deferred.server._listener.fileno() + 1)  # -1 of a closed socket

    assert 0 == os.waitpid(child, 0)[1]
    assert b"hello" == get(deferred.port)


def modules_after(source: str) -> list[str]:
    """Return which modules of the server the source has loaded, in a process of its own."""
    code = dedent(f"""
        import sys
        from mockserver import MockServer
        server = MockServer()
        sandbox = server.sandbox()
        {source}
        print(*(name for name in ("asyncio", "mockserver.server.http1.server") if name in sys.modules))
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=60, check=False)
    assert "" == done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("ask", ["sandbox.base_url", "server.url", "sandbox.requests_session(); server.open()"])
def test_without_a_client_in_process_the_server_serves_before_the_first_call(ask: str) -> None:
    """The first call does not wait for imports, which may take longer than its timeout."""
    assert ["asyncio", "mockserver.server.http1.server"] == modules_after(ask)


def test_a_sandbox_with_a_client_in_process_answers_on_the_socket_too() -> None:
    with MockServer() as server, server.sandbox() as sandbox:
        session = sandbox.requests_session()
        session.headers["X-API-Key"] = sandbox.secret_key
        path = f"{sandbox.base_url}/v1/campaigns"
        with RawClient(int(server.url.rpartition(":")[2])) as client:
            client.send(f"GET {path.removeprefix(server.url)} HTTP/1.1", f"X-API-Key: {sandbox.secret_key}")

            assert session.get(path).content == client.answer().body
