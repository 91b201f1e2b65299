"""
Dispatcher: sends a sandbox's deliveries and advances its clock, without the lock while a receiver runs.

1. The thread whose command or call makes a delivery due sends it, in order, after that command or call. With background
   workers these send it instead; `advance` always sends in its own thread, also what calls make due meanwhile.
2. What a call of the API makes due is sent after its response: over a socket after the last byte, in process before the
   next call or command. A rule may have it sent before the response.
3. A receiver may call the mock, which responds meanwhile; the thread that is sending sends what that call makes due.
   If the receiver advances the clock, its own attempt ends at the later instant.
4. An attempt of an older epoch is canceled, and its result is dropped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Literal, Protocol

from mockserver.core import scheduler
from mockserver.core.faults import injection
from mockserver.core.instants import Duration, Instant, retry_after
from mockserver.core.scheduler import FiredTimer, run_until
from mockserver.core.state.outbox import Attempt, PlannedAttempt
from mockserver.core.state.sandbox import SandboxState
from mockserver.core.webhooks import deliveries
from mockserver.server.http1 import waits
from mockserver.server.webhooks import event_loops, local_receivers
from mockserver.server.webhooks.payloads import WebhookRequest, WebhookRequestBuilder
from mockserver.server.webhooks.results import CANCELED, SendResult
from mockserver.server.webhooks.sender import HttpSender

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

_RECORDED_BYTES = 4096  # of an endpoint's response
# How long an advance waits for the background workers; a receiver that calls `advance` responds only after it.
_WORKERS_TIMEOUT_SECONDS = 1.0
_MOST_STEPS = 1_000_000  # of an advance until idle: a timer that schedules itself without end is a bug

# The threads that are sending on the way to the running code, in sandboxes of any host; coroutines inherit the context.
_INSIDE: ContextVar[tuple[object, ...]] = ContextVar("mockserver_inside", default=())


class Scheduler(Protocol):
    """Worker threads that send deliveries in the background."""

    def schedule(self, dispatch: WebhookDispatcher) -> None:
        """Send everything of this sandbox that can be sent now."""


class WebhookDispatcher:
    """
    Sends the deliveries of one hosted sandbox.

    `on_attempt` gets the requests of each attempt once they are recorded, with the sandbox's lock held. While `is_held`,
    nothing is sent but what its holder claims and sends.

    Lifetime: that of the sandbox.
    Lock: takes the sandbox's lock; no request is sent with it.
    """

    def __init__(
        self,
        sandbox: SandboxState,
        sender: HttpSender,
        scheduler: Callable[[], Scheduler | None] = lambda: None,
        on_attempt: Callable[[PlannedAttempt, Sequence[Attempt]], None] = lambda planned, attempts: None,
    ) -> None:
        self._sandbox = sandbox
        self._scheduler = scheduler
        self._on_attempt = on_attempt
        self._sender = sender
        self.loops = event_loops.Loops(sender.timeout_seconds)
        self.receivers: dict[str, local_receivers.LocalReceiver] = {}  # in process, by their urls
        # One for each `send_due`, and for each advance that sends: what becomes due meanwhile is left to it.
        self._sending: set[object] = set()
        self._worked = threading.Condition(sandbox.lock)  # type: ignore[arg-type]  # an RLock, as the host makes it
        # Attempts of the background workers for which an advance waits, by their identity.
        self._awaited: dict[int, PlannedAttempt] = {}
        self._ends: list[tuple[int, Instant]] = []  # epochs and ends of the advances in order that are in progress
        self._is_closed = False
        self.is_held = False

    def register_local_receiver(self, target: local_receivers.ReceiverTarget, path: str) -> str:
        """Return the url of a receiver in this process; each receiver has its own."""
        url = f"http://receiver-{len(self.receivers) + 1}.mockserver.test/{path.removeprefix('/')}"
        self.receivers[url] = local_receivers.LocalReceiver(target, self.loops)
        return url

    def dispatch_due(self, *, raises_blocked: bool = False) -> None:
        """
        Send what is due now, in this thread or by the background workers.

        A delivery that needs the event loop which this thread blocks stays due.

        Args:
            raises_blocked: raise LoopBlocked for such a delivery.
        """
        if self.is_held or self._sandbox.outbox.is_idle or self._is_closed:
            return
        background = self._scheduler()
        if background is not None:
            background.schedule(self)
        elif not self._sending:  # else the thread that is sending sends it
            with suppress(*() if raises_blocked else (event_loops.LoopBlocked,)):
                self.send_due()

    def send_due(self, *, early: bool = False) -> None:
        """
        Send everything that is due now, in this thread; nothing within a receiver's own call.

        Args:
            early: send only what a rule has sent before the response.

        Raises:
            LoopBlocked: a receiver needs the event loop that this thread runs; what was not sent stays due.
        """
        if self._is_inside():
            return
        sender = object()
        self._sending.add(sender)
        outer = _INSIDE.set((*_INSIDE.get(), sender))
        try:
            while (planned := self._claim_or_leave(sender, early)) is not None:
                self.send_attempt(planned)
        finally:
            self._sending.discard(sender)
            _INSIDE.reset(outer)

    def _claim_or_leave(self, sender: object, early: bool) -> PlannedAttempt | None:
        """Return the next attempt; without one, end this thread's sending with the same lock: a later delivery has its own."""
        with self._sandbox.lock:
            planned = self.claim_next(early=early)
            if planned is None:
                self._sending.discard(sender)
            return planned

    def send_early(self) -> None:
        """Send what a rule has sent before the response to the current call."""
        if not self._sandbox.outbox.is_idle:
            with suppress(event_loops.LoopBlocked):  # it stays due
                self.send_due(early=True)

    def claim_next(self, *, early: bool = False, to: str | None = None) -> PlannedAttempt | None:
        """Return the next attempt that is due, to one endpoint or any, and mark it as in flight; None if no attempt is due."""
        with self._sandbox.lock:
            if self._is_closed:
                return None
            run_until(self._sandbox, self._sandbox.read_clock())
            return deliveries.claim_next_attempt(self._sandbox, injection.delivery_faults_for, early=early, to=to)

    def claim_for_worker(self) -> PlannedAttempt | None:
        """Return the next attempt that is due, for a background worker; an advance waits until the worker releases it."""
        with self._sandbox.lock:
            planned = self.claim_next()
            if planned is not None:
                self._awaited[id(planned)] = planned
            return planned

    def release_worker(self, planned: PlannedAttempt) -> None:
        with self._worked:
            self._awaited.pop(id(planned), None)
            self._worked.notify_all()

    def leave_due(self, planned: PlannedAttempt) -> None:
        """Leave an attempt that a worker has claimed, and cannot send, to the next one."""
        with self._sandbox.lock:
            deliveries.release_attempt(self._sandbox, planned)
        self.release_worker(planned)

    def send_attempt(self, planned: PlannedAttempt) -> None:
        """
        Send the requests of an attempt, without the lock, and record their results.

        Raises:
            BaseException: what a receiver raised to end the test; its request is recorded as one that it answered by 500.
        """
        sandbox = self._sandbox
        try:
            self._refuse_own_loop(planned.webhook.url)
            attempts, wait, end = self._send_all(planned)
        except BaseException:  # a signal's, or a bug of the mock
            with sandbox.lock:
                deliveries.release_attempt(sandbox, planned)
            raise
        with sandbox.lock:
            deliveries.record_attempt(sandbox, planned, attempts, wait)
            if sandbox.epoch == planned.epoch:
                self._on_attempt(planned, attempts)
                counts = sandbox.runtime.attempts
                if counts is not None:
                    state = sandbox.outbox.deliveries[planned.delivery.id].status
                    counts[state] = counts.get(state, 0) + 1
        if end is not None:
            raise end

    def _refuse_own_loop(self, url: str) -> None:
        """Raise LoopBlocked if this thread runs the event loop of the receiver, which therefore could not respond."""
        loop = event_loops.running()
        if loop is not None and self.needs_loop(loop, url):
            raise event_loops.LoopBlocked(url)

    def needs_loop(self, loop: AbstractEventLoop, url: str) -> bool:
        """Return True if the receiver at this url responds only while this loop runs."""
        receiver = self.receivers.get(url)
        return event_loops.serves(loop, url) if receiver is None else receiver.needs(loop)

    def _send_all(self, planned: PlannedAttempt) -> tuple[list[Attempt], Duration | None, BaseException | None]:
        """Send each request of an attempt; return their results, the wait that the endpoint requests, and a test's end."""
        builder = WebhookRequestBuilder(self._sandbox, planned, self._sandbox.process_now())
        attempts: list[Attempt] = []
        exits: list[BaseException] = []

        def send(request: WebhookRequest) -> SendResult:
            result = self._send(planned, request)
            attempts.append(_recorded(planned, request, result))
            if result.exit is not None:
                exits.append(result.exit)
            return result

        for extra in builder.extra_requests():
            send(extra)
        wait: Duration | None = None
        if planned.faults.lose:
            unsent = WebhookRequest(fault=None, headers={}, body=b"")
            attempts.append(_recorded(planned, unsent, SendResult(None, deliveries.LOST)))
        else:
            wait = retry_after(send(builder.genuine()).retry_after, builder.signed_at)
            for _ in range(planned.faults.duplicate if attempts[-1].accepted else 0):
                send(builder.genuine("duplicate"))
        return attempts, wait, exits[0] if exits else None

    def _send(self, planned: PlannedAttempt, request: WebhookRequest) -> SendResult:
        def is_wanted() -> bool:
            return self._sandbox.epoch == planned.epoch and not self._is_closed

        if not is_wanted():
            return SendResult(None, CANCELED)
        url = planned.webhook.url
        receiver = self.receivers.get(url)
        waits.leave_place()
        if receiver is not None:
            return receiver.receive(url, request.headers, request.body)
        return self._sender.send(url, request.headers, request.body, is_wanted)

    def advance(
        self,
        *,
        by: Duration | None = None,
        to: Instant | Literal["next"] | None = None,
        until_idle: bool = False,
        in_order: bool = False,
        raises_blocked: bool = True,
    ) -> list[FiredTimer]:
        """
        Advance the clock from one due timer or attempt to the next; each happens at its own instant.

        It ends early if the sandbox is reset, restored or closed meanwhile.

        Args:
            by: the span, in microseconds, from now.
            to: the instant of the end, or `next` for that of the next due timer, instead of `by`.
            until_idle: advance until nothing is due any more, instead of `by` and `to`.
            in_order: count `by` from the end of the advances in order that other threads have in progress.
            raises_blocked: raise LoopBlocked if a receiver needs the event loop that this thread runs; else nothing is sent.

        Returns:
            The timers that fired, in order.

        Raises:
            ValueError: the end is in the past, or beyond the last instant that a clock can have.
            LoopBlocked: see `raises_blocked`.
        """
        sandbox = self._sandbox
        loop = event_loops.running()
        sends = not (self.is_held or self._is_inside() or (loop is not None and not raises_blocked))
        is_sender = sends and loop is None  # what another thread makes due may need the loop that this one runs
        sender = object()
        with sandbox.lock:
            epoch = sandbox.epoch
            end = None if until_idle else self._end(by, to, in_order=in_order and not self._is_inside())
            own_end = (epoch, end) if end is not None and in_order and by is not None else None
            if own_end is not None:
                self._ends.append(own_end)
            if is_sender:
                self._sending.add(sender)
        try:
            fired = self._advance_to(epoch, end, deliveries.has_due_attempt if sends else None)
        finally:
            with sandbox.lock:
                if own_end is not None:
                    self._ends.remove(own_end)
                self._sending.discard(sender)
        if is_sender:
            self.dispatch_due()  # what a call has made due since the last step
        return fired

    def _end(self, by: Duration | None, to: Instant | Literal["next"] | None, *, in_order: bool) -> Instant:
        """Return the instant at which an advance ends. Lock: the caller holds it."""
        sandbox = self._sandbox
        others = [end for epoch, end in self._ends if epoch == sandbox.epoch]
        if by is not None and in_order and others:
            to, by = max(sandbox.read_clock(), *others) + by, None
        return scheduler.advance_target(sandbox, by=by, to=to)

    def _advance_to(
        self, epoch: int, end: Instant | None, pause: Callable[[SandboxState], bool] | None
    ) -> list[FiredTimer]:
        """Advance from one pause to the next, and send what is due at each; without `pause` send nothing."""
        sandbox = self._sandbox
        fired: list[FiredTimer] = []
        for _ in range(_MOST_STEPS):
            if pause is not None:
                self.await_workers()
                self.send_due()
            with sandbox.lock:
                if sandbox.epoch != epoch:
                    break
                step, has_arrived = scheduler.advance_step(sandbox, end, pause)
                fired += step
                is_over = has_arrived and not (pause and (pause(sandbox) or self._awaited))
            if is_over:
                break
        return fired

    def await_workers(self) -> None:
        """
        Wait for the attempts of the background workers, which belong to the time before, while some of them end.

        A receiver's own call waits for none. An attempt that does not end may itself wait for this one: none waits for it again.
        """
        if self._is_inside():
            return
        with self._worked:
            if self._awaited:
                waits.leave_place()
            while self._awaited and self._worked.wait(_WORKERS_TIMEOUT_SECONDS):
                pass
            self._awaited.clear()

    def _is_inside(self) -> bool:
        """Return True if a receiver is calling: in the thread that delivers to it, or on the loop that runs its coroutine."""
        return any(sender in self._sending for sender in _INSIDE.get())

    def cancel(self, *, for_good: bool = False) -> None:
        """Cancel the attempts of an older epoch; with `for_good` nothing is sent after that."""
        self._is_closed = self._is_closed or for_good
        self._sender.cancel_all(for_good=for_good)
        self.loops.cancel_all(for_good=for_good)


def _recorded(planned: PlannedAttempt, request: WebhookRequest, result: SendResult) -> Attempt:
    return Attempt(
        number=planned.number,
        at=planned.at,
        due=planned.delivery.due,
        status=result.status,
        error=result.error,
        duration_ms=result.duration_ms,
        headers=request.headers,
        body=request.body,
        answer=result.body[:_RECORDED_BYTES],
        fault=request.fault,
    )
