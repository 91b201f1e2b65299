"""The socket that a server listens on, and what servers do at the beginning of a fork."""

from __future__ import annotations

import errno
import os
import socket
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
PORT_MAX = 65535


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
    family = socket.getaddrinfo(host.encode(), port, type=socket.SOCK_STREAM)[0][0]  # text would load tables of Unicode
    # The protocol is named: asyncio then sends small answers without a wait for an acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
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


def url_of(host: str, port: int) -> str:
    """Return the address of a server, without a slash at the end."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


_FOR_FORKS: weakref.WeakKeyDictionary[Any, Callable[[Any], None]] = weakref.WeakKeyDictionary()


def call_in_forks(server: T, begin: Callable[[T], None]) -> None:
    """Have a function called with a server at the beginning of each fork of this process, as long as the server is used."""
    _FOR_FORKS[server] = begin


def _begin_fork() -> None:
    for server, begin in list(_FOR_FORKS.items()):
        begin(server)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_fork)
