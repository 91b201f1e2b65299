"""An HTTP/1.1 server with one event loop in a thread of its own; it stops within milliseconds."""

from __future__ import annotations

import asyncio
import errno
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from mockserver.server.http1 import real_time
from mockserver.server.http1.body import BodyTotal
from mockserver.server.http1.connection import Connection, ConnectionLimits, ServerConfig, Shared
from mockserver.server.http1.event_loop import ServerLoop
from mockserver.server.http1.listener import call_in_forks, listen, url_of
from mockserver.server.http1.messages import Handler
from mockserver.server.http1.workers import Workers

_GRACE_SECONDS = 0.01
_ACCEPT_PAUSE_SECONDS = 0.05
_SELECTOR_MAX = 500  # on Windows, whose selector waits for at most 512 sockets
_DESCRIPTORS_KEPT_MIN = 16  # for files and other sockets than those of clients
_DESCRIPTORS_KEPT_SHARE = 8
_NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
# The lowest time to live of a packet that a socket takes, of IPv4 and IPv6 (RFC 5082); `socket` has no names for them.
_TTL_MIN_OPTIONS = ((socket.IPPROTO_IP, 21), (socket.IPPROTO_IPV6, 73)) if sys.platform == "linux" else ()
_TTL_MAX = 255  # systems send packets with 64 or 128
_SIGNALS_SECONDS = 0.5  # after which the main thread looks for a signal that another thread has received
_WORKERS_MAX = 32


def plain_error(is_own_failure: bool) -> tuple[int, bytes]:
    """Return the status and JSON body of an error: 500 for a failure of the handler, 400 for bytes that are not HTTP."""
    return (500, b'{"message":"internal error"}') if is_own_failure else (400, b'{"message":"bad request"}')


