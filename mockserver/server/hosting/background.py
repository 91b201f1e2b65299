"""
Background workers of `mockserver serve`: they send what falls due, and run timers without a request.

Each endpoint has one request in flight at a time, so that a slow endpoint delays no other, and a sandbox has at most half of
the threads, so that many slow endpoints delay no other sandbox. Waits are in real time, also if
the process's clock is frozen. After `stop` only a busy thread remains; it ends with its work or with the process, which
does not wait for it.
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
_THREADS_MAX = 32  # requests in flight, of all sandboxes
_GRACE_SECONDS = 0.2  # for threads to end


class _Workers:
    """
    Threads that run jobs, started on demand. They are daemons: those of an executor would delay the process's end.

    The jobs for one get half of the threads at most; those beyond wait aside, so that the others find a thread.
    """

    def __init__(self, threads_max: int) -> None:
        self._threads_max = threads_max
        self._share = max(1, threads_max // 2)
        self._jobs: SimpleQueue[tuple[object, Callable[[], None]] | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._begun: Counter[object] = Counter()  # jobs that are queued or run, by whom they are for
        self._aside: dict[object, deque[Callable[[], None]]] = {}

    def submit(self, job: Callable[[], None], to: object) -> None:
        """Run the job in a thread, once one is free; `to` is whom it is for."""
        with self._lock:
            if self._begun[to] >= self._share:
                self._aside.setdefault(to, deque()).append(job)
                return
            self._begun[to] += 1
        self._jobs.put((to, job))
        if self._idle.acquire(blocking=False):
            return
        with self._lock:
            if len(self._threads) < self._threads_max:
                self._threads.append(threading.Thread(target=self._run, name="mockserver sender", daemon=True))
                self._threads[-1].start()

    def stop(self) -> list[threading.Thread]:
        """Have all threads end once the jobs have run, and return them."""
        with self._lock:
            threads, self._threads_max = self._threads, 0
        for _ in threads:
            self._jobs.put(None)
        return threads

    def _run(self) -> None:
        while (taken := self._jobs.get()) is not None:
            to, job = taken
            job()
            following = self._end(to)
            if following is None:
                self._idle.release()
            else:
                self._jobs.put((to, following))  # behind the jobs for others
            del taken, to, job, following  # an idle thread keeps no closed sandbox alive

    def _end(self, to: object) -> Callable[[], None] | None:
        """Count the end of a job, and return the next one that waits aside."""
        with self._lock:
            aside = self._aside.get(to)
            if aside:
                return aside.popleft()
            self._aside.pop(to, None)
            self._begun[to] -= 1
            if not self._begun[to]:
                del self._begun[to]
            return None


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
