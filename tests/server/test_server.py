"""Start, serve and stop of the server: its port, its threads, its timeouts and its log."""

from __future__ import annotations

import http.client
import selectors
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from mockserver.server.http1.server import PortInUse, Server
from tests.server.rawclient import DEADLINE_SECONDS, RawClient

Serve = Callable[..., Server]
STOP_SECONDS = 0.1  # ten times what it takes, for a machine that is busy


def hello(environ: Any, start: Any) -> list[bytes]:
    start("200 OK", [("Content-Type", "text/plain")])
    return [b"hello"]


class Held:
    """An app that holds each request until it is let go."""

    def __init__(self) -> None:
        self.reached, self.let_go = threading.Event(), threading.Event()

    def __call__(self, environ: Any, start: Any) -> list[bytes]:
        self.reached.set()
        self.let_go.wait(DEADLINE_SECONDS)
        return hello(environ, start)


def own_threads(server: Server) -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if server.url in thread.name]


def stop_seconds(server: Server) -> float:
    begun = time.perf_counter()
    server.stop()
    return time.perf_counter() - begun


def test_a_taken_port_is_named_together_with_the_mend() -> None:
    with Server(hello) as server, pytest.raises(PortInUse) as taken:
        Server(hello, port=server.port)

    assert "127.0.0.1" in str(taken.value)
    assert str(server.port) in str(taken.value)
    assert "--port 0 takes a free one" in str(taken.value)


def test_a_client_may_connect_before_the_server_starts() -> None:
    server = Server(hello)
    with RawClient(server.port) as client:
        client.say("GET / HTTP/1.1")
        with server:
            assert b"hello" == client.answer().body


def test_a_server_serves_only_once() -> None:
    with Server(hello) as server, pytest.raises(RuntimeError, match="make a new one"):
        server.start()


def test_a_released_port_is_free_immediately(serve: Serve) -> None:
    with Server(hello) as first, RawClient(first.port) as client:
        client.say("GET / HTTP/1.1").answer()
    with Server(hello, port=first.port) as second:
        assert f"http://127.0.0.1:{first.port}" == second.url


def test_stop_ends_idle_connections_and_leaves_no_thread() -> None:
    server = Server(hello)
    server.start()
    with RawClient(server.port) as first, RawClient(server.port) as second:
        for client in (first, second):
            client.say("GET / HTTP/1.1").answer()
        assert 3 == len(server.threads)
        seconds = stop_seconds(server)

        assert seconds < STOP_SECONDS
        assert not server.threads
        assert [] == own_threads(server)
        assert first.ended()
        assert second.ended()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((server.host, server.port), DEADLINE_SECONDS)


def test_stop_does_not_wait_for_a_request_in_flight() -> None:
    app = Held()
    server = Server(app)
    server.start()
    with RawClient(server.port) as client:
        client.say("GET / HTTP/1.1")
        assert app.reached.wait(DEADLINE_SECONDS)
        seconds = stop_seconds(server)
        (held,) = server.threads
        assert seconds < STOP_SECONDS
        assert client.ended()

    app.let_go.set()
    held.join(DEADLINE_SECONDS)
    assert not server.threads


def test_stop_is_harmless_twice_and_without_a_start() -> None:
    server = Server(hello)
    server.stop()
    server.stop()
    server.serve_forever()

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((server.host, server.port), DEADLINE_SECONDS)


def test_an_app_may_stop_its_server() -> None:
    def app(environ: Any, start: Any) -> list[bytes]:
        server.stop()
        return hello(environ, start)

    server = Server(app)
    server.start()
    with RawClient(server.port) as client:
        assert client.say("GET / HTTP/1.1").ended()


