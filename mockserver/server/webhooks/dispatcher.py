"""
Dispatch: a sandbox's deliveries are made, and its time passes, with the lock let go of while a receiver is at work.

1. What falls due is sent by whoever made it due, right after the command or call: in that thread, in order. Where a
   host has a background, its threads do it instead; `advance` always does it itself.
2. What a public call makes due is sent once its answer is out: after the last byte on a socket; in process before the
   next call or command, since the caller has the answer only then. A script may have it sent before the answer.
3. A receiver may call the mock: it is answered meanwhile, and what it makes due is left to whoever is delivering.
   Where it lets time pass, its own attempt is still under way at the later instant.
4. What was under way when the epoch ended is let go, and what came of it is thrown away.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

from mockserver.core import scheduler
from mockserver.core.faults import injection
from mockserver.core.instants import Duration, Instant
from mockserver.core.scheduler import FiredTimer, run_until
from mockserver.core.state.outbox import Attempt, PlannedAttempt
from mockserver.core.state.sandbox import SandboxState
from mockserver.core.webhooks import deliveries
from mockserver.server.webhooks import event_loops, local_receivers
from mockserver.server.webhooks.payloads import WebhookRequest, WebhookRequestBuilder
from mockserver.server.webhooks.sender import LET_GO, HttpSender, SendResult

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

_KEPT_BYTES = 4096  # of an endpoint's answer
# Of an advance with the background; a receiver that calls it cannot answer before it is answered.
_PATIENCE_SECONDS = 1.0
_MOST_STEPS = 1_000_000  # of an advance until idle: whatever re-arms itself for ever is a bug, not a wait

# Who is delivering on the way to the code that runs, in sandboxes of whatever host; coroutines get it with their context.
_INSIDE: ContextVar[tuple[object, ...]] = ContextVar("mockserver_inside", default=())


class Scheduler(Protocol):
    """Worker threads that send deliveries in the background."""

    def schedule(self, dispatch: WebhookDispatcher) -> None:
        """Send everything of this sandbox that can be sent now."""


class WebhookDispatcher:
    """The deliveries of one hosted sandbox. Lives as long as it."""

    def __init__(
        self,
        sandbox: SandboxState,
        sender: HttpSender,
        scheduler: Callable[[], Scheduler | None] = lambda: None,
    ) -> None:
        self._sandbox = sandbox
        self._scheduler = scheduler
        self.courier = sender
        self.loops = event_loops.Loops(sender.timeout_seconds)
        self.receivers: dict[str, local_receivers.LocalReceiver] = {}  # in process, by the url that stands for them
        self._deliverers: set[object] = set()
        self._blocked_loop: AbstractEventLoop | None = None  # for which the latest delivery was refused
        self._worked = threading.Condition(sandbox.lock)  # type: ignore[arg-type]  # an RLock, as the host makes it
        self._awaited: dict[
            int, PlannedAttempt
        ] = {}  # by identity the attempts of the background for which an advance waits
        self._active_senders = 0  # threads in `deliver`
        self._is_closed = False

    def register_local_receiver(self, target: local_receivers.ReceiverTarget, path: str) -> str:
        """The url that stands for a receiver in process; one never stands for another."""
        url = f"http://receiver-{len(self.receivers) + 1}.mockserver.test/{path.removeprefix('/')}"
        self.receivers[url] = local_receivers.LocalReceiver(target, self.loops)
        return url

    def dispatch_due(self, *, insists: bool = False) -> None:
        """
        See to what is due now: send it here, or have the background send it.

        What needs the event loop that this thread blocks stays due; who `insists` is refused with LoopBlocked then.
        """
        if self._sandbox.outbox.is_idle or self._is_closed or not (insists or self._may_go_on()):
            return
        background = self._scheduler()
        if background is not None:
            background.schedule(self)
        elif not self._active_senders:  # else whoever is delivering comes to it
            with suppress(*() if insists else (event_loops.LoopBlocked,)):
                self.send_due()

    def _may_go_on(self) -> bool:
        """False after a refusal as long as its loop does not go on in another thread: only a command tries again."""
        blocked = self._blocked_loop
        return blocked is None or (blocked.is_running() and event_loops.running() is None)

    def send_due(self, *, early: bool = False) -> None:
        """
        Send everything that is due now, in this thread; `early` only what is wanted before an answer. Not for a receiver's own call.

        Refuses with LoopBlocked where that needs the event loop that this thread runs; what was not sent is due as before.
        """
        if self._is_inside():
            return
        mine = object()
        self._deliverers.add(mine)
        outer = _INSIDE.set((*_INSIDE.get(), mine))
        self._change_senders(1)
        try:
            while True:
                with self._sandbox.lock:
                    planned = self.claim_next(early=early)
                    if planned is None:
                        self._change_senders(-1)  # under the same lock, so that what comes now finds nobody delivering
                        return
                self.send_attempt(planned)
        except BaseException:
            self._change_senders(-1)
            raise
        finally:
            self._deliverers.discard(mine)
            _INSIDE.reset(outer)

    def _change_senders(self, change: int) -> None:
        with self._sandbox.lock:
            self._active_senders += change

    def deliver_early(self) -> None:
        """Send what a script wants sent before the answer of the call under way."""
        if not self._sandbox.outbox.is_idle:
            with suppress(event_loops.LoopBlocked):  # it stays due
                self.send_due(early=True)

    def claim_next(self, *, early: bool = False) -> PlannedAttempt | None:
        """The next attempt that is due, now under way; None where there is none."""
        with self._sandbox.lock:
            if self._is_closed:
                return None
            run_until(self._sandbox, self._sandbox.read_clock())
            return deliveries.claim_next_attempt(self._sandbox, injection.delivery_faults_for, early=early)

    def claim_for_worker(self) -> PlannedAttempt | None:
        """The same for a thread of the background, for which an advance waits."""
        with self._sandbox.lock:
            planned = self.claim_next()
            if planned is not None:
                self._awaited[id(planned)] = planned
            return planned

    def release_worker(self, planned: PlannedAttempt) -> None:
        with self._worked:
            self._awaited.pop(id(planned), None)
            self._worked.notify_all()

    def send_attempt(self, planned: PlannedAttempt) -> None:
        """Send the letters of an attempt, without the lock, and report what came of them."""
        sandbox = self._sandbox
        try:
            self._refuse_own_loop(planned.webhook.url)
            made, wait = self._sent_all(planned)
        except BaseException:  # a test that ends itself within its receiver, or a bug of the mock
            with sandbox.lock:
                deliveries.release_attempt(sandbox, planned)
            raise
        with sandbox.lock:
            deliveries.record_attempt(sandbox, planned, made, wait)

    def _refuse_own_loop(self, url: str) -> None:
        """Refuse what this thread would wait for in vain, since it runs the receiver's event loop itself."""
        self._blocked_loop, loop = None, event_loops.running()
        if loop is None:
            return
        target = self.receivers.get(url)
        if event_loops.serves(loop, url) if target is None else target.needs(loop):
            self._blocked_loop = loop
            raise event_loops.LoopBlocked(url)

    def _sent_all(self, planned: PlannedAttempt) -> tuple[list[Attempt], Duration | None]:
        """What came of each letter of an attempt, and the wait that the endpoint asks for."""
        sandbox = self._sandbox
        writer = WebhookRequestBuilder(sandbox, planned, self._sandbox.process_now())
        made, wait = [], None
        for letter in writer.extra_requests():
            made.append(_attempt(planned, letter, self._sent(planned, letter)))
        if planned.faults.lose:
            made.append(Attempt(planned.number, planned.at, planned.delivery.due, None, deliveries.LOST, 0))
        else:
            letter = writer.genuine()
            outcome = self._sent(planned, letter)
            made.append(_attempt(planned, letter, outcome))
            wait = outcome.retry_after
            copies = planned.faults.duplicate if made[-1].accepted else 0
            for copy in (writer.genuine("duplicate") for _ in range(copies)):
                made.append(_attempt(planned, copy, self._sent(planned, copy)))
        return made, wait

    def _sent(self, planned: PlannedAttempt, letter: WebhookRequest) -> SendResult:
        def is_wanted() -> bool:
            return self._sandbox.epoch == planned.epoch and not self._is_closed

        if not is_wanted():
            return SendResult(None, LET_GO)
        wall, url = self._sandbox.process_now(), planned.webhook.url
        target = self.receivers.get(url)
        if target is not None:
            return target.hand(url, letter.headers, letter.body, wall)
        return self.courier.send(url, letter.headers, letter.body, wall, is_wanted)

    def advance(
        self,
        *,
        by: Duration | None = None,
        to: Instant | None = None,
        until_idle: bool = False,
        insists: bool = True,
    ) -> list[FiredTimer]:
        """
        Let time pass from one due thing to the next; every attempt that is due on the way is made at its own instant.

        The caller does not hold the lock. Answers what happened, in order. Refuses with ValueError what goes back or
        too far. It ends early where the sandbox is reset, restored or closed meanwhile. Where this thread runs an event loop
        that a receiver needs, who `insists` is refused with LoopBlocked; else nothing is sent on the way.
        """
        sandbox = self._sandbox
        with sandbox.lock:
            epoch, end = sandbox.epoch, None if until_idle else scheduler.advance_target(sandbox, by=by, to=to)
        fired: list[FiredTimer] = []
        sends_nothing = self._is_inside() or (not insists and event_loops.running() is not None)
        pause = None if sends_nothing else deliveries.has_due_attempt
        for _ in range(_MOST_STEPS):
            if pause is not None:
                self._await_workers()
                self.send_due()
            with sandbox.lock:
                if sandbox.epoch != epoch:
                    break
                happened, is_there = scheduler.advance_step(sandbox, end, pause)
                fired += happened
                if is_there and not (pause and (pause(sandbox) or self._awaited)):
                    break
        return fired

    def _await_workers(self) -> None:
        """
        What the background is sending belongs to the time before: wait for it, as long as attempts go on to end.

        One that does not may itself wait for this advance: no advance waits for it any more.
        """
        with self._worked:
            while self._awaited:
                if not self._worked.wait(_PATIENCE_SECONDS):
                    self._awaited.clear()

    def _is_inside(self) -> bool:
        """Return True if a receiver is calling: in the thread that delivers to it, or on the loop that runs its coroutine."""
        return any(each in self._deliverers for each in _INSIDE.get())

    def cancel(self, *, for_good: bool = False) -> None:
        """End what is under way in an older epoch; `for_good` nothing is sent any more."""
        self._is_closed = self._is_closed or for_good
        self.courier.cancel_all(for_good=for_good)
        self.loops.let_go(for_good=for_good)


def _attempt(planned: PlannedAttempt, letter: WebhookRequest, outcome: SendResult) -> Attempt:
    return Attempt(
        number=planned.number,
        at=planned.at,
        due=planned.delivery.due,
        status=outcome.status,
        error=outcome.error,
        duration_ms=outcome.duration_ms,
        headers=letter.headers,
        body=letter.body,
        answer=outcome.answer[:_KEPT_BYTES],
        fault=letter.fault,
    )
