"""
The transports of httpx for a sandbox, in process or through the control plane.

A response that a rule breaks raises what httpx raises over a socket, at the same place.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import httpx

from mockserver.server.http1.reason_phrases import reason_phrase
from mockserver.server.webhooks import event_loops
from mockserver.testing.transports.in_process import ClientRoute, Send
from mockserver.wire.response import HttpResponse, NoResponse, iter_chunks

__tracebackhide__ = True  # pytest shows the frames of the client, whose library raises as over a socket


def no_response_error(request: httpx.Request, answer: NoResponse) -> httpx.TransportError:
    """Return the exception that httpx raises if no response arrives."""
    if answer.reason == "timeout":
        return httpx.ReadTimeout("timed out", request=request)
    if answer.reason == "reset":
        return httpx.ReadError("[Errno 104] Connection reset by peer", request=request)
    return httpx.RemoteProtocolError("Server disconnected without sending a response.", request=request)


def broken_response(request: httpx.Request, answer: HttpResponse) -> httpx.Response:
    """Return a response whose body is truncated, or is sent in pieces."""
    headers = [*answer.headers, ("Content-Length", str(len(answer.body)))]
    return httpx.Response(answer.status, headers=headers, stream=_Body(request, answer), request=request)


class _Body(httpx.SyncByteStream, httpx.AsyncByteStream):
    """The bytes of a body that arrive piece by piece, or end too early."""

    def __init__(self, request: httpx.Request, answer: HttpResponse) -> None:
        self._request = request
        self._answer = answer

    def _pieces(self) -> Iterator[bytes]:
        sent, whole = 0, len(self._answer.body)
        try:
            for piece in iter_chunks(self._answer):
                sent += len(piece)
                yield piece
        except TimeoutError as failure:
            raise httpx.ReadTimeout(str(failure), request=self._request) from None
        if sent < whole:
            raise httpx.RemoteProtocolError(
                "peer closed connection without sending complete message body "
                f"(received {sent} bytes, expected {whole})",
                request=self._request,
            )

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces():
            yield piece


def httpx_client(route: ClientRoute) -> httpx.Client:
    """Return an httpx client with the sandbox's base url, whose requests take this way; it loads no TLS context."""

    class SandboxTransport(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            return _response(route.send, request, request.read())

    return httpx.Client(transport=SandboxTransport(), base_url=route.base_url)


def httpx_async_client(route: ClientRoute) -> httpx.AsyncClient:
    """Return the same for asyncio. A request that may block runs in a thread: the loop continues."""

    class AsyncSandboxTransport(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            body = await request.aread()
            if not route.may_block() or event_loops.running() is None:  # the loop is not asyncio's
                return _response(route.send, request, body)
            response: httpx.Response = await route.in_thread(lambda: _response(route.send, request, body))
            return response

    return httpx.AsyncClient(transport=AsyncSandboxTransport(), base_url=route.base_url)


def _response(send: Send, request: httpx.Request, body: bytes) -> httpx.Response:
    url = request.url  # its raw parts: str(url) takes as long as the call itself
    origin, target = f"{url.scheme}://{url.netloc.decode()}", url.raw_path.decode()
    timeout_s = request.extensions.get("timeout", {}).get("read")
    try:
        # Values of one name are joined, as the server joins them.
        headers: dict[str, str] = {}
        for raw_name, raw_value in request.headers.raw:
            name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        answer = send(request.method, origin, target, headers, body, timeout_s)
    except ValueError as refusal:
        raise httpx.ConnectError(str(refusal), request=request) from None
    if isinstance(answer, NoResponse):
        raise no_response_error(request, answer)
    if answer.transmission is not None:
        return broken_response(request, answer)
    phrase = {"reason_phrase": reason_phrase(answer.status).encode()}
    return httpx.Response(
        answer.status, headers=list(answer.headers), content=answer.body, request=request, extensions=phrase
    )