def test_serve_forever_returns_when_another_thread_stops_it() -> None:
    server = Server(hello)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    with RawClient(server.port) as client:
        assert 200 == client.say("GET / HTTP/1.1").answer().status
        server.stop()

    thread.join(DEADLINE_SECONDS)
    assert not thread.is_alive()
    assert not server.threads


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="the system has no such signal")
@pytest.mark.parametrize("receiver", [threading.main_thread, threading.current_thread], ids=["serving", "another"])
def test_serve_forever_returns_when_a_signal_handler_stops_it(receiver: Callable[[], threading.Thread]) -> None:
    """A signal that another thread receives does not interrupt the wait for connections, as no signal does on Windows."""

    def app(environ: Any, start: Any) -> list[bytes]:
        signal.pthread_kill(receiver().ident or 0, signal.SIGUSR1)
        return hello(environ, start)

    server = Server(app)
    is_late = threading.Event()
    limit = threading.Timer(DEADLINE_SECONDS, lambda: (is_late.set(), server.stop()))
    before = signal.signal(signal.SIGUSR1, lambda *_: server.stop())
    try:
        with RawClient(server.port) as client:
            client.say("GET / HTTP/1.1")
            limit.start()
            server.serve_forever()
    finally:
        limit.cancel()
        signal.signal(signal.SIGUSR1, before)

    assert not is_late.is_set()
    assert not server.threads
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((server.host, server.port), DEADLINE_SECONDS)


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="the system has no such signal")
def test_a_signal_that_does_not_stop_it_wakes_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float | None] = []

    class Counting(selectors.DefaultSelector):
        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            waits.append(timeout)
            return super().select(timeout)

    def app(environ: Any, start: Any) -> list[bytes]:
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
        return hello(environ, start)

    def call_and_stop() -> None:
        with RawClient(server.port) as client:
            assert 200 == client.say("GET / HTTP/1.1").answer().status
            assert handled.wait(DEADLINE_SECONDS)
            assert 200 == client.say("GET / HTTP/1.1").answer().status
        server.stop()

    monkeypatch.setattr(selectors, "DefaultSelector", Counting)
    server, handled = Server(app), threading.Event()
    wakeup_before = signal.set_wakeup_fd(-1)
    before = signal.signal(signal.SIGUSR1, lambda *_: handled.set())
    client = threading.Thread(target=call_and_stop)
    client.start()
    try:
        server.serve_forever()
    finally:
        client.join(DEADLINE_SECONDS)
        signal.signal(signal.SIGUSR1, before)

    assert len(waits) <= 4  # until the connection, each of the signals, and the end
    assert -1 == signal.set_wakeup_fd(wakeup_before)


def test_connections_are_served_side_by_side(serve: Serve) -> None:
    app = Held()
    server = serve(app)
    with RawClient(server.port) as slow, RawClient(server.port) as quick:
        slow.say("GET /slow HTTP/1.1")
        assert app.reached.wait(DEADLINE_SECONDS)
        app.let_go.set()
        quick.say("GET /quick HTTP/1.1")

        assert b"hello" == quick.answer().body
        assert b"hello" == slow.answer().body


def test_a_client_library_reuses_its_connection(serve: Serve) -> None:
    server = serve(hello)
    client = http.client.HTTPConnection(server.host, server.port, timeout=DEADLINE_SECONDS)
    sockets = set()
    for _ in range(3):
        client.request("POST", "/", body=b"x")
        assert b"hello" == client.getresponse().read()
        sockets.add(client.sock)
    client.close()

    assert 1 == len(sockets)
    assert None not in sockets


def test_small_answers_do_not_wait_for_an_acknowledgement(serve: Serve) -> None:
    seen: list[int] = []

    def app(environ: Any, start: Any) -> list[bytes]:
        seen.append(environ["mockserver.socket"].socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        return []

    with RawClient(serve(app).port) as client:
        assert client.say("GET / HTTP/1.1").ended()

    assert seen[0]


def test_an_exchange_is_logged_only_with_a_log(serve: Serve, capfd: pytest.CaptureFixture[str]) -> None:
    lines: list[str] = []
    for server in (serve(hello), serve(hello, log=lines.append)):
        with RawClient(server.port) as client:
            client.say("GET /a?b HTTP/1.1", "Connection: close").answer()
            assert client.ended()

    assert ['127.0.0.1 "GET /a?b" 200'] == lines
    assert ("", "") == capfd.readouterr()


def test_an_idle_connection_ends(serve: Serve) -> None:
    server = serve(hello, idle_seconds=0.05)
    with RawClient(server.port) as fresh, RawClient(server.port) as used:
        used.say("GET / HTTP/1.1").answer()

        assert used.ended()
        assert fresh.ended()


def test_an_incomplete_request_is_refused(serve: Serve) -> None:
    server = serve(hello, idle_seconds=0.05)
    with RawClient(server.port) as head, RawClient(server.port) as body:
        head.socket.sendall(b"GET / HTTP/1.1\r\nHost:")
        body.say("POST / HTTP/1.1", "Content-Length: 5", body=b"abc")

        assert 400 == head.answer().json()["statusCode"]
        assert 400 == body.answer().json()["statusCode"]


def test_accepting_a_client_takes_no_longer_with_many_open_connections(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, asked, count = serve(hello), [], 300
    is_alive = threading.Thread.is_alive
    with ExitStack() as clients:
        monkeypatch.setattr(threading.Thread, "is_alive", lambda thread: asked.append(1) or is_alive(thread))
        for _ in range(count - 1):
            clients.enter_context(RawClient(server.port))
        last = clients.enter_context(RawClient(server.port))
        assert 200 == last.say("GET / HTTP/1.1").answer().status
        monkeypatch.undo()

        assert count + 1 == len(server.threads)
        assert len(asked) <= 3 * count


def test_connections_that_have_ended_are_forgotten(serve: Serve) -> None:
    server = serve(hello)
    for _ in range(300):
        with RawClient(server.port) as client:
            client.say("GET / HTTP/1.1", "Connection: close").answer()
            assert client.ended()

    assert len(server._open) < 150
