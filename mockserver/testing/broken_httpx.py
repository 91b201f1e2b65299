"""Broken answers as `httpx` tells them: the exceptions that its socket path raises, at the same places."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from types import MappingProxyType

import httpx

from mockserver.edge.replies import Answer, Play, pieces

_NEVER_CAME: Mapping[str, Callable[[httpx.Request], httpx.TransportError]] = MappingProxyType(
    {
        "timeout": lambda request: httpx.ReadTimeout("timed out", request=request),
        "drop": lambda request: httpx.RemoteProtocolError(
            "Server disconnected without sending a response.", request=request
        ),
        "reset": lambda request: httpx.ReadError("[Errno 104] Connection reset by peer", request=request),
    }
)


def played(request: httpx.Request, answer: Answer) -> httpx.Response:
    """The response whose body breaks off or dribbles, or the exception of an answer that never came."""
    play = answer.play or Play()
    if play.ends is not None and play.ends in _NEVER_CAME:
        raise _NEVER_CAME[play.ends](request)
    headers = [*answer.headers, ("Content-Length", str(len(answer.body)))]
    return httpx.Response(answer.status, headers=headers, stream=_Body(request, answer), request=request)


class _Body(httpx.SyncByteStream, httpx.AsyncByteStream):
    """The bytes of a body that come one piece at a time, or stop too early."""

    def __init__(self, request: httpx.Request, answer: Answer) -> None:
        self._request = request
        self._answer = answer

    def _pieces(self) -> Iterator[bytes]:
        sent, whole = 0, len(self._answer.body)
        for piece in pieces(self._answer):
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
