"""
The handler of the HTTP/1.1 server: its requests to the front controller.

1. A call of the API that is short and whose sandbox is free is answered on the event loop. The loop never waits for a
   sandbox's lock: a call that does not get it, and everything that may take long, runs in a worker.
2. A call that a rule holds is a timer of the loop; a new epoch of its sandbox releases it.
3. Webhooks are sent by workers, after the last byte of the response.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from mockserver.contract.errors import ERRORS
from mockserver.core.instants import SECOND
from mockserver.core.scheduler import run_until
from mockserver.core.state.sandbox import SandboxState
from mockserver.core.webhooks.deliveries import has_due_attempt
from mockserver.server import front_controller
from mockserver.server.api.exchange import RealTimeWait
from mockserver.server.api.request import HttpRequest, body_limit_bytes
from mockserver.server.api.response import Answer, HeldCall, HttpResponse, NoResponse, PendingWait, Waited, chunk_steps
from mockserver.server.front_controller import RoutedRequest
from mockserver.server.hosting.host import HostedSandbox, SandboxHost
from mockserver.server.http1 import messages
from mockserver.server.http1.messages import Disconnect, InWorker, Request, Response

_INLINE_BODY_MAX_BYTES = 64 * 1024
_INLINE_RECORDS_MAX = 2_000  # chats, or campaigns and templates, of a sandbox whose calls run on the loop
_INLINE_TIMERS_MAX = 1_000  # which may all be due

Result = TypeVar("Result")


def error_body(is_mock_failure: bool) -> tuple[int, bytes]:
    """Return the status and the API's error body for a request that is not HTTP, or for a failure of the mock."""
    row = ERRORS["INTERNAL_ERROR" if is_mock_failure else "VALIDATION_ERROR"]
    body = {"statusCode": row.status, "code": row.code, "message": row.message.format(path="requisição")}
    return row.status, json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


class SocketHandler:
    """
    Answers the requests of one server.

    Args:
        host: may get and lose sandboxes while the server runs.
        root: the sandbox at the root, by default the host's default one.
    """

    def __init__(self, host: SandboxHost, root: HostedSandbox | None = None) -> None:
        self._host = host
        self._root = root

    def body_max_bytes(self, target: str) -> int:
        """Return the bound of a body that is sent to this target."""
        return body_limit_bytes(target)

    def respond(self, incoming: Request) -> messages.Answer | Awaitable[messages.Answer]:
        """Return the response to a request, or a coroutine for a request that waits or may take long."""
        call = _SocketCall(self._host, self._root, incoming)
        if incoming.is_spooled or (incoming.size_bytes or 0) > _INLINE_BODY_MAX_BYTES:
            return call.respond_later(None)
        routed = call.routed()
        _, hosted, part = routed
        if hosted is None or part != "api":
            return call.respond_later(routed)
        answer = call.try_inline(routed, hosted)
        if answer is None or isinstance(answer, HeldCall) or not call.is_quiet:
            return call.respond_later(routed, answer)
        hosted.notify_listeners()
        return call.as_response(answer, hosted)


def _is_short(sandbox: SandboxState, method: str) -> bool:
    """Return True if a call of the API neither sends anything nor walks much. Lock: the caller holds it."""
    if len(sandbox.timers) > _INLINE_TIMERS_MAX:
        return False
    if not sandbox.outbox.is_idle:
        run_until(sandbox, sandbox.read_clock())
        if has_due_attempt(sandbox):
            return False
    tenants = sandbox.tenants.values()
    if method == "POST":  # previews and starts walk the chats
        return sum(len(tenant.chats) for tenant in tenants) <= _INLINE_RECORDS_MAX
    return sum(len(tenant.campaigns) + len(tenant.templates) for tenant in tenants) <= _INLINE_RECORDS_MAX


