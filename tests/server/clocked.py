"""One connection of the server on a loop in the test's own thread, whose clock the test moves."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any, Self

from mockserver.server.http1.body import BodyTotal
from mockserver.server.http1.connection import Connection, ConnectionLimits, ServerConfig, Shared
from mockserver.server.http1.event_loop import ServerLoop
from mockserver.server.http1.messages import Handler, Request, Response
from mockserver.server.http1.request import RequestHead
from mockserver.server.http1.server import plain_error
from mockserver.server.http1.workers import Workers

TURNS = 20  # of the loop, more than any step of these tests takes


class Echo:
    """A handler that answers on the loop with the body, and stores its requests."""

    def __init__(self, body_max_bytes: int = 1024 * 1024) -> None:
        self.requests: list[Request] = []
        self._body_max_bytes = body_max_bytes

    def body_max_bytes(self, head: RequestHead) -> int:
        return self._body_max_bytes

    def respond(self, request: Request) -> Response:
        self.requests.append(request)
        return Response(200, (), request.body() or b"")


class Clocked:
    """
    A client with its connection to a server.

    Attributes:
        now: the seconds of the server's clock.
        log: the lines of the server's log.
    """

    def __init__(self, handler: Handler, bodies: BodyTotal | None = None, **limits: Any) -> None:
        self.now = 0.0
        self.log: list[str] = []
        self._ended: list[Connection] = []
        self._loop = ServerLoop(lambda: self.now)
        self._workers = Workers(self._loop, "clocked", 1)
        self._client, wire = socket.socketpair()
        self._client.setblocking(False)
        config = ServerConfig(handler, plain_error, self.log.append, 30.0, True, ConnectionLimits(**limits))
        shared = Shared(self._workers, bodies or BodyTotal(None), {}, self._ended.append)
        self.connection = Connection(self._loop, wire, config, shared)
        self._turn()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.abort()
        self._turn()
        self._workers.stop()
        self._client.close()
        self._loop.close()

    def _turn(self) -> None:
        for _ in range(TURNS):
            self._loop.call_soon(self._loop.stop)
            self._loop.run_forever()

    def send(self, sent: bytes) -> Self:
        """Send these bytes, which the server receives as one segment."""
        self._client.send(sent)
        self._turn()
        return self

    def wait(self, seconds: float) -> Self:
        """Let this time pass on the server's clock."""
        self.now += seconds
        self._turn()
        return self

    def run(self, is_done: Callable[[], bool]) -> None:
        """Let the loop run while a worker has work to do."""
        while not is_done():
            self._turn()

    def settle(self) -> None:
        """Let the loop run until no worker writes what has arrived."""
        self._turn()
        self.run(lambda: not self._workers._unfinished)
        self._turn()

    def leave(self) -> Self:
        """Close the client's side."""
        self._client.close()
        self._turn()
        return self

    @property
    def received(self) -> bytes:
        """What the server has sent since the last reading."""
        try:
            return self._client.recv(1024 * 1024)
        except BlockingIOError:
            return b""

    @property
    def is_open(self) -> bool:
        """True until the server has ended the connection."""
        return not self._ended and not self.connection.wire._is_ending
