"""
Background workers of `mockserver serve`: they send what falls due, and run timers without a request.

Each endpoint has one request in flight at a time, so that a slow endpoint delays no other. A sandbox has at most half of
the threads, and one that has none gets one beyond their number, so that slow endpoints delay no other sandbox. Waits are
in real time, also if the process's clock is frozen. After `stop` only a busy thread remains; it ends with its work or
with the process, which does not wait for it.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from mockserver.core.scheduler import run_until
from mockserver.server.webhooks.pacing import Pacing

if TYPE_CHECKING:
    from mockserver.core.state.outbox import PlannedAttempt
    from mockserver.core.state.sandbox import SandboxState
    from mockserver.server.hosting.host import SandboxHost
    from mockserver.server.webhooks.dispatcher import WebhookDispatcher

_LOG = logging.getLogger("mockserver")
_TICK_SECONDS = 1.0
_THREADS_MAX = 32  # for requests in flight, but for one of each sandbox
_GRACE_SECONDS = 0.2  # for threads to end


class _Workers:
    """
    Threads that run jobs, started on demand. They are daemons: those of an executor would delay the process's end.

    1. The jobs for one begin in their order.
    2. One for whom no job runs gets a thread, also beyond the bound: it waits for nobody else's receivers.
    3. All further jobs share the threads up to the bound, at most half of them for one; those for different ones take turns.
    """

    def __init__(self, threads_max: int) -> None:
        self._threads_max = threads_max
        self._share = max(1, threads_max // 2)
        self._jobs: SimpleQueue[tuple[object, Callable[[], None]] | None] = SimpleQueue()  # a thread takes each now
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._idle = 0  # threads without a job
        self._running: Counter[object] = Counter()  # by whom they are for
        self._waiting: dict[object, deque[Callable[[], None]]] = {}  # by whom they are for, the next turn first
        self._is_stopping = False

    def submit(self, job: Callable[[], None], to: object) -> None:
        """Run the job in a thread, once one is free; `to` is whom it is for."""
        with self._lock:
            self._waiting.setdefault(to, deque()).append(job)
            self._begin_next(to)

    def stop(self) -> list[threading.Thread]:
        """Have all threads end once the jobs that run have ended, and return them."""
        with self._lock:
            self._is_stopping = True
            self._waiting.clear()
            threads = list(self._threads)
        for _ in threads:
            self._jobs.put(None)
        return threads

    def _begin_next(self, to: object) -> None:
        """Begin the next job for one, if it may begin now. Lock: the caller holds it."""
        if not self._may_begin(to) or not self._take_thread():
            return
        waiting = self._waiting.pop(to)
        self._running[to] += 1
        self._jobs.put((to, waiting.popleft()))
        if waiting:
            self._waiting[to] = waiting  # behind the others

    def _may_begin(self, to: object) -> bool:
        if self._is_stopping:
            return False
        running = self._running[to]
        return not running or (running < self._share and len(self._threads) - self._idle < self._threads_max)

    def _take_thread(self) -> bool:
        """Reserve an idle thread, or start one; return False if the system has none."""
        if self._idle:
            self._idle -= 1
            return True
        thread = threading.Thread(target=self._run, name="mockserver sender", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the job begins when another one has ended
            return False
        self._threads.append(thread)
        return True

    def _run(self) -> None:
        is_surplus = False
        while not is_surplus and (taken := self._jobs.get()) is not None:
            to, job = taken
            job()
            is_surplus = self._end(to)
            del taken, to, job  # an idle thread keeps no closed sandbox alive

    def _end(self, to: object) -> bool:
        """Count the end of a job and begin those that may begin now; return True if the present thread is not needed."""
        with self._lock:
            self._idle += 1
            self._running[to] -= 1
            if not self._running[to]:
                del self._running[to]
            for waiting in list(self._waiting):
                self._begin_next(waiting)
            is_surplus = self._idle > 0 and len(self._threads) > self._threads_max
            if is_surplus:
                self._idle -= 1
                self._threads.remove(threading.current_thread())
            return is_surplus


class BackgroundWorker:
    """Worker threads of one host. Lifetime: from `start` to `stop`."""

    def __init__(self, host: SandboxHost) -> None:
        self._host = host
        self._over = threading.Event()
        self._pacing = Pacing()
        self._workers = _Workers(_THREADS_MAX)
        self._ticker = threading.Thread(target=self._run_timers, name="mockserver ticker", daemon=True)

    def start(self) -> None:
        """Send the host's deliveries from now on."""
        self._host.background = self
        self._ticker.start()

    def stop(self) -> None:
        """Cancel all requests in flight and end every thread; a second call does nothing."""
        self._over.set()
        for hosted in list(self._host.sandboxes.values()):
            hosted.cancel_webhooks(for_good=True)
        grace = _GRACE_SECONDS
        for thread in [*self._workers.stop(), *([self._ticker] if self._ticker.ident is not None else [])]:
            thread.join(grace)
            if thread.is_alive():
                grace = 0  # the other threads have had the same time

    def schedule(self, dispatch: WebhookDispatcher) -> None:
        """Send everything of this sandbox that can be sent now."""
        while not self._over.is_set() and (planned := dispatch.claim_for_worker()) is not None:
            self._workers.submit(partial(self._work, dispatch, planned), dispatch)

    def note_call(self) -> None:
        """Count a call of the API over a socket, which goes before deliveries."""
        self._pacing.note_call()

    def await_turn(self) -> None:
        """Wait, while calls arrive, until the next request to a receiver may be sent."""
        seconds = self._pacing.wait_seconds()
        if seconds > 0:
            self._over.wait(seconds)

    def _work(self, dispatch: WebhookDispatcher, planned: PlannedAttempt) -> None:
        if self._over.is_set():
            return
        try:
            dispatch.send_attempt(planned)
        except Exception:  # noqa: BLE001 - a bug of the mock must not stop the endpoint's queue silently
            _LOG.exception("unexpected failure in a delivery")
            dispatch.release_worker(planned)
        else:
            dispatch.release_worker(planned)
            self.schedule(dispatch)

    def _run_timers(self) -> None:
        while not self._over.wait(_TICK_SECONDS):
            if self._host.on_tick is not None:
                self._host.on_tick()
            for hosted in list(self._host.sandboxes.values()):
                if _run_due_timers(hosted.sandbox):
                    hosted.dispatch_webhooks()


def _run_due_timers(sandbox: SandboxState) -> bool:
    """Return False for a sandbox that a call holds now: the others do not wait for it, and the next tick finds it again."""
    lock: Any = sandbox.lock
    if not lock.acquire(blocking=False):
        return False
    try:
        if not sandbox.clock.frozen:
            run_until(sandbox, sandbox.read_clock())
    finally:
        lock.release()
    return True
