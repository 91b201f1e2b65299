"""A small threaded HTTP/1.1 server on loopback that keeps connections alive and stops within milliseconds."""

from __future__ import annotations

import errno
import os
import selectors
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Self

from mockserver.server.http1.connection import Connection, ServerConfig

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

_GRACE_SECONDS = 0.01
_ACCEPT_PAUSE_SECONDS = 0.05
_PORT_MAX = 65535
_WAKEUP_BYTES = 64  # one for each signal, or for a call of `stop`
_OPEN_MIN = 64


def plain_error(is_app_failure: bool) -> tuple[int, bytes]:
    """Return the status and JSON body of an error: 500 for a failure of the app, 400 for bytes that are not HTTP."""
    return (500, b'{"message":"internal error"}') if is_app_failure else (400, b'{"message":"bad request"}')


class PortInUse(OSError):
    """Another process listens on the port."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(errno.EADDRINUSE, f"port {port} of {host} is taken; --port 0 takes a free one")


class Server:
    """
    Serves one WSGI app, each connection on a daemon thread of its own.

    It listens from its creation on, so that a client may connect before `start`; it serves once, between `start` and
    `stop` or during `serve_forever`.
    `error_body(is_app_failure)` returns the status and JSON body of an error of the server itself, and `explain` adds
    the header X-Mock-Reason to it; `log` gets one line per exchange.
    A connection ends after `idle_seconds` without a byte from the client; a body over `body_max_bytes` is refused. By
    default the app alone limits bodies.
    """

    def __init__(
        self,
        app: WSGIApplication,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        idle_seconds: float = 30.0,
        body_max_bytes: int = sys.maxsize,
        explain: bool = True,
        error_body: Callable[[bool], tuple[int, bytes]] = plain_error,
        log: Callable[[str], None] | None = None,
    ) -> None:
        self._listener = _listen(host, port)
        # `stop` sends on the one, and so wakes the serving thread, which waits for the other and for clients.
        self._wakeup_recv, self._wakeup_send = socket.socketpair()
        self._wakeup_send.setblocking(False)  # as `signal.set_wakeup_fd` demands
        self.host = host
        self.port: int = self._listener.getsockname()[1]
        self._terms = ServerConfig(app, error_body, log, idle_seconds, body_max_bytes, explain, self._environ())
        self._open: dict[Connection, threading.Thread] = {}  # also some that have ended
        self._open_max = _OPEN_MIN  # entries of `_open` before the ended ones are removed
        self._thread: threading.Thread | None = None  # of `start`
        self._runner: threading.Thread | None = None  # the serving thread
        self._stopping = False
        self._ended = threading.Event()

    def _environ(self) -> dict[str, Any]:
        return {
            "SERVER_NAME": self.host,
            "SERVER_PORT": str(self.port),
            "SERVER_SOFTWARE": "mockserver",
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
            "wsgi.input_terminated": True,
        }

    @property
    def url(self) -> str:
        """The server's address, without a slash at the end."""
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"

    @property
    def threads(self) -> tuple[threading.Thread, ...]:
        """The server's threads that are alive: the one of `start`, and one per open connection."""
        own = [self._thread] if self._thread is not None else []
        return tuple(thread for thread in [*own, *self._open.values()] if thread.is_alive())

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    def start(self) -> None:
        """Serve on a thread of its own."""
        thread = threading.Thread(target=self._accept, name=f"mockserver {self.url}", daemon=True)
        self._set_runner(thread)
        self._thread = thread
        thread.start()

    def serve_forever(self) -> None:
        """Serve on this thread until `stop` is called, by another thread or by a signal handler of this one."""
        self._set_runner(threading.current_thread())
        self._accept()

    def stop(self) -> None:
        """
        End every connection, also during a request, and release the port; a second call does nothing.

        It waits a few milliseconds for the threads. A thread within the app ends when the app returns, its socket closed;
        `threads` lists it.
        In a signal handler of the serving thread it only has `serve_forever` return, which does the rest.
        """
        self._stopping = True
        runner = self._runner
        if runner is None:
            self._close_all()
            return
        with suppress(OSError):
            self._wakeup_send.send(b"!")
        # On the serving thread itself this is a signal handler; waiting for what it interrupts would never end.
        if runner is not threading.current_thread():
            self._ended.wait()
            if self._thread is not None:
                self._thread.join()

    def _set_runner(self, runner: threading.Thread) -> None:
        if self._runner is not None:
            raise RuntimeError("a Server serves only once; make a new one")
        self._runner = runner

    def _accept(self) -> None:
        try:
            if self._stopping:
                return
            with selectors.DefaultSelector() as waiting, self._woken_by_signals():
                waiting.register(self._listener, selectors.EVENT_READ)
                waiting.register(self._wakeup_recv, selectors.EVENT_READ)
                while not self._stopping:
                    ready = [key.fileobj for key, _ in waiting.select()]
                    if self._wakeup_recv in ready:
                        self._wakeup_recv.recv(_WAKEUP_BYTES)
                    if not self._stopping:
                        self._accept_connection()
        finally:
            self._close_all()
            self._ended.set()

    @contextmanager
    def _woken_by_signals(self) -> Iterator[None]:
        """Have signals end the wait for connections: on Windows, Ctrl-C alone does not."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.set_wakeup_fd(self._wakeup_send.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)

    def _accept_connection(self) -> None:
        try:
            wire, client = self._listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return  # the client has disconnected
        except OSError:
            self._ended.wait(_ACCEPT_PAUSE_SECONDS)  # no descriptor is free until a connection ends
            return
        connection = Connection(wire, client, self._terms)
        thread = threading.Thread(target=connection.run, name=f"mockserver {self.url} {client[1]}", daemon=True)
        if len(self._open) > self._open_max:  # rare enough that the removals cost no more than the accepts
            self._open = {opened: its_thread for opened, its_thread in self._open.items() if its_thread.is_alive()}
            self._open_max = 2 * len(self._open) + _OPEN_MIN
        self._open[connection] = thread  # before it runs: a client with a response finds its thread here
        try:
            thread.start()
        except RuntimeError:
            del self._open[connection]  # no thread is available; the client may connect again
            connection.close()

    def _close_all(self) -> None:
        self._listener.close()
        connections = self._open
        for connection in connections:
            connection.abort()
        grace = _GRACE_SECONDS
        for thread in connections.values():
            thread.join(grace)
            if thread.is_alive():
                grace = 0  # the other threads have had the same time
        for connection in connections:
            connection.close()
        self._wakeup_recv.close()
        self._wakeup_send.close()


def _listen(host: str, port: int) -> socket.socket:
    if not 0 <= port <= _PORT_MAX:
        raise ValueError(f"got port {port}; expected 0 (any free one) to {_PORT_MAX}")
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # on Windows the option lets two servers share a port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(socket.SOMAXCONN)
        listener.setblocking(False)
    except OSError as failure:
        listener.close()
        if failure.errno == errno.EADDRINUSE:
            raise PortInUse(host, port) from None
        raise
    return listener
