"""Receivers on real sockets of this machine."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from werkzeug.wrappers import Request, Response


class ReceivedRequest(Request):
    """A webhook request as it arrived over the socket."""

    @property
    def sent(self) -> dict[str, str]:
        """The headers, as the reference verifiers take them."""
        return dict(self.headers.items())


def app(answer: Callable[[ReceivedRequest], Response | Literal[False] | None]) -> Any:
    """A WSGI app that answers with what `answer` returns for a request, 200 if that is nothing."""

    def run(environ: Any, start: Any) -> Any:
        return (answer(ReceivedRequest(environ)) or Response())(environ, start)

    return run


@contextmanager
def raw(reply: bytes, *, hold: threading.Event | None = None, drips: int = 0) -> Iterator[str]:
    """A listener that reads a request, sends these bytes, drips some more, and keeps the connection until `hold` is set."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connection.recv(65536)
                with suppress(OSError):
                    connection.sendall(reply)
                    for _ in range(drips):
                        threading.Event().wait(0.02)
                        connection.sendall(b"x")
                if hold is not None:
                    hold.wait(3_600)
                connection.close()

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


@contextmanager
def over_tls(certificate: Path) -> Iterator[int]:
    """A TLS listener with this certificate that answers each request of the body `{}` with 204; its port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    listener = context.wrap_socket(socket.create_server(("127.0.0.1", 0)), server_side=True)

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except ssl.SSLError:  # the client did not take the certificate
                continue
            except OSError:  # the listener is closed
                return
            with connection:
                received, piece = b"", b" "
                while piece and not received.endswith(b"{}"):  # whole: closing over unread bytes resets the answer away
                    received += (piece := connection.recv(65536))
                connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