class Server:
    """
    Serves all connections of one address on one daemon thread.

    It listens from its creation on, so that a client may connect before `start`; it serves once, between `start` and
    `stop` or during `serve_forever`. It belongs to the process that created it: its copy in a fork has stopped.

    Args:
        handler: responds to the requests (see `messages.Handler`).
        port: 0 takes a free one.
        idle_seconds: a connection ends after this time without a byte from the client.
        limits: of the connections.
        explain: send the reason of an error of the server itself in the header X-Mock-Reason.
        error_body: returns the status and JSON body of such an error; it gets True for a failure of the handler.
        on_refusal: gets the status and the reason of each refusal of bytes that are no whole request.
        log: gets the traceback of each failure; by default it is written to standard error.
        clock: the seconds by which the limits of time count.

    Raises:
        PortInUse: another process listens on the port.

    Lifetime: until `stop`, or the end of the process, which does not wait for it.
    """

    def __init__(
        self,
        handler: Handler,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        idle_seconds: float = 30.0,
        limits: ConnectionLimits = ConnectionLimits(),  # noqa: B008 - an immutable default
        explain: bool = True,
        error_body: Callable[[bool], tuple[int, bytes]] = plain_error,
        on_refusal: Callable[[int, str], object] = lambda status, why: None,
        log: Callable[[str], None] | None = None,
        clock: Callable[[], float] = real_time.seconds,
    ) -> None:
        self._listener = listen(host, port)
        self.host = host
        self.port: int = self._listener.getsockname()[1]
        self._config = ServerConfig(
            handler=handler,
            error_body=error_body,
            log=log,
            idle_seconds=idle_seconds,
            explain=explain,
            limits=limits,
            on_refusal=on_refusal,
        )
        self._clock = clock
        self._connections_max = _connections_max(limits.connections)
        self._open: set[Connection] = set()
        self._idle: dict[Connection, None] = {}
        self._workers: Workers | None = None
        self._shared: Shared | None = None
        self._loop: ServerLoop | None = None  # while it serves
        self._thread: threading.Thread | None = None
        self._serving_thread: threading.Thread | None = None  # the one in `serve_forever`
        self._lock = threading.RLock()  # of start and stop; reentrant, as a signal handler may interrupt `stop`
        self._is_stopping = False
        self._ended = threading.Event()
        call_in_forks(self, Server._leave_to_parent)

    @property
    def url(self) -> str:
        """The server's address, without a slash at the end."""
        return url_of(self.host, self.port)

    @property
    def threads(self) -> tuple[threading.Thread, ...]:
        """The server's threads that are alive: the loop's, and those of the workers."""
        own = [self._thread] if self._thread is not None and self._thread.is_alive() else []
        return (*own, *(self._workers.threads if self._workers is not None else ()))

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._open)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    def start(self) -> None:
        """Serve on a thread of its own."""
        with self._lock:
            if self._thread is not None:
                raise RuntimeError("a Server serves only once; make a new one")
            thread = threading.Thread(target=self._run, name=f"mockserver {self.url}", daemon=True)
            thread.start()
            self._thread = thread  # a signal handler that stops the server before this line waits for no thread

    def serve_forever(self) -> None:
        """Serve until `stop` is called, by another thread or by a signal handler of this one."""
        if self._is_stopping:
            self.stop()
            return
        self._serving_thread = threading.current_thread()
        self.start()
        try:
            while not self._ended.wait(_SIGNALS_SECONDS):
                pass  # the handler of a signal runs between two waits, where the signal does not end one
        finally:
            self._request_stop()
            self._join()

    def stop(self) -> None:
        """
        End every connection, also during a request, and release the port; a second call does nothing.

        It waits a few milliseconds for the threads. A worker inside the handler ends when the handler returns; `threads` lists it.
        On the loop's own thread, and on that of `serve_forever`, which waits itself, it only makes the loop end.
        """
        # A signal handler may interrupt another one that holds the lock, for which the loop's thread would wait: neither waits.
        is_started = self._request_stop()
        if is_started and threading.current_thread() not in (self._thread, self._serving_thread):
            self._join()

    def _request_stop(self) -> bool:
        """Make the loop end; return whether the server has a thread."""
        with self._lock:
            self._is_stopping = True
            if self._thread is None:
                self._listener.close()
                return False
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._loop.stop)
            return True

    def _join(self) -> None:
        if self._thread is not None:
            self._ended.wait()
            self._thread.join()

    def finish(self, within_s: float) -> None:
        """
        Release the port, and stop once the open connections have ended; does not wait for that.

        Args:
            within_s: Connections that are open after this time are ended too.
        """
        with self._lock:
            loop = self._loop
            if loop is not None:
                loop.call_soon_threadsafe(self._finish, loop, within_s)
                return
        self.stop()

    def _finish(self, loop: ServerLoop, within_s: float) -> None:
        """Accept who has connected already, and no others. On the loop."""
        if self._shared is not None and self._listener.fileno() >= 0:
            _take_no_connections(self._listener)
            while self._accept(loop, self._shared):
                pass
            loop.remove_reader(self._listener)
            self._listener.close()
        if within_s <= 0 or not self._open:
            loop.stop()
        else:
            loop.call_later(_GRACE_SECONDS, self._finish, loop, within_s - _GRACE_SECONDS)

    def _run(self) -> None:
        try:
            self._serve()
        finally:
            self._listener.close()  # of a server without a loop, such as one without a free descriptor: its clients are refused
            self._ended.set()

    def _serve(self) -> None:
        loop = ServerLoop(self._clock)
        workers = Workers(loop, f"mockserver {self.url}", _WORKERS_MAX)
        bodies = BodyTotal(self._config.limits.bodies_bytes)
        shared = Shared(workers, bodies, self._idle, self._open.discard)
        try:
            with self._lock:
                if self._is_stopping:
                    return
                self._loop, self._shared, self._workers = loop, shared, workers
                loop.add_reader(self._listener, self._accept, loop, shared)
            loop.run_forever()
        finally:
            with self._lock:
                self._loop = None
            self._close_all(loop, workers)

    def _accept(self, loop: ServerLoop, shared: Shared) -> bool:
        """Accept a client that waits; return False if there is none, or no room for it."""
        is_full = len(self._open) >= self._connections_max
        if is_full and not shared.idle:
            self._pause_accepting(loop, shared)
            return False
        try:
            connected, _ = self._listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return False
        except OSError as failure:
            if failure.errno not in _NO_DESCRIPTOR or not self._end_oldest_idle():
                self._pause_accepting(loop, shared)
            return False
        if is_full:
            self._end_oldest_idle()
        self._open.add(Connection(loop, connected, self._config, shared))
        return True

    def _end_oldest_idle(self) -> bool:
        """End the connection that has had no request for the longest time; return False if each one has a request."""
        oldest = next(iter(self._idle), None)
        if oldest is not None:
            oldest.abort()
        return oldest is not None

    def _pause_accepting(self, loop: ServerLoop, shared: Shared) -> None:
        loop.remove_reader(self._listener)
        loop.call_later(_ACCEPT_PAUSE_SECONDS, loop.add_reader, self._listener, self._accept, loop, shared)

    def _close_all(self, loop: ServerLoop, workers: Workers) -> None:
        if self._listener.fileno() >= 0:  # else it was stopped before it started
            loop.remove_reader(self._listener)
            self._listener.close()
        tasks = [connection.task for connection in self._open]
        for connection in list(self._open):
            connection.abort()
        if tasks:
            loop.run_until_complete(asyncio.wait(tasks, timeout=_GRACE_SECONDS))
        workers.stop()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
        grace = _GRACE_SECONDS
        for thread in workers.threads:
            thread.join(grace)
            if thread.is_alive():
                grace = 0  # the other threads have had the same time already

    def _leave_to_parent(self) -> None:
        """
        Stop the copy of a fork, which has no thread of the server.

        It closes its copies of the sockets: a port that the parent has released would stay in use while a fork has it open.
        """
        self._lock, self._is_stopping = threading.RLock(), True
        self._thread = self._loop = None
        self._listener.close()
        for connection in list(self._open):
            connection.wire.close_copy()


def _connections_max(wanted: int | None) -> int:
    """Return the number of connections that a server has, not more than the process may have descriptors for."""
    most = sys.maxsize if wanted is None else wanted
    if sys.platform == "win32":
        return min(most, _SELECTOR_MAX)
    import resource

    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        return most
    kept = max(_DESCRIPTORS_KEPT_MIN, descriptors // _DESCRIPTORS_KEPT_SHARE)
    return max(1, min(most, descriptors - kept))


def _take_no_connections(listener: socket.socket) -> None:
    """
    Have the system ignore further connections, if it can.

    A connection that is established after the last `accept` would be reset when the listener closes, and its request lost.
    One that is ignored is tried again by its client's system, and then refused.
    """
    for level, option in _TTL_MIN_OPTIONS:
        with suppress(OSError):  # a listener of the other kind
            listener.setsockopt(level, option, _TTL_MAX)
