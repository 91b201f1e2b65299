"""Messages between the server and its handler: requests, responses, and disconnects in place of a response."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import IO, NamedTuple, Protocol, TypeVar

Result = TypeVar("Result")


class Request:
    """
    A complete request.

    Attributes:
        method: as received.
        target: path and query as received; of an absolute target only these.
        headers: values by lower-case name; repeated ones are joined.
        size_bytes: of the body; None for a body beyond its bound, which the server has not read.
        client: address and port.
        exchanges_before: the number of requests that the connection carried before this one.
        in_worker: runs a function on a thread of the server's pool.
    """

    __slots__ = ("_body", "client", "exchanges_before", "headers", "in_worker", "method", "size_bytes", "target")

    def __init__(
        self,
        method: str,
        target: str,
        headers: dict[str, str],
        body: bytes | IO[bytes] | None,
        size_bytes: int | None,
        client: tuple[str, int],
        exchanges_before: int,
        in_worker: InWorker,
    ) -> None:
        self.method = method
        self.target = target
        self.headers = headers
        self.size_bytes = size_bytes
        self.client = client
        self.exchanges_before = exchanges_before
        self.in_worker = in_worker
        self._body = body

    @property
    def is_spooled(self) -> bool:
        """True if the body is in a file, which the handler reads in a worker."""
        return self._body is not None and not isinstance(self._body, bytes)

    def body(self) -> bytes | None:
        """Return the whole body; None for one beyond its bound. A spooled body is read once."""
        if self._body is None or isinstance(self._body, bytes):
            return self._body
        with self._body as file:
            file.seek(0)
            return file.read()

    def __repr__(self) -> str:  # headers, target and body may contain a key
        return f"Request(method={self.method!r})"


class InWorker(Protocol):
    """Runs functions on the threads of a bounded pool."""

    def __call__(self, function: Callable[[], Result], /) -> Awaitable[Result]:
        """Return what the function returns, or raise what it raises."""


class Response(NamedTuple):
    """
    A response.

    Attributes:
        headers: without those of the connection and of the framing. A Content-Length above the size of the body ends the
            connection after the body; one below it cuts the body.
        body: the whole body, or its pieces, each when it is due; pieces require a Content-Length, but for a stream.
        closes: end the connection after the response.
        after: runs in a worker once the response is sent; the connection's next request waits for it.
        on_lost: runs in a worker if the response did not reach the client.
        is_stream: True for pieces without a length: they are sent chunked until they end, the client disconnects or the
            server stops.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes | AsyncIterator[bytes] = b""
    closes: bool = False
    after: Callable[[], object] | None = None
    on_lost: Callable[[], object] | None = None
    is_stream: bool = False


class Disconnect(NamedTuple):
    """No response: the client reads the end of the connection, or a reset of it."""

    is_reset: bool = False
    after: Callable[[], object] | None = None


ResponseOrDisconnect = Response | Disconnect


class Handler(Protocol):
    """Responds to the requests of one server."""

    def body_max_bytes(self, target: str) -> int:
        """Return the bound of a body that is sent to this target."""

    def respond(self, request: Request) -> ResponseOrDisconnect | Awaitable[ResponseOrDisconnect]:
        """Return the response to a request, or an awaitable of it if it takes more than a moment."""