class _SocketCall:
    """
    One request on its way through the front controller.

    Attributes:
        is_quiet: True after a call on the loop that leaves nothing to do but to notify the listeners.

    Lifetime: until its response is sent.
    """

    __slots__ = ("_client", "_host", "_in_worker", "_incoming", "_root", "is_quiet")

    def __init__(self, host: SandboxHost, root: HostedSandbox | None, incoming: Request) -> None:
        self._host = host
        self._root = root
        self._incoming = incoming
        self._in_worker: InWorker = incoming.in_worker
        self._client = RealTimeWait(incoming.exchanges_before)
        self.is_quiet = False

    def routed(self) -> RoutedRequest:
        """Return the request with its sandbox."""
        incoming = self._incoming
        name = incoming.headers.get("host")
        base_url = f"http://{name}" if name else self._host.origin
        request = HttpRequest(incoming.method, incoming.target, incoming.headers, incoming.body(), base_url)
        return front_controller.route(self._host, request, self._root)

    def try_inline(self, routed: RoutedRequest, hosted: HostedSandbox) -> Answer | None:
        """Return the answer, or None if the call may take long, or another thread holds the sandbox."""
        lock: Any = hosted.sandbox.lock
        if not lock.acquire(blocking=False):
            return None
        try:
            if not _is_short(hosted.sandbox, routed[0].method):
                return None
            answer = front_controller.answer_request(self._host, routed, self._client)
            is_loud = isinstance(answer, HeldCall) or has_due_attempt(hosted.sandbox)
            self.is_quiet = not is_loud and self._host.on_exchange is None
            return answer
        finally:
            lock.release()

    async def respond_later(self, routed: RoutedRequest | None, answer: Answer | None = None) -> messages.Answer:
        """Return the response of a request that runs in a worker, or is held."""
        ran, current = (routed, answer) if routed and answer else await self._in_worker(partial(self._run, routed))
        is_announced = answer is None and not isinstance(current, HeldCall)
        while isinstance(current, HeldCall):
            waited = await _spend(current.wait)
            current = await self._with_lock(current.wait.sandbox, partial(current.resume, waited))
        if not is_announced:
            await self._in_worker(partial(self._announce, ran))
        return self.as_response(current, ran[1])

    def _run(self, routed: RoutedRequest | None) -> tuple[RoutedRequest, Answer]:
        """Run the request in this thread, up to its response or its wait."""
        routed = routed or self.routed()
        if routed[1] is not None:
            front_controller.dispatch_earlier(routed[1])
        answer = front_controller.answer_request(self._host, routed, self._client)
        if not isinstance(answer, HeldCall):
            self._announce(routed)
        return routed, answer

    def _announce(self, routed: RoutedRequest) -> None:
        _, hosted, part = routed
        if hosted is not None:
            front_controller.announce(self._host, hosted, part)

    async def _with_lock(self, sandbox: SandboxState, function: Callable[[], Result]) -> Result:
        """Run a function that takes the sandbox's lock: here if that is free, else in a worker."""
        lock: Any = sandbox.lock
        if not lock.acquire(blocking=False):
            return await self._in_worker(function)
        try:
            return function()
        finally:
            lock.release()

    def as_response(self, answer: HttpResponse | NoResponse, hosted: HostedSandbox | None) -> messages.Answer:
        """Return the answer as the server sends it, and after it the webhooks that are due."""
        is_idle = self.is_quiet or hosted is None or hosted.sandbox.outbox.is_idle
        after = None if is_idle or hosted is None else hosted.dispatch_webhooks
        if isinstance(answer, NoResponse):
            return Disconnect(answer.reason == "reset", after)
        status, headers, body, transmission = answer
        if transmission is None:
            return Response(status, headers, body, False, after, self._client.lost)
        if not any(name == "Content-Length" for name, _ in headers):
            headers = (*headers, ("Content-Length", str(len(body))))
        cut_bytes = transmission.truncate_bytes
        closes = cut_bytes is not None and cut_bytes >= len(body)  # after this body too, though it is whole
        if not transmission.chunks or hosted is None:
            return Response(status, headers, body[:cut_bytes], closes, after, self._client.lost)
        pieces = self._pieces(hosted.sandbox, answer)
        return Response(status, headers, pieces, closes, after, self._client.lost)

    async def _pieces(self, sandbox: SandboxState, answer: HttpResponse) -> AsyncIterator[bytes]:
        """Yield the pieces of a body that is sent slowly, each when it is due."""
        steps = chunk_steps(answer)
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
            await self._with_lock(sandbox, steps.close)


def _next_step(steps: Any, waited: Waited | None) -> bytes | PendingWait | None:
    """Return the next step, None after the last one."""
    try:
        step: bytes | PendingWait | None = steps.send(waited)
    except StopIteration:
        return None
    return step


async def _spend(wait: PendingWait) -> Waited:
    """Wait in real time; the sandbox's next epoch releases the wait."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[Waited] = loop.create_future()

    def end(waited: Waited) -> None:
        if not result.done():
            result.set_result(waited)

    def release() -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(end, "released")

    runtime = wait.sandbox.runtime
    if not runtime.add_wait(wait.sandbox, wait.epoch, release):
        return "released"
    timer = loop.call_later(wait.span / SECOND, end, "passed")
    try:
        return await result
    finally:
        timer.cancel()
        runtime.remove_wait(release)
