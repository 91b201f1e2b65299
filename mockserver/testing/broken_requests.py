"""Broken answers as `requests` tells them: the exceptions that its socket path raises, at the same places."""

from __future__ import annotations

import io
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from requests.exceptions import ConnectionError as RequestsConnectionError
from requests.exceptions import ReadTimeout
from urllib3 import HTTPConnectionPool, HTTPResponse
from urllib3.exceptions import ProtocolError, ReadTimeoutError

from mockserver.edge.doors import BROKEN
from mockserver.edge.replies import Answer, Play, pieces


def read_timeout_s(timeout: Any) -> float | None:
    """How many seconds the client waits for a next byte: `timeout` as `requests` takes it."""
    if isinstance(timeout, tuple):
        timeout = timeout[1]
    found: float | None = getattr(timeout, "read_timeout", timeout)
    return found


def played(request: requests.PreparedRequest, answer: Answer) -> requests.Response:
    """The response whose body breaks off or dribbles, or the exception of an answer that never came."""
    play = answer.play or Play()
    if play.ends == "timeout":
        parts = urlsplit(request.url or "")
        pool = HTTPConnectionPool(parts.hostname or "", parts.port)  # for its name in the message: it opens nothing
        late = ReadTimeoutError(pool, request.url or "", "Read timed out.")
        raise ReadTimeout(late, request=request)
    if play.ends in ("drop", "reset"):
        raise RequestsConnectionError(ProtocolError("Connection aborted.", BROKEN[play.ends]()), request=request)
    headers = dict(answer.headers) | {"Content-Length": str(len(answer.body))}
    raw = HTTPResponse(
        body=_Body(answer),
        status=answer.status,
        headers=headers,
        preload_content=False,
        request_method=request.method,
    )
    response: requests.Response = HTTPAdapter().build_response(request, raw)
    return response


class _Body(io.RawIOBase):
    """The bytes of a body that come one piece at a time, or stop too early."""

    def __init__(self, answer: Answer) -> None:
        self._pieces = pieces(answer)
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._left:
            piece = next(self._pieces, b"")
            if piece is None:
                raise TimeoutError("timed out")
            self._left = piece
        given, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        buffer[: len(given)] = given
        return len(given)
