"""
One HTTP/1.1 connection on the event loop: reads requests, calls the handler in their order, and writes the responses.

1. An error has a JSON body, or no body if part of a response is written; never HTML.
2. A client that disconnects is not an error: the connection ends.
3. While the handler has a request, no other is read: the connection buffers 64 KiB more, and then receives nothing.
"""

from __future__ import annotations

import asyncio
import inspect
import socket
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from typing import NamedTuple

from mockserver.server.http1.body import SKIPPED_MAX_BYTES, SMALL_MAX_BYTES, BodyTotal, RequestBody
from mockserver.server.http1.event_loop import ServerLoop
from mockserver.server.http1.framing import Framed, chunk, frame
from mockserver.server.http1.messages import Disconnect, Handler, Request, Response, ResponseOrDisconnect
from mockserver.server.http1.request import BadRequest, HeadReader, RequestHead, method_of, parse_head
from mockserver.server.http1.wire import RECEIVE_BYTES, Wire
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


class Connection:
    """
    Serves one accepted socket, only on the thread of its loop.

    Lifetime: from `start` until `Shared.on_end` is called with it.
    """

    __slots__ = (
        "_body", "_client", "_config", "_exchanges", "_head", "_head_reader", "_held", "_idle_timer", "_is_responding", "_is_streaming",
        "_loop", "_paced_bytes", "_pending", "_received", "_request_timer", "_shared", "task", "wire",
    )  # fmt: skip

    def __init__(
        self,
        loop: ServerLoop,
        connected: socket.socket,
        client: tuple[str, int],
        config: ServerConfig,
        shared: Shared,
    ) -> None:
        self.wire = Wire(loop, connected, self._on_received, self._on_close)
        self.task: asyncio.Task[None] | None = None  # of a request that is not answered yet
        self._loop = loop
        self._client = client
        self._config = config
        self._shared = shared
        self._received = bytearray()
        self._head_reader = HeadReader()
        self._head: RequestHead | None = None  # of the request whose body is read now
        self._body: RequestBody | None = None  # that is read now; without a head, its rest is dropped
        self._exchanges = 0
        self._is_responding = False
        self._is_streaming = False
        self._pending: object = None  # the response that the task awaits
        self._idle_timer: asyncio.TimerHandle | None = None
        self._request_timer: asyncio.TimerHandle | None = None  # while a head or a body is incomplete
        self._paced_bytes = 0  # of the body, when its pace was checked last
        self._held: RequestBody | None = None  # large, of the request that the handler has

    def start(self) -> None:
        """Begin to read."""
        self._shared.idle[self] = None
        self.wire.resume_reading()
        self._idle_timer = self._loop.call_later(self._config.idle_seconds, self._check_idle)

    def abort(self) -> None:
        """End the connection immediately, also during a request, whose task is canceled."""
        if self.task is not None:
            self.task.cancel()
        if inspect.iscoroutine(self._pending) and inspect.getcoroutinestate(self._pending) == inspect.CORO_CREATED:
            self._pending.close()  # its task is canceled before it has begun
        self.wire.abort()

    def _on_close(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        self._cancel_request_timer()
        for body in (self._body, self._held):
            if body is not None:
                body.close()
        self._shared.idle.pop(self, None)
        self._shared.on_end(self)

    def _check_idle(self) -> None:
        """End a connection on which no byte has passed for `idle_seconds`, unless the handler has a request."""
        wire, idle_seconds = self.wire, self._config.idle_seconds
        if wire.is_ending:
            return
        left = wire.active_at + idle_seconds - self._loop.time()
        is_waiting = wire.has_unsent or not self._is_responding
        if left > 0 or not is_waiting:
            self._idle_timer = self._loop.call_later(left if is_waiting else idle_seconds, self._check_idle)
        elif wire.has_unsent:
            wire.time_out()
        elif self._head is not None or self._has_begun:
            self._refuse(BadRequest("the rest of the request did not arrive in time", self._method))
        else:
            wire.end()

    def _refuse_late_head(self) -> None:
        why = f"the whole head of a request did not arrive within {self._config.limits.head_seconds:g} s"
        self._refuse(BadRequest(why, self._method))

    def _pace_body(self) -> None:
        """Give the body, of which a part has arrived, the time in which more of it has to arrive."""
        self._cancel_request_timer()
        if self._body is not None and self._config.limits.pace_bytes is not None:
            self._paced_bytes = self._body.received_bytes
            self._request_timer = self._loop.call_later(PACE_SECONDS, self._check_pace)

    def _check_pace(self) -> None:
        """End a request whose body arrives too slowly, and a connection whose unread body does."""
        body, least = self._body, self._config.limits.pace_bytes or 0
        if body is None:
            return
        is_read = not (self._is_responding or body.is_writing)
        if not is_read or body.received_bytes - self._paced_bytes >= least * PACE_SECONDS:
            self._pace_body()
        elif self._head is None:
            self.wire.end()
        else:
            why = f"fewer than {least} bytes of the body arrive each second"
            self._refuse(BadRequest(f"{why}, on average over {PACE_SECONDS:g} s", self._method))

    def _give_way(self) -> None:
        """Refuse the request whose body arrives, since all bodies take more than the server has for them."""
        limit = self._config.limits.bodies_bytes
        why = f"the bodies under way take more than the {limit} bytes that the server has for them; try again later"
        self._refuse(BadRequest(why, self._method, is_own_failure=True))

    def _cancel_request_timer(self) -> None:
        if self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None

    # Reading

    def _on_received(self, received: bytes) -> None:
        if received:
            self._received += received
        if not self._is_responding:
            self._proceed()
        elif self._is_streaming and not received:
            self.abort()  # the stream has no other end
        elif len(self._received) >= RECEIVE_BYTES:
            self.wire.pause_reading()

    def _proceed(self) -> None:
        """Read the next request further, and pass it to the handler once it is complete."""
        if self._is_responding or self.wire.is_ending or self.wire.is_closed:
            return
        if self.wire.is_lost:
            self.wire.close()
            return
        before = self._exchanges
        try:
            if self._body is None:
                self._read_head()
            else:
                self._read_body(self._body)
        except BadRequest as refusal:
            refusal.method = refusal.method or self._method
            self._refuse(refusal)
            return
        except Exception:  # noqa: BLE001 - a bug of the handler ends this connection alone
            self._report()
            self.wire.abort()
            return
        is_unchanged = not self._is_responding and self._exchanges == before  # else `_finish` proceeds
        if self.wire.is_at_end and is_unchanged:
            if self._head is not None or (self._body is None and self._has_begun):
                self._refuse(BadRequest("the connection ended inside a request", self._method))
            else:
                self.wire.end()

    @property
    def _has_begun(self) -> bool:
        """True if bytes of another request have arrived, not only of an empty line."""
        return bool(self._received) and self._received != b"\r"

    @property
    def _method(self) -> str:
        return self._head.method if self._head is not None else method_of(self._received)

    def _read_head(self) -> None:
        received = self._received
        size = self._head_reader.end(received)
        if not size:
            limit = self._config.limits.head_seconds
            if limit is not None and self._request_timer is None and self._has_begun:
                self._request_timer = self._loop.call_later(limit, self._refuse_late_head)
            return
        self._cancel_request_timer()
        self._shared.idle.pop(self, None)
        head = parse_head(bytes(received[:size]))
        del received[:size]
        if head.excess is not None and head.excess.is_cut:
            self._respond(head, b"", 0, False)
            return
        if head.length == 0:
            self._respond(head, b"", 0, head.keep_alive)
            return
        limit = self._config.handler.body_max_bytes(head)
        length = head.length
        if length is not None and length <= min(limit, SMALL_MAX_BYTES, len(received)):  # it has arrived with the head
            content = bytes(received[:length])
            del received[:length]
            self._respond(head, content, length, head.keep_alive)
            return
        self._head = head
        self._body = body = RequestBody(head.length, limit, self._shared.bodies, self._give_way)
        if body.is_beyond and (head.expects_continue or (head.length or 0) > SKIPPED_MAX_BYTES):
            self._respond_with_body(head, body)
            return
        if head.expects_continue and not self._received:
            self.wire.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._read_body(body)

    def _read_body(self, body: RequestBody) -> None:
        """Read the body, or after the response to its request drop the rest of it."""
        body.receive(self._received)
        if self._body is not body:
            return  # it has given way
        head = self._head
        if head is not None:
            if body.is_whole or (body.is_beyond and head.length is None):
                self._respond_with_body(head, body)
                return
            if body.has_much_unwritten:
                self.wire.pause_reading()
                self._run(self._write_to_file(body))
        elif body.is_whole:
            self._body = None
            self._cancel_request_timer()
            self._proceed()
            return
        elif not body.can_skip:
            self.wire.end()
        if self._request_timer is None:
            self._pace_body()

    async def _write_to_file(self, body: RequestBody) -> None:
        """Write what has arrived of a large body to its file, and continue to read it; if that fails, respond without it."""
        body.is_writing = True
        is_lost = False
        try:
            await self._shared.workers.run(body.write, _SPOOLING)
        except Exception as failure:  # noqa: BLE001 - a full disk
            is_lost = True
            if self._body is body:
                self._report()
                body.lose(failure)
        finally:
            body.end_write()
            if self._body is body:
                self.task = None
        if self._body is not body:
            return
        self.wire.active_at = self._loop.time()
        if is_lost and self._head is not None:
            self._respond_with_body(self._head, body)
        else:
            self.wire.resume_reading()

    def _respond_with_body(self, head: RequestHead, body: RequestBody) -> None:
        self._head = None
        if body.is_whole:
            self._body = None
            self._cancel_request_timer()
        self._held = body if body.is_large else None
        persists = head.keep_alive and (body.is_whole or (body.can_skip and not head.expects_continue))
        self._respond(head, body.content(), None if body.is_beyond else body.size_bytes, persists)

    # Responding

    def _respond(
        self, head: RequestHead, body: bytes | RequestBody | None, size_bytes: int | None, persists: bool
    ) -> None:
        """Pass a request to the handler, and send its response."""
        self._is_responding = True
        request = Request(
            method=head.method,
            target=head.target,
            headers=head.headers,
            body=body,
            size_bytes=size_bytes,
            client=self._client,
            exchanges_before=self._exchanges,
            in_worker=self._shared.workers.run,
            excess=head.excess,
        )
        try:
            response = self._config.handler.respond(request)
        except Exception:  # noqa: BLE001 - for any exception the client gets a response
            response = self._failure()
        if (
            not isinstance(response, Response)
            or not isinstance(response.body, bytes)
            or response.after
            or response.on_lost
        ):
            self._pending = response
            self._run(self._complete(head, persists, response))
            return
        framed, status = self._framed(response, head.method, head.minor, persists)
        send = self.wire.send_soon if framed.persists else self.wire.send
        if send(framed.data):
            self._finish(head, status, framed.persists)
        else:
            self._run(self._complete_sent(head, status, framed))

    def _run(self, completion: Awaitable[None]) -> None:
        self.task = asyncio.ensure_future(completion, loop=self._loop)

    async def _complete_sent(self, head: RequestHead | None, status: int, framed: Framed) -> None:
        await self.wire.flush()
        self._finish(head, status, framed.persists)

    async def _complete(
        self,
        head: RequestHead,
        may_persist: bool,
        pending: ResponseOrDisconnect | Awaitable[ResponseOrDisconnect],
    ) -> None:
        """Await the response of a request, send it, and run the functions that follow it."""
        try:
            response = pending if isinstance(pending, Response | Disconnect) else await pending
        except Exception:  # noqa: BLE001 - as above
            response = self._failure()
        status, persists = 0, False
        if isinstance(response, Response):
            status, persists = await self._write(response, head, may_persist)
            if response.on_lost is not None and self.wire.is_refused():
                await self._run_in_worker(response.on_lost, response.lane)
        elif response.is_reset:
            self.wire.reset()
        else:
            self.wire.end()
        if response.after is not None:
            await self._run_in_worker(response.after, response.lane)
        self._finish(head, status, persists)

    async def _run_in_worker(self, function: Callable[[], object], lane: Hashable) -> None:
        try:
            await self._shared.workers.run(function, lane)
        except Exception:  # noqa: BLE001 - the response is sent already: only the log has the failure
            self._report()

    async def _write(self, response: Response, head: RequestHead, persists: bool) -> tuple[int, bool]:
        """Send a response; return its status, and True if the connection may carry another request after it."""
        framed, status = self._framed(response, head.method, head.minor, persists)
        self.wire.send(framed.data)
        await self.wire.flush()
        left_bytes = framed.left_bytes
        if isinstance(response.body, bytes) or status != response.status:
            return status, framed.persists
        if response.is_stream:
            is_whole = await self._write_stream(response.body, head.minor)
            return status, framed.persists and is_whole
        try:
            async for piece in response.body:
                if not left_bytes or self.wire.is_lost:
                    break
                self.wire.send(piece[:left_bytes])
                await self.wire.flush()
                left_bytes -= min(len(piece), left_bytes)
        except Exception:  # noqa: BLE001 - only the end of the connection shows that to the client
            self._report()
        finally:
            if hasattr(response.body, "aclose"):
                await response.body.aclose()
        return status, framed.persists and not left_bytes

    async def _write_stream(self, pieces: AsyncIterator[bytes], minor: int) -> bool:
        """Send each piece as a chunk; return True if the stream has ended by itself."""
        self._is_streaming = True
        try:
            async for piece in pieces:
                self.wire.send(chunk(piece, minor))
                await self.wire.flush()
                if self.wire.is_lost or self.wire.is_at_end:
                    return False
            self.wire.send(chunk(b"", minor))
            await self.wire.flush()
        except Exception:  # noqa: BLE001 - only the end of the connection shows that to the client
            self._report()
            return False
        finally:
            self._is_streaming = False
            if hasattr(pieces, "aclose"):
                await pieces.aclose()
        return True

    def _framed(self, response: Response, method: str, minor: int = 1, persists: bool = False) -> tuple[Framed, int]:
        """Return the framed response and its status; if that fails, those of the failure."""
        try:
            return frame(response, method, minor, persists), response.status
        except Exception:  # noqa: BLE001 - a header that cannot be sent
            failure = self._failure()
            return frame(failure, method, minor, persists), failure.status

    def _finish(self, head: RequestHead | None, status: int, persists: bool) -> None:
        """Log an exchange whose response is sent, and continue with the next one, or end the connection."""
        has_waited = self.task is not None
        self.task, self._pending, self._is_responding = None, None, False
        if self._held is not None:
            self._held.close()
            self._held = None
        self._exchanges += 1
        if not self.wire.is_closed:  # as it is after a reset
            self._shared.idle[self] = None
        if self._config.log is not None:
            line = "-" if head is None else f"{head.method} {head.raw_target}"
            self._config.log(_printable(f'{self._client[0]} "{line}" {status or "-"}'))
        wire = self.wire
        if wire.is_lost:
            wire.close()
        elif not persists:
            wire.end()
        else:
            if has_waited:  # else the request was read just now
                wire.active_at = self._loop.time()
            if self._received or self._body is not None or wire.is_at_end:
                wire.resume_reading()
                self._loop.call_soon(self._proceed)  # other connections are served before

    # Errors

    def _refuse(self, refusal: BadRequest) -> None:
        """Refuse bytes that are not HTTP, and end the connection."""
        head, self._head = self._head, None
        self._cancel_request_timer()
        if self._body is not None:
            self._body.close()
            self._body = None
        response = self._error(refusal.is_own_failure, refusal.why)
        self._config.on_refusal(response.status, refusal.why)
        framed, status = self._framed(response, refusal.method)
        self._is_responding = True
        if self.wire.send(framed.data):
            self._finish(head, status, False)
        else:
            self._run(self._complete_sent(head, status, framed))

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


def _printable(text: str) -> str:
    """Return the text with a backslash escape for each character that a terminal would not print."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
