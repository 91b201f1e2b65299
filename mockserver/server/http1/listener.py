"""The socket that a server listens on, and a server that is made when its first client connects."""

from __future__ import annotations

import errno
import os
import selectors
import socket
import threading
import weakref
from collections.abc import Callable
from typing import Protocol

PORT_MAX = 65535
_LOOPBACK = "127.0.0.1"


class PortInUse(OSError):
    """Another process listens on the port."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            errno.EADDRINUSE, f"got port {port} of {host}, which is taken; expected a free port, such as --port 0 takes"
        )


def listen(host: str, port: int) -> socket.socket:
    """
    Return a socket that listens on an address; port 0 takes a free one.

    Raises:
        PortInUse: Another process listens on the port.
        ValueError: There is no such port.
    """
    if not 0 <= port <= PORT_MAX:
        raise ValueError(f"got port {port}; expected 0 (any free one) to {PORT_MAX}")
    # The protocol is named: asyncio then sends small answers without a wait for an acknowledgement.
    listener = socket.socket(_family(host, port), socket.SOCK_STREAM, socket.IPPROTO_TCP)
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


def _family(host: str, port: int) -> int:
    """Return the address family of a host; of an IPv4 address without a look-up, which imports tables of Unicode."""
    try:
        socket.inet_pton(socket.AF_INET, host)
    except OSError:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    return socket.AF_INET


def url_of(host: str, port: int) -> str:
    """Return the address of a server, without a slash at the end."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Serving(Protocol):
    """A server of a socket that listens: `start` serves on a thread of its own, `stop` ends that."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


class DeferredServer:
    """
    Listens, and makes its server when the first client connects, or at `start`.

    A suite whose clients call in process reads the address alone: without a client no server is imported, nor asyncio.

    Args:
        port: of the loopback interface; 0 takes a free one.
        make: returns the server of the socket, not started; it may run on a thread of this object.

    Attributes:
        url: the address, without a slash at the end.
        process_id: of the process that created it; a fork has no thread of it.

    Raises:
        PortInUse: Another process listens on the port.

    Lifetime: from its creation until `stop`, or the end of the process, which does not wait for it.
    """

    def __init__(self, port: int, make: Callable[[socket.socket], Serving]) -> None:
        self._listener = listen(_LOOPBACK, port)
        self.url = url_of(_LOOPBACK, self._listener.getsockname()[1])
        self.process_id = os.getpid()
        self._make = make
        self._server: Serving | None = None
        self._is_stopped = False
        self._lock = threading.RLock()  # reentrant: a signal handler may interrupt `stop`
        self._waiting, self._wakeup = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        for each in (self._listener, self._waiting):  # now: `stop` may close them before the thread waits
            self._selector.register(each, selectors.EVENT_READ)
        close_in_fork(self)
        threading.Thread(target=self._await_client, name=f"mockserver {self.url}", daemon=True).start()

    def _await_client(self) -> None:
        self._selector.select()
        self._selector.close()
        self._waiting.close()
        self.start()

    def start(self) -> None:
        """Make the server and have it serve, unless it does so already or has been stopped; in a fork, do nothing."""
        if os.getpid() != self.process_id:
            return
        with self._lock:
            if self._server is None and not self._is_stopped:
                self._server = self._make(self._listener)
                self._server.start()
                self._wakeup.close()

    def stop(self) -> None:
        """End every connection, and release the port; a second call, or one in a fork, does nothing."""
        if os.getpid() != self.process_id:
            return
        with self._lock:
            self._is_stopped = True
            self._wakeup.close()
            server = self._server
        if server is None:
            self._listener.close()
        else:
            server.stop()

    def close_copies(self) -> None:
        """Close this process's copies of the sockets: in a fork, whose parent continues to listen."""
        for each in (self._listener, self._waiting, self._wakeup):
            each.close()


class _Listening(Protocol):
    def close_copies(self) -> None: ...


_IN_THIS_PROCESS: weakref.WeakSet[_Listening] = weakref.WeakSet()


def close_in_fork(listening: _Listening) -> None:
    """Have the copies of its sockets closed in a fork: a port that it has released would stay in use while a fork has it open."""
    _IN_THIS_PROCESS.add(listening)


def _close_copies_in_fork() -> None:
    for listening in list(_IN_THIS_PROCESS):
        listening.close_copies()
    _IN_THIS_PROCESS.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_copies_in_fork)
