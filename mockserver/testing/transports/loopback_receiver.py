"""
A receiver of webhooks in this process, for a sandbox on a running server: it gets its requests over a socket.

The app or function is called as in process. A TimeoutError that it raises ends the connection without a response.
"""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial

from mockserver.contract.limits import WEBHOOK_TIMEOUT_SECONDS
from mockserver.core.instants import retry_after
from mockserver.server.http1.messages import Disconnect, Request, Response, ResponseOrDisconnect
from mockserver.server.http1.request import RequestHead
from mockserver.server.http1.server import Server
from mockserver.server.webhooks import event_loops
from mockserver.server.webhooks.local_receivers import LocalReceiver, ReceiverTarget

LOOPBACK = "127.0.0.1"
_EVERY_ADDRESS = "0.0.0.0"
_BODY_MAX_BYTES = 16 * 1024 * 1024


class LoopbackReceiver:
    """
    One app or function at a port of its own.

    Args:
        target: The app or function.
        path: The path in an app that the requests are sent to.
        host: The name by which the server reaches this machine; None for one on this machine.

    Attributes:
        url: The url to register.

    Lifetime: from its creation until `stop`.
    """

    def __init__(self, target: ReceiverTarget, path: str, host: str | None) -> None:
        self._loops = event_loops.Loops(WEBHOOK_TIMEOUT_SECONDS)
        self._receiver = LocalReceiver(target, self._loops)
        self._server = Server(self, LOOPBACK if host is None else _EVERY_ADDRESS)
        self._origin = f"http://{host or LOOPBACK}:{self._server.port}"
        self.url = f"{self._origin}/{path.removeprefix('/')}"
        self._server.start()

    def body_max_bytes(self, head: RequestHead) -> int:
        """Return the bound of a request's body."""
        return _BODY_MAX_BYTES

    def respond(self, incoming: Request) -> Awaitable[ResponseOrDisconnect]:
        """Call the app or function in a worker, since it may call the sandbox."""
        return incoming.in_worker(partial(self._receive, incoming))

    def _receive(self, incoming: Request) -> ResponseOrDisconnect:
        if incoming.excess is not None:
            return Response(431, (("X-Mock-Reason", "the request's head is beyond the bounds of the server"),))
        url = self._origin + incoming.target
        result = self._receiver.receive(url, incoming.headers, incoming.body() or b"")
        if result.status is None:
            return Disconnect(False, None)
        wait = result.retry_after.strip()
        is_header = wait.isascii() and wait.isprintable() and retry_after(wait, 0) is not None
        return Response(result.status, (("Retry-After", wait),) if is_header else (), result.body)

    def stop(self) -> None:
        """Close the port; a call in progress ends by itself."""
        self._loops.cancel_all(for_good=True)
        self._server.stop()
