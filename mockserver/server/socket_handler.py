"""
The handler of the HTTP/1.1 server: passes its requests to the front controller.

1. A short call of the API runs on the event loop if its sandbox's lock is free. The loop never waits for a lock: a call
   that does not get it, and every request that may take long, runs in a worker.
2. A sandbox has one worker at a time, however many requests it has. What concerns the whole server waits for none.
3. A call that waits is a timer of the loop, and goes on in a worker; the next epoch of its sandbox cancels it.
4. Workers send the webhooks, after the last byte of the response.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import suppress
from functools import partial
from typing import Any, Literal, TypeVar

from mockserver.contract.errors import ERRORS
from mockserver.contract.limits import FORM_BODY_MAX_BYTES
from mockserver.core.instants import SECOND, Duration
from mockserver.core.scheduler import run_until
from mockserver.core.state.calls import Excess
from mockserver.core.state.sandbox import SandboxState
from mockserver.core.webhooks.deliveries import has_due_attempt
from mockserver.server import front_controller
from mockserver.server.front_controller import API, RoutedRequest
from mockserver.server.hosting.host import DEFAULT_ID, HostedSandbox, SandboxHost
from mockserver.server.http1.body import SMALL_MAX_BYTES
from mockserver.server.http1.messages import Disconnect, Request, Response, ResponseOrDisconnect
from mockserver.server.http1.request import RequestHead
from mockserver.wire.request import SANDBOXES, HttpRequest, body_limit_bytes, equal_target, excess_of
from mockserver.wire.response import (
    HttpResponse,
    NoResponse,
    PendingWait,
    ResponseOrWait,
    Waited,
    WaitingCall,
    chunk_steps,
)

_INLINE_BODY_MAX_BYTES = 64 * 1024
_INLINE_RECORDS_MAX = 2_000  # chats, or campaigns and templates, of a sandbox whose calls run on the loop
_INLINE_TIMERS_MAX = 1_000  # which may all be due
_PIECE_BYTES = 256 * 1024  # of a large body; to copy and send more takes the loop a millisecond

Result = TypeVar("Result")


def error_body(is_mock_failure: bool) -> tuple[int, bytes]:
    """Return the status and the API's error body for a request that is not HTTP, or for a failure of the mock."""
    row = ERRORS["INTERNAL_ERROR" if is_mock_failure else "VALIDATION_ERROR"]
    body = {"statusCode": row.status, "code": row.code, "message": row.message.format(path="requisição")}
    return row.status, json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


class SocketHandler:
    """
    Responds to the requests of one server.

    Args:
        host: may get and lose sandboxes while the server runs.
        root: the sandbox at the root, by default the host's default one.
    """

    def __init__(self, host: SandboxHost, root: HostedSandbox | None = None) -> None:
        self._host = host
        self._root = root

    def body_max_bytes(self, head: RequestHead) -> int:
        """Return the bound of a body: that of its target, or of what stays in memory if nothing is to read the body."""
        if head.length is not None and head.length <= FORM_BODY_MAX_BYTES:  # no target has a smaller bound
            return FORM_BODY_MAX_BYTES
        target = equal_target(head.target)
        limit = body_limit_bytes(target)
        if limit <= SMALL_MAX_BYTES or (head.length is not None and head.length <= SMALL_MAX_BYTES):
            return limit
        request = HttpRequest(method=head.method, target=target, headers=head.headers, body=b"", base_url="")
        if front_controller.may_read_body(self._host, request, self._root):
            return limit
        # A client that waits to be bidden to continue sends nothing.
        return 0 if head.expects_continue else SMALL_MAX_BYTES

    def respond(self, incoming: Request) -> ResponseOrDisconnect | Awaitable[ResponseOrDisconnect]:
        """Return the response to a request, or a coroutine for a request that may take long."""
        call = _SocketCall(self._host, self._root, incoming)
        if incoming.size_bytes and (incoming.is_spooled or incoming.size_bytes > _INLINE_BODY_MAX_BYTES):
            return call.respond_later(None)
        routed = call.routed()
        hosted, part = routed.hosted, routed.part
        if hosted is None or part is not API:
            return call.respond_later(routed)
        current = call.try_inline(routed, hosted)
        if current is None or isinstance(current, WaitingCall) or not call.is_quiet:
            return call.respond_later(routed, current)
        if hosted.listeners:
            hosted.notify_listeners()
        return call.as_response(current, hosted)


def _is_short(sandbox: SandboxState, method: str) -> bool:
    """Return True if a call of the API sends no webhook and reads few records. Lock: the caller holds it."""
    if len(sandbox.timers) > _INLINE_TIMERS_MAX:
        return False
    if not sandbox.outbox.is_idle:
        run_until(sandbox, sandbox.read_clock())
        if has_due_attempt(sandbox):
            return False
    records = 0
    for tenant in sandbox.tenants.values():  # previews and starts read every chat
        records += len(tenant.chats) if method == "POST" else len(tenant.campaigns) + len(tenant.templates)
    return records <= _INLINE_RECORDS_MAX


