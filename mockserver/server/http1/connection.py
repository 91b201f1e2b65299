"""
One HTTP/1.1 connection on the event loop: reads requests, calls the handler in their order, and writes the responses.

1. An error has a JSON body, or no body if part of a response is written; never HTML.
2. A client that disconnects is not an error: the connection ends.
3. While the handler has a request, no other is read; see `wire` for how much of it is buffered.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import traceback
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

from mockserver.server.http1.body import SKIPPED_MAX_BYTES, BodyTotal, RequestBody
from mockserver.server.http1.framing import frame
from mockserver.server.http1.messages import Disconnect, Follow, Handler, Request, Response
from mockserver.server.http1.request import BadRequest, HeadReader, RequestHead, method_of, parse_head
from mockserver.server.http1.wire import Wire
from mockserver.server.http1.workers import Workers


class ConnectionLimits(NamedTuple):
    """
    The limits of a server's connections, None for one that is off.

    Attributes:
        head_seconds: within which the whole head of a request arrives, counted from its first bytes.
        pace_bytes: of a body that arrive each second, on average over each `PACE_SECONDS`.
        connections: that are open; the one that has had no request for the longest time gives way to another.
        bodies_bytes: of all large bodies, from their arrival to their response; the largest that arrives gives way.
    """

    head_seconds: float | None = 10.0
    pace_bytes: int | None = 256
    connections: int | None = 16_384
    bodies_bytes: int | None = 1_000_000_000


PACE_SECONDS = 30.0
_SOON_MAX_BYTES = 64 * 1024
_SPOOLING = object()  # the lane of all bodies that are written to files


class ServerConfig(NamedTuple):
    """Settings of a server (see `Server`)."""

    handler: Handler
    error_body: Callable[[bool], tuple[int, bytes]]
    log: Callable[[str], None] | None
    idle_seconds: float
    explain: bool
    limits: ConnectionLimits
    on_refusal: Callable[[int, str], object] = lambda status, why: None


class Shared(NamedTuple):
    """
    What the connections of one server share.

    Attributes:
        workers: of the server.
        bodies: the large bodies under way.
        idle: the connections without a request, since the longest time first; those whose end the client has to read
            are among them.
        on_end: gets each connection at its end.
    """

    workers: Workers
    bodies: BodyTotal
    idle: dict[Connection, None]
    on_end: Callable[[Connection], None]


class _Incomplete(BadRequest):
    """The rest of a request has not arrived."""


class Connection:
    """
    Serves one accepted socket in a task, only on the thread of its loop.

    Lifetime: until `Shared.on_end` is called with it, for the first time.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        connected: socket.socket,
        config: ServerConfig,
        shared: Shared,
    ) -> None:
        self.wire = Wire(loop, connected, config.idle_seconds)
        self._loop = loop
        self._config = config
        self._shared = shared
        self._head_reader = HeadReader()
        self._exchanges = 0
        shared.idle[self] = None
        self.task = loop.create_task(self._serve())
        self.task.add_done_callback(self._end)

    def abort(self) -> None:
        """End the connection immediately, also during a request, whose task is canceled."""
        self.task.cancel()
        self.wire.abort()
        self._leave()

    def _end(self, _: object) -> None:
        self.wire.close()
        self._leave()

    def _leave(self) -> None:
        self._shared.idle.pop(self, None)
        self._shared.on_end(self)

    async def _serve(self) -> None:
        wire = self.wire
        try:
            await wire.connect()
            while not wire.is_lost and await self._serve_next():
                if wire.received:
                    await asyncio.sleep(0)  # other connections are served before
            await wire.end()
        except Exception:  # noqa: BLE001 - a bug of the handler ends this connection alone
            self._report()

    async def _serve_next(self) -> bool:
        """Serve the next request; return True if the connection may carry another one after it."""
        head: RequestHead | None = None
        body: RequestBody | None = None
        try:
            head = await self._read_head()
            if head is None:
                return False
            if head.length == 0:
                return await self._exchange(head, b"", head.keep_alive)
            limit = self._config.handler.body_max_bytes(head)
            body = RequestBody(head.length, limit, self._shared.bodies, self.wire.wake)
            is_announced = head.expects_continue or (head.length or 0) > SKIPPED_MAX_BYTES
            if not (body.is_beyond and is_announced):
                await self._read_body(head, body)
            may_persist = head.keep_alive and (body.is_whole or (body.can_skip and not head.expects_continue))
            persists = await self._exchange(head, body.content(), may_persist)
            body.close()
            head = None
            return persists and await self._skip(body)
        except BadRequest as refusal:
            if not self.wire.is_lost:
                await self._refuse(head, refusal)
            return False
        finally:
            if body is not None:
                body.close()
                if body.has_file:
                    self._shared.workers.run(body.close_file, _SPOOLING)  # after the last write

    # Reading

    async def _read_head(self) -> RequestHead | None:
        """Return the head of the next request, None if the client sends none."""
        wire, head_seconds = self.wire, self._config.limits.head_seconds
        deadline: float | None = None
        while not (size := self._head_reader.end(wire.received)):
            has_begun = bool(wire.received) and wire.received != b"\r"  # not only of an empty line
            if has_begun and deadline is None and head_seconds is not None:
                deadline = self._loop.time() + head_seconds
            try:
                is_in_time = await self._receive(deadline)
            except _Incomplete:
                if has_begun:
                    raise
                return None
            if not is_in_time:
                raise _Incomplete(f"the whole head of a request did not arrive within {head_seconds:g} s")
        self._shared.idle.pop(self, None)
        head = parse_head(bytes(wire.received[:size]))
        del wire.received[:size]
        return head

    async def _receive(self, until: float | None) -> bool:
        """Wait for further bytes of a request; return False if none have come until then, on the loop's clock."""
        if self.wire.is_at_end or self.wire.is_lost:
            raise _Incomplete("the connection ended inside a request")
        seconds = idle_seconds = self._config.idle_seconds
        if until is not None:
            seconds = min(idle_seconds, until - self._loop.time())
        if seconds > 0 and await self.wire.receive(seconds):
            return True
        if seconds == idle_seconds:
            raise _Incomplete("the rest of the request did not arrive in time")
        return False

    async def _read_body(self, head: RequestHead, body: RequestBody) -> None:
        """Read the body to its end, or as far as its request needs it."""
        if head.expects_continue and not self.wire.received:
            await self.wire.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        is_needless = head.length is None
        await self._read(body, lambda: body.is_lost or (body.is_beyond and is_needless))

    async def _skip(self, body: RequestBody) -> bool:
        """Read the rest of an unread body and drop it; return True if it has come."""
        try:
            await self._read(body, lambda: not body.can_skip)
        except _Incomplete:
            return False
        return body.is_whole

    async def _read(self, body: RequestBody, is_enough: Callable[[], bool]) -> None:
        """Read a body until it is whole, or enough of it has arrived at the least pace."""
        pace_bytes = self._config.limits.pace_bytes
        body.receive(self.wire.received)
        window, counted = self._loop.time(), body.received_bytes
        while not (body.is_whole or is_enough()):
            if body.has_much_unwritten:
                await self._write(body)
                window, counted = self._loop.time(), body.received_bytes
            elif pace_bytes is None:
                await self._receive(None)
            elif not await self._receive(window + PACE_SECONDS):
                if body.received_bytes - counted < pace_bytes * PACE_SECONDS:
                    why = f"fewer than {pace_bytes} bytes of the body arrive each second"
                    raise _Incomplete(f"{why}, on average over {PACE_SECONDS:g} s")
                window, counted = self._loop.time(), body.received_bytes
            body.receive(self.wire.received)

    async def _write(self, body: RequestBody) -> None:
        """Write what has arrived of a large body to its file; if that fails, the body is lost."""
        body.has_file = True
        try:
            await self._shared.workers.run(body.write, _SPOOLING)
        except Exception as failure:  # noqa: BLE001 - a full disk
            self._report()
            body.lose(failure)

    # Responding

    async def _exchange(self, head: RequestHead, content: bytes | RequestBody | None, persists: bool) -> bool:
        """Pass a request to the handler, send its response, and run the functions that follow it."""
        await self.wire.drain()  # nothing more is done for a client that does not take its last response
        request = Request(
            method=head.method,
            target=head.target,
            headers=head.headers,
            content=content,
            exchanges_before=self._exchanges,
            in_worker=self._shared.workers.run,
            excess=head.excess,
        )
        try:
            response = self._config.handler.respond(request)
            if not isinstance(response, Response | Disconnect):
                response = await response
        except Exception:  # noqa: BLE001 - for any exception the client gets a response
            response = self._failure()
        if isinstance(response, Response):
            persists = await self._send(response, head, persists)
            if response.on_lost is not None and self.wire.is_refused():
                await self._follow(response.on_lost)
        else:
            persists = False
            if response.is_reset:
                self.wire.reset()
            else:
                self.wire.shut()
        if response.after is not None:
            await self._follow(response.after)
        self._exchanges += 1
        if not self.wire.is_lost:
            self._shared.idle[self] = None
        return persists

    async def _follow(self, follow: Follow) -> None:
        try:
            await follow()
        except Exception:  # noqa: BLE001 - the response is sent already: only the log has the failure
            self._report()

    async def _send(self, response: Response, head: RequestHead, persists: bool) -> bool:
        """Send a response, or that of a failure; return True if the connection may carry another request after it."""
        try:
            framed = frame(response, head.method, head.minor, persists)
        except Exception:  # noqa: BLE001 - a header that cannot be sent
            response = self._failure()
            framed = frame(response, head.method, head.minor, persists)
        is_small = isinstance(response.body, bytes) and len(framed.data) <= _SOON_MAX_BYTES
        if is_small and framed.persists and not (response.after or response.on_lost):
            self.wire.send_soon(framed.data)
        else:
            await self.wire.send(framed.data)
        if isinstance(response.body, bytes):
            return framed.persists
        pieces, is_whole = response.body, False
        try:
            is_whole = await self._send_pieces(pieces, framed.left_bytes)
        except Exception:  # noqa: BLE001 - only the end of the connection shows that to the client
            self._report()
        finally:
            if hasattr(pieces, "aclose"):
                await pieces.aclose()
        return framed.persists and is_whole

    async def _send_pieces(self, pieces: AsyncIterator[bytes], left_bytes: int) -> bool:
        """Send the pieces up to the length of the body; return True if they have it."""
        async for piece in pieces:
            if not left_bytes or self.wire.is_lost:
                break
            await self.wire.send(piece[:left_bytes])
            left_bytes -= min(len(piece), left_bytes)
        return not left_bytes

    # Errors

    async def _refuse(self, head: RequestHead | None, refusal: BadRequest) -> None:
        """Refuse bytes that are not HTTP."""
        response = self._error(refusal.is_own_failure, refusal.why)
        self._config.on_refusal(response.status, refusal.why)
        # The response to HEAD has no body (RFC 9110 9.3.2).
        framed = frame(response, method_of(self.wire.received) if head is None else head.method)
        await self.wire.send(framed.data)
        self._shared.idle[self] = None

    def _failure(self) -> Response:
        """Log the exception that is handled now, and return the response to it."""
        self._report()
        return self._error(True, "the mock itself failed; its log has the cause")

    def _error(self, is_own: bool, why: str) -> Response:
        status, body = self._config.error_body(is_own)
        reason = (("X-Mock-Reason", why),) if self._config.explain else ()
        return Response(status, (("Content-Type", "application/json"), *reason), body)

    def _report(self) -> None:
        (self._config.log or sys.stderr.write)(traceback.format_exc())
