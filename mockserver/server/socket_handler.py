"""
The handler of the HTTP/1.1 server: passes its requests to the front controller.

1. The first step of a short call of the API runs on the event loop if its sandbox's lock is free. The loop never waits for a
   lock: a call that does not get it, and every request that may take long, runs in a worker.
2. A sandbox has one worker at a time, however many requests it has. What concerns the whole server waits for none.
3. A call that waits is a timer of the loop, and goes on in a worker; the next epoch of its sandbox cancels it.
4. Workers send the webhooks, after the last byte of the response.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Literal, TypeVar

from mockserver.contract.errors import ERRORS
from mockserver.contract.limits import FORM_BODY_MAX_BYTES
from mockserver.core.instants import SECOND, Duration
from mockserver.core.state.sandbox import SandboxState
from mockserver.server import front_controller
from mockserver.server.exchange import Response as Answer
from mockserver.server.exchange import Step, Steps, next_step, run_steps
from mockserver.server.hosting.host import HostedSandbox, SandboxHost
from mockserver.server.http1.body import SMALL_MAX_BYTES
from mockserver.server.http1.messages import Disconnect, Request, Response, ResponseOrDisconnect
from mockserver.server.http1.request import RequestHead
from mockserver.wire.request import HttpRequest, body_limit_bytes, equal_target, excess_of
from mockserver.wire.response import HttpResponse, NoResponse, PendingWait, Waited, chunk_steps

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
        hosted, part = call.routed.hosted, call.routed.part
        if hosted is None or part is not front_controller.API:
            return call.respond_later()
        step = call.begin_on_loop(hosted.sandbox)
        if isinstance(step, HttpResponse | NoResponse):
            return call.as_response(step)
        return call.respond_later(step)


def _is_short(sandbox: SandboxState, method: str) -> bool:
    """Return True if a call of the API sends no webhook and reads few records. Lock: the caller holds it."""
    if len(sandbox.timers) > _INLINE_TIMERS_MAX or not sandbox.outbox.is_idle:
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
        routed: the request; without its body, if that is in a file.

    Lifetime: until its response is sent.
    """

    __slots__ = ("_host", "_incoming", "_on_lost", "_steps", "routed")

    def __init__(self, host: SandboxHost, root: HostedSandbox | None, incoming: Request) -> None:
        self._host = host
        self._incoming = incoming
        self._on_lost: Callable[[], None] | None = None
        self._steps: Steps | None = None
        sizes, excess = incoming.excess, None
        if sizes is not None:
            excess = excess_of(sizes.line_bytes, sizes.header_bytes, sizes.headers)
        request = HttpRequest(
            method=incoming.method,
            target=equal_target(incoming.target),
            headers=incoming.headers,
            body=b"" if incoming.is_spooled else incoming.body(),
            base_url=host.base_url_of(incoming.headers.get("host", "")),
            excess=excess,
        )
        self.routed = front_controller.route(host, request, root, is_of_connection=True)

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

    def begin_on_loop(self, sandbox: SandboxState) -> Step | Answer | None:
        """Run a short call to its first step, or its response; None if it may take long, or another thread holds the lock."""
        incoming = self._incoming
        if incoming.is_spooled or len(incoming.body() or b"") > _INLINE_BODY_MAX_BYTES:
            return None
        with _lock_if_free(sandbox) as is_held:
            if not is_held or not _is_short(sandbox, incoming.method):
                return None
            return next_step(self._begin())

    def _begin(self) -> Steps:
        """Return the steps of the request; a body in a file is read."""
        routed = self.routed
        if self._incoming.is_spooled:
            body, failure = self._body()
            routed = routed._replace(request=routed.request._replace(body=body, body_failure=failure))
        self._steps = front_controller.respond(self._host, routed, self)
        return self._steps

    def _run(self, waited: Waited | None = None) -> PendingWait | Answer:
        return run_steps(self._steps or self._begin(), waited)

    async def respond_later(self, step: Step | None = None) -> ResponseOrDisconnect:
        """Return the response of a request that goes on in a worker, after a step on the loop or from its beginning."""
        reached = step if isinstance(step, PendingWait) else await self._in_worker(self._run)
        while isinstance(reached, PendingWait):
            waited = await _spend(reached)
            reached = await self._in_worker(partial(self._run, waited))
        return self.as_response(reached)

    def _in_worker(self, function: Callable[[], Result]) -> Awaitable[Result]:
        return self._incoming.in_worker(function, self._lane)

    @property
    def _lane(self) -> Hashable:
        """For whom the request takes a worker: its sandbox, all unknown ones together, or None for the server itself."""
        request, hosted, part, _ = self.routed
        if part.is_control:
            from mockserver.server.control.routes import SERVER_PATHS  # late: calls of the API need no command

            if request.target.startswith(SERVER_PATHS):
                return None
        return "" if hosted is None else hosted.id

    async def _with_lock(self, sandbox: SandboxState, function: Callable[[], Result]) -> Result:
        """Run a short function that takes the sandbox's lock: on the loop if the lock is free, else in a worker."""
        with _lock_if_free(sandbox) as is_held:
            if is_held:
                return function()
        return await self._in_worker(function)

    def as_response(self, response: Answer) -> ResponseOrDisconnect:
        """Return the response for the server, with the dispatch of the due webhooks after it."""
        hosted = self.routed.hosted
        after = on_lost = None
        if hosted is not None and not hosted.sandbox.outbox.is_idle:
            after = partial(self._in_worker, hosted.dispatch_webhooks)
        if hosted is not None and self._on_lost is not None:
            on_lost = partial(self._in_worker, partial(_note_lost, self._on_lost, hosted))
        # The note refers back to this call: the two would hold the request's body until the garbage collector runs.
        self._on_lost = None
        if isinstance(response, NoResponse):
            return Disconnect(response.reason == "reset", after)
        headers, sent = self._sent(response)
        return Response(status=response.status, headers=headers, body=sent, after=after, on_lost=on_lost)

    def _sent(self, response: HttpResponse) -> tuple[tuple[tuple[str, str], ...], bytes | AsyncIterator[bytes]]:
        """Return the headers, and the body as it is sent: a large one in pieces, or what a rule lets be sent."""
        hosted = self.routed.hosted
        headers, body, transmission = response.headers, response.body, response.transmission
        if transmission is None and len(body) <= _PIECE_BYTES:
            return headers, body
        if not any(name == "Content-Length" for name, _ in headers):
            headers = (*headers, ("Content-Length", str(len(body))))
        if transmission is None:
            return headers, _split(body)
        cut_bytes = transmission.truncate_bytes
        if cut_bytes is not None and cut_bytes >= len(body):
            headers = (*headers, ("Connection", "close"))  # though the body is whole
        if transmission.chunks and hosted is not None:
            return headers, self._pieces(hosted.sandbox, response)
        return headers, body[:cut_bytes]

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
        with _lock_if_free(sandbox) as is_held:
            if is_held:
                steps.close()
                return
        self._in_worker(steps.close)


@contextmanager
def _lock_if_free(sandbox: SandboxState) -> Iterator[bool]:
    """Hold the sandbox's lock, unless another thread has it: True if it is held."""
    lock: Any = sandbox.lock
    is_held = lock.acquire(blocking=False)
    try:
        yield is_held
    finally:
        if is_held:
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
