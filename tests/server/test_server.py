"""Start, serve and stop of the server: its port, its threads, its timeouts and its log."""

from __future__ import annotations

import errno
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from mockserver.server.http1 import server as http1_server
from mockserver.server.http1.connection import ConnectionLimits
from mockserver.server.http1.listener import PortInUse
from mockserver.server.http1.messages import Request, Response
from tests.harness.waiting import wait_until
from tests.server.clocked import Echo
from tests.server.conftest import Serve
from tests.server.rawclient import DEADLINE_SECONDS, RawClient
from tests.server.wsgi import WsgiHandler

TCP_SYN_SENT = 2  # the state of a connection that its server's system has not answered


def Server(app: Any, **options: Any) -> http1_server.Server:
    """A server of a WSGI app."""
    return http1_server.Server(WsgiHandler(app), **options)


def hello(environ: Any, start: Any) -> list[bytes]:
    start("200 OK", [("Content-Type", "text/plain")])
    return [b"hello"]


class Waiting:
    """An app that responds once `released` is set."""

    def __init__(self) -> None:
        self.reached, self.released = threading.Event(), threading.Event()

    def __call__(self, environ: Any, start: Any) -> list[bytes]:
        self.reached.set()
        self.released.wait(DEADLINE_SECONDS)
        return hello(environ, start)


def own_threads(server: http1_server.Server) -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if server.url in thread.name]


def test_a_taken_port_is_named_together_with_the_mend() -> None:
    with Server(hello) as server, pytest.raises(PortInUse) as taken:
        Server(hello, port=server.port)

    assert "127.0.0.1" in str(taken.value)
    assert str(server.port) in str(taken.value)
    assert "expected a free port, such as --port 0 takes" in str(taken.value)


def test_a_released_port_is_free_immediately(serve: Serve) -> None:
    with Server(hello) as first, RawClient(first.port) as client:
        client.send("GET / HTTP/1.1").answer()
    with Server(hello, port=first.port) as second:
        assert f"http://127.0.0.1:{first.port}" == second.url


def test_stop_ends_idle_connections_and_leaves_no_thread() -> None:
    server = Server(hello)
    server.start()
    with RawClient(server.port) as first, RawClient(server.port) as second:
        for client in (first, second):
            client.send("GET / HTTP/1.1").answer()
        assert 2 == server.connections
        server.stop()

        assert not server.threads
        assert [] == own_threads(server)
        assert first.ended()
        assert second.ended()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((server.host, server.port), DEADLINE_SECONDS)


def test_stop_does_not_wait_for_a_request_in_flight() -> None:
    app = Waiting()
    server = Server(app)
    server.start()
    with RawClient(server.port) as client:
        client.send("GET / HTTP/1.1")
        assert app.reached.wait(DEADLINE_SECONDS)
        server.stop()
        (worker,) = server.threads  # the worker inside the app
        assert worker.is_alive()
        assert client.ended()

    app.released.set()
    worker.join(DEADLINE_SECONDS)
    assert not server.threads


def test_serve_forever_returns_when_another_thread_stops_it() -> None:
    server = Server(hello)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    with RawClient(server.port) as client:
        assert 200 == client.send("GET / HTTP/1.1").answer().status
        server.stop()

    thread.join(DEADLINE_SECONDS)
    assert not thread.is_alive()
    wait_until(lambda: not server.threads)  # the worker may be about to end


@pytest.mark.parametrize("receiver", [threading.main_thread, threading.current_thread], ids=["serving", "another"])
def test_serve_forever_returns_when_a_signal_handler_stops_it(receiver: Callable[[], threading.Thread]) -> None:
    """A signal that another thread receives does not interrupt the wait for connections, as no signal does on Windows."""

    if sys.platform == "win32":
        pytest.skip("Windows has no such signal")

    def app(environ: Any, start: Any) -> list[bytes]:
        signal.pthread_kill(receiver().ident or 0, signal.SIGUSR1)
        return hello(environ, start)

    server = Server(app)
    is_late = threading.Event()
    limit = threading.Timer(DEADLINE_SECONDS, lambda: (is_late.set(), server.stop()))
    before = signal.signal(signal.SIGUSR1, lambda *_: server.stop())
    try:
        with RawClient(server.port) as client:
            client.send("GET / HTTP/1.1")
            limit.start()
            server.serve_forever()
    finally:
        limit.cancel()
        signal.signal(signal.SIGUSR1, before)

    assert not is_late.is_set()
    wait_until(lambda: not server.threads)  # the worker may be about to end
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((server.host, server.port), DEADLINE_SECONDS)


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_a_server_that_finishes_has_no_connection_established_that_it_does_not_accept(
    family: int, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sys.platform != "linux":
        pytest.skip("other systems reset such a connection")
    server = Server(hello, host=host)
    states: list[int] = []
    with socket.socket(family) as late:
        late.setblocking(False)

        def connect_after(*arguments: Any) -> None:
            while accept(*arguments):
                pass
            late.connect_ex((host, server.port))
            states.append(late.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0])

        server.start()
        with socket.create_connection((host, server.port), DEADLINE_SECONDS) as first:
            first.sendall(b"GET / HTTP/1.0\r\n\r\n")
            assert first.recv(1)  # it serves
        accept = server._accept
        monkeypatch.setattr(server, "_accept", connect_after)
        server.finish(1.0)
        assert server._ended.wait(DEADLINE_SECONDS)

    assert [TCP_SYN_SENT] == states