class _SocketCall:
    """
    One request, from the server to the front controller and back.

    It is also how its client waits (`ClientWait`): its server waits in real time, and a frozen clock stays where it is.

    Attributes:
        is_quiet: True after a call on the loop if no webhook is due, and only the sandbox's listeners are to be notified.

    Lifetime: until its response is sent.
    """

    __slots__ = ("_host", "_incoming", "_on_lost", "_root", "is_quiet")

    def __init__(self, host: SandboxHost, root: HostedSandbox | None, incoming: Request) -> None:
        self._host = host
        self._root = root
        self._incoming = incoming
        self._on_lost: Callable[[], None] | None = None
        self.is_quiet = False

    def wait(self, sandbox: SandboxState, epoch: int, span: Duration) -> PendingWait:
        return PendingWait(sandbox, epoch, span)

    def stored_body(self) -> Callable[[], tuple[bytes | None, str | None]] | None:
        return self._body if self._incoming.is_spooled else None

    def _body(self) -> tuple[bytes | None, str | None]:
        """Return the body, and why it could not be stored: a full disk, no free descriptor."""
        try:
            return self._incoming.body(), None
        except OSError as failure:
            return b"", f"the mock could not store the body: {failure}"

    def if_lost(self, note: Callable[[], None]) -> None:
        self._on_lost = note

    def is_reused(self) -> bool:
        return self._incoming.exchanges_before > 0

    def timeout(self) -> Literal["socket"]:
        return "socket"

    def routed(self) -> RoutedRequest:
        """Return the request with its sandbox."""
        incoming, sizes = self._incoming, self._incoming.excess
        body, failure = self._body()
        excess: Excess | None = None
        if sizes is not None:
            excess = excess_of(sizes.line_bytes, sizes.header_bytes, sizes.headers, is_cut=sizes.is_cut)
        request = HttpRequest(
            method=incoming.method,
            target=equal_target(incoming.target),
            headers=incoming.headers,
            body=body,
            base_url=self._host.base_url_of(incoming.headers.get("host", "")),
            excess=excess,
            body_failure=failure,
        )
        return front_controller.route(self._host, request, self._root, is_of_connection=True)

    def try_inline(self, routed: RoutedRequest, hosted: HostedSandbox) -> ResponseOrWait | None:
        """Return the result of the call, or None if it may take long, or another thread holds the sandbox's lock."""
        lock: Any = hosted.sandbox.lock
        if not lock.acquire(blocking=False):
            return None
        try:
            if not _is_short(hosted.sandbox, routed.request.method):
                return None
            current = front_controller.run_request(self._host, routed, self)
            is_followed = isinstance(current, WaitingCall) or has_due_attempt(hosted.sandbox)
            self.is_quiet = not is_followed and self._host.on_exchange is None
            return current
        finally:
            lock.release()

    async def respond_later(
        self, routed: RoutedRequest | None, result: ResponseOrWait | None = None
    ) -> ResponseOrDisconnect:
        """Return the response of a request that runs in a worker, or that waits; `result` is that of a run on the loop."""
        if routed is not None and isinstance(result, WaitingCall):
            hosted, current = routed.hosted, front_controller.completed(self._host, routed, result)
        elif routed is not None and result is not None:
            hosted = routed.hosted
            current = await self._in_worker(partial(front_controller.completed, self._host, routed, result))
        else:
            hosted, current = await self._in_worker(partial(self._run, routed))
        del routed, result  # a wait would hold the body
        while isinstance(current, WaitingCall):
            waited = await _spend(current.wait)
            current = await self._in_worker(partial(current.resume, waited))
        return self.as_response(current, hosted)

    def _run(self, routed: RoutedRequest | None) -> tuple[HostedSandbox | None, ResponseOrWait]:
        """Return the sandbox of the request, and its response or its call with a wait."""
        routed = routed or self.routed()
        return routed.hosted, front_controller.respond(self._host, routed, self)

    def _in_worker(self, function: Callable[[], Result]) -> Awaitable[Result]:
        return self._incoming.in_worker(function, self._lane)

    @property
    def _lane(self) -> Hashable:
        """For whom the request takes a worker: its sandbox, all unknown ones together, or None for the server itself."""
        target, root = equal_target(self._incoming.target), DEFAULT_ID if self._root is None else self._root.id
        name = target[len(SANDBOXES) :].partition("/")[0] if target.startswith(SANDBOXES) else root
        below = target.removeprefix(f"{SANDBOXES}{name}")
        if below.startswith("/_mock/"):
            from mockserver.server.control.routes import SERVER_PATHS  # late: calls of the API need no command

            if below.startswith(SERVER_PATHS):
                return None
        return name if name in self._host.sandboxes else ""

    async def _with_lock(self, sandbox: SandboxState, function: Callable[[], Result]) -> Result:
        """Run a short function that takes the sandbox's lock: on the loop if the lock is free, else in a worker."""
        lock: Any = sandbox.lock
        if lock.acquire(blocking=False):
            try:
                return function()
            finally:
                lock.release()
        return await self._in_worker(function)

    def as_response(self, response: HttpResponse | NoResponse, hosted: HostedSandbox | None) -> ResponseOrDisconnect:
        """Return the response for the server, with the dispatch of the due webhooks after it."""
        # The note refers back to this call: the two would hold the request's body until the garbage collector runs.
        note, self._on_lost = self._on_lost, None
        on_lost = None if note is None or hosted is None else partial(_note_lost, note, hosted)
        is_idle = self.is_quiet or hosted is None or hosted.sandbox.outbox.is_idle
        after = None if is_idle or hosted is None else hosted.dispatch_webhooks
        lane = None if hosted is None else hosted.id
        if isinstance(response, NoResponse):
            return Disconnect(response.reason == "reset", after, lane)
        status, headers, body = response.status, response.headers, response.body
        if response.transmission is None and len(body) <= _PIECE_BYTES:
            return Response(status=status, headers=headers, body=body, after=after, on_lost=on_lost, lane=lane)
        if not any(name == "Content-Length" for name, _ in headers):
            headers = (*headers, ("Content-Length", str(len(body))))
        sent, closes = self._parts_sent(response, hosted)
        return Response(
            status=status, headers=headers, body=sent, closes=closes, after=after, on_lost=on_lost, lane=lane
        )

    def _parts_sent(
        self, response: HttpResponse, hosted: HostedSandbox | None
    ) -> tuple[bytes | AsyncIterator[bytes], bool]:
        """Return a large body in pieces, or what a rule lets of a body be sent; and True if the connection closes after it."""
        body, transmission = response.body, response.transmission
        if transmission is None:
            return _split(body), False
        cut_bytes = transmission.truncate_bytes
        closes = cut_bytes is not None and cut_bytes >= len(body)  # after this body too, though it is whole
        if transmission.chunks and hosted is not None:
            return self._pieces(hosted.sandbox, response), closes
        return body[:cut_bytes], closes

    async def _pieces(self, sandbox: SandboxState, response: HttpResponse) -> AsyncIterator[bytes]:
        """Yield the pieces of a body that is sent slowly, each when it is due."""
        steps = chunk_steps(response)
        waited: Waited | None = None
        try:
            while True:
                step = await self._with_lock(sandbox, partial(_next_step, steps, waited))
                waited = None
                if step is None:
                    return
                if isinstance(step, PendingWait):
                    waited = await _spend(step)
                else:
                    yield step
        finally:
            self._close_steps(sandbox, steps)

    def _close_steps(self, sandbox: SandboxState, steps: Any) -> None:
        """Close the steps of a body, which takes the lock if they end early; a server that stops awaits no lock."""
        lock: Any = sandbox.lock
        if not lock.acquire(blocking=False):
            self._in_worker(steps.close)
            return
        try:
            steps.close()
        finally:
            lock.release()


