"""Receivers on real sockets that follow a script for each connection."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

PATIENCE_SECONDS = 60.0
ACCEPTED = b"HTTP/1.1 204 No Content\r\n\r\n"

Script = Sequence[bytes | Callable[[socket.socket], None]]


class Receiver:
    """
    A receiver on a socket. Each connection has a script: the reply to each request, after which it waits for the sender to
    close, or a function that is called with the connection instead.
    """

    def __init__(self, scripts: Sequence[Script]) -> None:
        self._scripts = scripts
        self.requests: list[list[bytes]] = []  # of each connection
        self.closed = [threading.Event() for _ in scripts]  # by either side
        self.context: ssl.SSLContext | None = None
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/hook"
        self.thread = threading.Thread(target=self._serve, daemon=True)

    def _serve(self) -> None:
        threads = []
        with suppress(OSError):  # the listener is closed
            for script, closed in zip(self._scripts, self.closed, strict=True):
                wire, _ = self._listener.accept()
                self.requests.append([])
                threads.append(threading.Thread(target=self._play, args=(wire, script, self.requests[-1], closed)))
                threads[-1].start()
        for thread in threads:
            thread.join(PATIENCE_SECONDS)

    def _play(self, wire: socket.socket, script: Script, requests: list[bytes], closed: threading.Event) -> None:
        wire.settimeout(PATIENCE_SECONDS)
        if self.context is not None:
            wire = self.context.wrap_socket(wire, server_side=True)
        with wire, suppress(OSError):
            for reply in script:
                if callable(reply):
                    reply(wire)
                elif request := read_request(wire):
                    requests.append(request)
                    wire.sendall(reply)
            if not callable(script[-1]):
                wire.recv(1)
        closed.set()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.thread.join(PATIENCE_SECONDS)

    @property
    def counts(self) -> list[int]:
        """The number of requests of each connection."""
        return [len(requests) for requests in self.requests]


def read_request(wire: socket.socket) -> bytes:
    request = b""
    while not request.endswith(b"}"):
        piece = wire.recv(65536)
        if not piece:
            return b""
        request += piece
    return request


@contextmanager
def receiving(*scripts: Script) -> Iterator[Receiver]:
    receiver = Receiver(scripts)
    receiver.thread.start()
    try:
        yield receiver
    finally:
        receiver.close()
