"""Receivers on real sockets of this machine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from werkzeug.wrappers import Request, Response


class Post(Request):
    """One letter as it came over the socket."""

    @property
    def sent(self) -> dict[str, str]:
        """The headers, as the reference verifiers take them."""
        return dict(self.headers.items())


def app(answer: Callable[[Post], Response | None]) -> Any:
    """A WSGI app that answers with what `answer` makes of a letter, 200 where that is nothing."""

    def run(environ: Any, start: Any) -> Any:
        return (answer(Post(environ)) or Response())(environ, start)

    return run


@contextmanager
def raw(reply: bytes, *, hold: threading.Event | None = None, drips: int = 0) -> Iterator[str]:
    """A listener that reads a request, sends these bytes, drips some more, and keeps the connection until `hold` is set."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                wire, _ = listener.accept()
                wire.recv(65536)
                with suppress(OSError):
                    wire.sendall(reply)
                    for _ in range(drips):
                        threading.Event().wait(0.02)
                        wire.sendall(b"x")
                if hold is not None:
                    hold.wait(10)
                wire.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/hook"
    finally:
        if hold is not None:
            hold.set()
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