def _note_lost(note: Callable[[], None], hosted: HostedSandbox) -> None:
    """Record that a response did not reach its client, and notify the listeners of the sandbox."""
    note()
    hosted.notify_listeners()


async def _split(body: bytes) -> AsyncIterator[bytes]:
    """Yield a large body in pieces, with other connections served in between."""
    for begin in range(0, len(body), _PIECE_BYTES):
        yield body[begin : begin + _PIECE_BYTES]
        await asyncio.sleep(0)


def _next_step(steps: Any, waited: Waited | None) -> bytes | PendingWait | None:
    """Return the next step, None after the last one."""
    try:
        step: bytes | PendingWait | None = steps.send(waited)
    except StopIteration:
        return None
    return step


async def _spend(wait: PendingWait) -> Waited:
    """Wait in real time; the sandbox's next epoch cancels the wait."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[Waited] = loop.create_future()

    def end(waited: Waited) -> None:
        if not result.done():
            result.set_result(waited)

    def cancel() -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(end, "canceled")

    runtime = wait.sandbox.runtime
    if not runtime.add_wait(wait.sandbox, wait.epoch, cancel):
        return "canceled"
    timer = loop.call_later(wait.span / SECOND, end, "passed")
    try:
        return await result
    finally:
        timer.cancel()
        runtime.remove_wait(cancel)
