"""
The adapter of requests for a sandbox, in process or through the control plane.

A response that a rule breaks raises what requests raises over a socket, at the same place.
"""

from __future__ import annotations

import io
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import BaseAdapter, HTTPAdapter
from requests.exceptions import ConnectionError as RequestsConnectionError
from requests.exceptions import ReadTimeout
from requests.structures import CaseInsensitiveDict
from urllib3 import HTTPConnectionPool, HTTPResponse
from urllib3.exceptions import ProtocolError, ReadTimeoutError

from mockserver.server.http1.reason_phrases import reason_phrase
from mockserver.testing.transports.in_process import ClientRoute, Send
from mockserver.wire.response import HttpResponse as ServerResponse
from mockserver.wire.response import NoResponse, iter_chunks

__tracebackhide__ = True  # pytest shows the frames of the client, whose library raises as over a socket


def read_timeout_s(timeout: Any) -> float | None:
    """Return how many seconds the client waits for the next byte: `timeout` as requests takes it."""
    if isinstance(timeout, tuple):
        timeout = timeout[1]
    seconds: float | None = getattr(timeout, "read_timeout", timeout)
    return seconds


def no_response_error(request: requests.PreparedRequest, answer: NoResponse) -> RequestsConnectionError | ReadTimeout:
    """Return the exception that requests raises if no response arrives."""
    if answer.reason != "timeout":
        return RequestsConnectionError(ProtocolError("Connection aborted.", answer.as_error()), request=request)
    parts = urlsplit(request.url or "")
    pool = HTTPConnectionPool(parts.hostname or "", parts.port)  # for its name in the message: it opens nothing
    return ReadTimeout(ReadTimeoutError(pool, request.url or "", "Read timed out."), request=request)


def broken_response(request: requests.PreparedRequest, answer: ServerResponse) -> requests.Response:
    """Return a response whose body is truncated, or is sent in pieces."""
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
    """The bytes of a body that arrive piece by piece, or end too early."""

    def __init__(self, answer: ServerResponse) -> None:
        self._pieces = iter_chunks(answer)
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._left:
            self._left = next(self._pieces, b"")
        given, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        buffer[: len(given)] = given
        return len(given)


def requests_session(route: ClientRoute) -> requests.Session:
    """Return a requests session all of whose http and https requests take this way."""
    session = _Session()
    session.trust_env = False
    adapter = _Adapter(route.send)
    for scheme in ("http://", "https://"):
        session.mount(scheme, adapter)
    return session


class _Session(requests.Session):
    """A session that has its own adapters also under requests-mock, which sets `get_adapter` of each session that sends."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "get_adapter":
            super().__setattr__(name, value)


class _Adapter(BaseAdapter):
    """The adapter of one sandbox."""

    def __init__(self, send_request: Send) -> None:
        super().__init__()
        self._send_request = send_request

    def send(  # type: ignore[override]  # the stubs name each argument
        self, request: requests.PreparedRequest, stream: bool = False, timeout: Any = None, **kwargs: Any
    ) -> requests.Response:
        headers = {
            name.lower(): value if isinstance(value, str) else value.decode("latin-1")
            for name, value in request.headers.items()
        }
        url = urlsplit(request.url or "")
        origin, path = f"{url.scheme}://{url.netloc}", url.path or "/"
        target = f"{path}?{url.query}" if url.query else path
        method, body = request.method or "GET", _bytes(request.body)
        try:
            answer = self._send_request(method, origin, target, headers, body, read_timeout_s(timeout))
        except ValueError as refusal:
            raise RequestsConnectionError(str(refusal), request=request) from None
        if isinstance(answer, NoResponse):
            raise no_response_error(request, answer)
        return broken_response(request, answer) if answer.transmission else _requests_response(request, answer)

    def close(self) -> None:
        """Nothing is open."""


def _bytes(body: Any) -> bytes:
    """Return the body as bytes; requests takes none, text, bytes, a file or a generator."""
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode()
    return bytes(body) if isinstance(body, bytes | bytearray) else b"".join(body)


def _requests_response(request: requests.PreparedRequest, answer: ServerResponse) -> requests.Response:
    response = requests.Response()
    response.status_code = answer.status
    response.reason = reason_phrase(answer.status)
    response.headers = CaseInsensitiveDict(answer.headers)
    response.url = request.url or ""
    response.request = request
    response.encoding = "utf-8"
    response.raw = HTTPResponse(
        body=io.BytesIO(answer.body), status=answer.status, headers=dict(answer.headers), preload_content=False
    )
    response._content = answer.body
    return response
