"""
The in-process transport of httpx, and its broken responses.

Broken answers as `httpx` tells them: the exceptions that its socket path raises, at the same places.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from types import MappingProxyType

import httpx

from mockserver.server.api.response import HttpResponse, Transmission, iter_chunks
from mockserver.server.hosting.host import HostedSandbox
from mockserver.server.http1.reason_phrases import reason_phrase
from mockserver.server.webhooks import event_loops
from mockserver.testing.transports.in_process import send_in_process

_NEVER_CAME: Mapping[str, Callable[[httpx.Request], httpx.TransportError]] = MappingProxyType(
    {
        "timeout": lambda request: httpx.ReadTimeout("timed out", request=request),
        "drop": lambda request: httpx.RemoteProtocolError(
            "Server disconnected without sending a response.", request=request
        ),
        "reset": lambda request: httpx.ReadError("[Errno 104] Connection reset by peer", request=request),
    }
)


def broken_response(request: httpx.Request, answer: HttpResponse) -> httpx.Response:
    """The response whose body breaks off or dribbles, or the exception of an answer that never came."""
    play = answer.transmission or Transmission()
    if play.termination is not None and play.termination in _NEVER_CAME:
        raise _NEVER_CAME[play.termination](request)
    headers = [*answer.headers, ("Content-Length", str(len(answer.body)))]
    return httpx.Response(answer.status, headers=headers, stream=_Body(request, answer), request=request)


class _Body(httpx.SyncByteStream, httpx.AsyncByteStream):
    """The bytes of a body that come one piece at a time, or stop too early."""

    def __init__(self, request: httpx.Request, answer: HttpResponse) -> None:
        self._request = request
        self._answer = answer

    def _pieces(self) -> Iterator[bytes]:
        sent, whole = 0, len(self._answer.body)
        for piece in iter_chunks(self._answer):
            if piece is None:
                raise httpx.ReadTimeout("timed out", request=self._request)
            sent += len(piece)
            yield piece
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


def httpx_client(hosted: HostedSandbox) -> httpx.Client:
    """An httpx client with the sandbox's base url, answered in process; it loads no TLS context."""

    class SandboxTransport(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            return _answered(hosted, request, request.read())

    return httpx.Client(transport=SandboxTransport(), base_url=hosted.base_url)


def httpx_async_client(hosted: HostedSandbox) -> httpx.AsyncClient:
    """The same for asyncio. Where a receiver may be called on the way, the loop goes on meanwhile."""

    class AsyncSandboxTransport(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            body = await request.aread()
            has_webhooks = any(tenant.webhooks for tenant in hosted.sandbox.tenants.values())
            if (
                not has_webhooks or event_loops.running() is None
            ):  # nothing is sent on the way, or the loop is not asyncio's
                return _answered(hosted, request, body)
            return await event_loops.in_thread(lambda: _answered(hosted, request, body))

    return httpx.AsyncClient(transport=AsyncSandboxTransport(), base_url=hosted.base_url)


def _answered(hosted: HostedSandbox, request: httpx.Request, body: bytes) -> httpx.Response:

    url = request.url  # its raw parts, since to write it out costs as much as the answer
    origin, target = f"{url.scheme}://{url.netloc.decode()}", url.raw_path.decode()
    patience = request.extensions.get("timeout", {}).get("read")
    try:
        answer = send_in_process(hosted, request.method, origin, target, _headers(request), body, patience)
    except ValueError as refusal:
        raise httpx.ConnectError(str(refusal), request=request) from None
    if answer.transmission is not None:
        return broken_response(request, answer)
    phrase = {"reason_phrase": reason_phrase(answer.status).encode()}
    return httpx.Response(
        answer.status, headers=list(answer.headers), content=answer.body, request=request, extensions=phrase
    )


def _headers(request: httpx.Request) -> dict[str, str]:
    """Names in lower case; what came twice is joined, as the server joins it."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in request.headers.raw:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers
