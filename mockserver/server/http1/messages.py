"""Messages between the server and its handler: requests, responses, and disconnects in place of a response."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping
from typing import NamedTuple, Protocol, TypeVar

from mockserver.server.http1.request import HeadSizes, RequestHead

Result = TypeVar("Result")


class SpooledBody(Protocol):
    """A large body in a file, until the response to its request is sent."""

    def read(self) -> bytes:
        """Return the whole body, in a worker; it may be read again. OSError if it could not be stored."""


class Request(NamedTuple):
    """
    A complete request.

    Attributes:
        method: as received.
        target: path and query as received; of an absolute target only these.
        headers: values by lower-case name; repeated ones are joined.
        content: the body, or its file; None for a body beyond its bound, which the server has not read.
        exchanges_before: the number of requests that the connection carried before this one.
        in_worker: runs a function on a thread of the server's pool.
        excess: the sizes of a head beyond the server's bounds, or None.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    content: bytes | SpooledBody | None
    exchanges_before: int
    in_worker: InWorker
    excess: HeadSizes | None = None

    @property
    def is_spooled(self) -> bool:
        """True if the body is in a file, which the handler reads in a worker."""
        return self.content is not None and not isinstance(self.content, bytes)

    def body(self) -> bytes | None:
        """Return the whole body; None for one beyond its bound. A spooled body is read from its file by each call."""
        content = self.content
        return content if content is None or isinstance(content, bytes) else content.read()

    def __repr__(self) -> str:  # headers, target and body may contain a key
        return f"Request(method={self.method!r})"


class InWorker(Protocol):
    """Runs functions on the threads of a bounded pool, one at a time for each lane (see `workers`)."""

    def __call__(self, function: Callable[[], Result], /, lane: Hashable = None) -> Awaitable[Result]:
        """Return what the function returns, or raise what it raises."""


Follow = Callable[[], Awaitable[object]]  # on the loop


class Response(NamedTuple):
    """
    A response.

    Attributes:
        headers: without those of the framing. `Connection: close` ends the connection after the response, and so does a
            Content-Length above the size of the body; one below it cuts the body.
        body: the whole body, or its pieces, each when it is due; pieces require a Content-Length.
        after: what follows once the response is sent; the connection's next request waits for it.
        on_lost: what follows if the response did not reach the client.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes | AsyncIterator[bytes] = b""
    after: Follow | None = None
    on_lost: Follow | None = None


class Disconnect(NamedTuple):
    """No response: the client reads the end of the connection, or a reset of it; `after` follows."""

    is_reset: bool = False
    after: Follow | None = None


ResponseOrDisconnect = Response | Disconnect


class Handler(Protocol):
    """Responds to the requests of one server."""

    def body_max_bytes(self, head: RequestHead) -> int:
        """
        Return the bound of the body of a request, by its head: the response to a larger one needs no more of it.

        0 also refuses a chunked body before it arrives.
        """

    def respond(self, request: Request) -> ResponseOrDisconnect | Awaitable[ResponseOrDisconnect]:
        """Return the response to a request, or an awaitable of it if it takes more than a moment."""