def test_a_refusal_of_bytes_is_reported_and_a_failure_of_the_handler_is_none(serve: Serve) -> None:
    class Failing(Echo):
        """A handler with a bug."""

        def respond(self, request: Request) -> Response:
            raise ValueError("a bug")

    refusals: list[tuple[int, str]] = []
    server = serve(Failing(), log=lambda line: None, on_refusal=lambda status, why: refusals.append((status, why)))
    statuses = []
    for line in ("GET / HTTP/1.1", "no request"):
        with RawClient(server.port) as client:
            statuses.append(client.send(line, "Connection: close").answer().status)

    assert [500, 400] == statuses
    assert [(400, "the request line is not 'METHOD target HTTP/1.1'")] == refusals


def test_an_idle_connection_ends(serve: Serve) -> None:
    server = serve(hello, idle_seconds=0.05)
    with RawClient(server.port) as fresh, RawClient(server.port) as used:
        used.send("GET / HTTP/1.1").answer()

        assert used.ended()
        assert fresh.ended()


def test_connections_beyond_the_limit_wait_while_each_one_has_a_request(serve: Serve) -> None:
    app = Waiting()
    server = serve(app, limits=ConnectionLimits(connections=1))
    with RawClient(server.port) as first:
        first.send("GET / HTTP/1.1", "Connection: close")
        assert app.reached.wait(DEADLINE_SECONDS)
        with RawClient(server.port) as second:
            second.send("GET / HTTP/1.1")
            assert 1 == server.connections
            app.released.set()

            assert b"hello" == first.answer().body
            assert first.ended()
            assert b"hello" == second.answer().body


def test_the_connection_without_a_request_for_the_longest_time_gives_way_to_another(serve: Serve) -> None:
    server = serve(Echo(), limits=ConnectionLimits(connections=3))
    with ExitStack() as clients:
        first, second, third = (clients.enter_context(RawClient(server.port)) for _ in range(3))
        for client in (second, third, first):
            assert 200 == client.send("GET / HTTP/1.1").answer().status
        late = clients.enter_context(RawClient(server.port))
        assert 200 == late.send("GET / HTTP/1.1").answer().status

        assert second.ended()
        assert 200 == third.send("GET / HTTP/1.1").answer().status
        assert 3 == server.connections


@pytest.mark.parametrize(
    ("sent", "is_held"),
    [
        (b"", False),
        (b"GET / HTTP/1.1\r\nHost: here\r\nX: ", False),
        (b"\r\n", False),
        (b"GET / HTTP/1.0\r\nHost: here\r\nConnection: keep-alive\r\n\r\n", False),
        (b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\n\r\nabc", True),
    ],
    ids=["silent", "head", "empty line", "kept of HTTP/1.0", "body"],
)
def test_a_connection_gives_way_unless_it_has_a_whole_head(serve: Serve, sent: bytes, is_held: bool) -> None:
    """One with a part of a head is idle: its deadline alone would let a client have every place."""
    server = serve(Echo(), limits=ConnectionLimits(connections=2))
    with RawClient(server.port) as first, RawClient(server.port) as second:
        first.socket.sendall(sent)
        if sent.endswith(b"\r\n\r\n"):
            assert 200 == first.answer().status
        assert 200 == second.send("GET / HTTP/1.1").answer().status
        with RawClient(server.port) as third:
            assert 200 == third.send("GET / HTTP/1.1").answer().status
            if is_held:
                assert second.ended()
                first.socket.sendall(b"de")
                assert 200 == first.answer().status
            else:
                assert 200 == second.send("GET / HTTP/1.1").answer().status


@pytest.mark.skipif(sys.platform == "win32", reason="there are no descriptors to count")
@pytest.mark.parametrize(
    ("descriptors", "wanted", "most"), [(40, 16_384, 24), (40, 5, 5), (40_000, None, 35_000), (4, 9, 1)]
)
def test_a_server_has_fewer_connections_where_the_process_has_few_descriptors(
    descriptors: int, wanted: int | None, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import resource

    monkeypatch.setattr(resource, "getrlimit", lambda _: (descriptors, descriptors))

    assert most == http1_server._connections_max(wanted)


def test_an_idle_connection_gives_way_when_the_process_has_no_descriptor_left(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(Echo())
    with RawClient(server.port) as first, RawClient(server.port) as second:
        for client in (first, second):
            assert 200 == client.send("GET / HTTP/1.1").answer().status
        listener = server._listener

        class Exhausted:
            """The listener of a process that has as many descriptors as it may have while `first` is open."""

            def accept(self) -> Any:
                if server.connections == 2:
                    raise OSError(errno.EMFILE, "Too many open files")
                return listener.accept()

            def __getattr__(self, name: str) -> Any:
                return getattr(listener, name)

        monkeypatch.setattr(server, "_listener", Exhausted())
        with RawClient(server.port) as third:
            assert 200 == third.send("GET / HTTP/1.1").answer().status
            assert first.ended()
            assert 200 == second.send("GET / HTTP/1.1").answer().status
        monkeypatch.undo()
