"""WSGI apps as handlers of the server: each call runs in a worker, and its pieces become one body."""

from __future__ import annotations

import io
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from urllib.parse import unquote_to_bytes

from mockserver.server.http1.messages import Disconnect, Request, Response, ResponseOrDisconnect
from mockserver.server.http1.request import RequestHead


def answering(pieces: Any, status: str = "200 OK", *headers: tuple[str, str]) -> Any:
    """A WSGI app that answers with these pieces, or with those that a function returns."""

    def app(environ: Any, start: Any) -> Any:
        start(status, list(headers))
        return pieces() if callable(pieces) else pieces

    return app


class WsgiHandler:
    """A WSGI app as a handler; a `Response` or `Disconnect` that it returns in place of pieces is returned unchanged."""

    def __init__(self, app: Any, max_bytes: int = sys.maxsize) -> None:
        self._app = app
        self._max_bytes = max_bytes

    def body_max_bytes(self, head: RequestHead) -> int:
        return self._max_bytes

    def respond(self, request: Request) -> Awaitable[ResponseOrDisconnect]:
        return request.in_worker(lambda: self._call(request))

    def _call(self, request: Request) -> ResponseOrDisconnect:
        started: list[Any] = []
        pieces = self._app(
            environ_of(request), lambda status, headers, exc_info=None: started.extend((status, headers))
        )
        if isinstance(pieces, Response | Disconnect):
            return pieces
        closed: Callable[[], object] | None = getattr(pieces, "close", None)
        body = b"".join(pieces)
        status, headers = started
        after = None if closed is None else partial(request.in_worker, closed)
        return Response(int(status[:3]), tuple(headers), body, after=after)


def environ_of(request: Request) -> dict[str, Any]:
    """Return the environ of PEP 3333 for a request."""
    path, _, query = request.target.partition("?")
    environ: dict[str, Any] = {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path.encode("latin-1")).decode("latin-1"),
        "QUERY_STRING": query,
        "RAW_URI": request.target,
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(request.body() or b""),
        "wsgi.input_terminated": True,
        "wsgi.errors": sys.stderr,
    }
    for name, value in request.headers.items():
        key = name.upper().replace("-", "_")
        environ[key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"] = value
    return environ
