"""
Background workers of `mockserver serve`: they send what falls due, and run timers without a request.

1. A thread sends one attempt, so that a slow endpoint delays no other, and then leaves its place to the next one.
2. A sandbox always gets a first thread, so that it waits for no receiver of another. It gets further ones, at most
   `_SHARE`, while fewer than `_THREADS_MAX` send.
3. Waits are in real time, also if the process's clock is frozen.
4. After `stop` only a busy thread remains; it ends with its work or with the process, which does not wait for it.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from mockserver.core.scheduler import run_until

if TYPE_CHECKING:
    from mockserver.core.state.outbox import PlannedAttempt
    from mockserver.core.state.sandbox import SandboxState
    from mockserver.server.hosting.host import SandboxHost
    from mockserver.server.webhooks.dispatcher import WebhookDispatcher

_LOG = logging.getLogger("mockserver")
_TICK_SECONDS: Final = 1.0
_THREADS_MAX: Final = 32  # that send, but for the first one of each sandbox
_SHARE: Final = 16  # of one sandbox
_GRACE_SECONDS: Final = 0.2  # for threads to end


class BackgroundWorker:
    """Worker threads of one host. Lifetime: from `start` to `stop`."""

    def __init__(self, host: SandboxHost) -> None:
        self._host = host
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._sending: list[WebhookDispatcher] = []  # for each thread the sandbox for which it sends
        self._threads: WeakSet[threading.Thread] = WeakSet()
        self._ticker = threading.Thread(target=self._run, name="mockserver ticker", daemon=True)

    def start(self) -> None:
        """Send the host's deliveries from now on."""
        self._host.background = self
        self._ticker.start()

    def stop(self) -> None:
        """Cancel all requests in flight and end every thread; a second call does nothing."""
        self._over.set()
        for hosted in list(self._host.sandboxes.values()):
            hosted.cancel_webhooks(for_good=True)
        with self._lock:
            threads = [*self._threads, self._ticker]
        grace = _GRACE_SECONDS
        for thread in threads:
            if thread.ident is None:  # it was never started
                continue
            thread.join(grace)
            if thread.is_alive():
                grace = 0  # the other threads have had the same time

    def schedule(self, dispatch: WebhookDispatcher) -> None:
        """Send everything of this sandbox that can be sent now."""
        while self._reserve_thread(dispatch):
            planned = dispatch.claim_for_worker()
            if planned is None or not self._start_thread(dispatch, planned):
                self._release_thread(dispatch)
                return

    def _reserve_thread(self, dispatch: WebhookDispatcher) -> bool:
        with self._lock:
            own = self._sending.count(dispatch)
            is_allowed = not own or (own < _SHARE and len(self._sending) < _THREADS_MAX)
            if not is_allowed or self._over.is_set():
                return False
            self._sending.append(dispatch)
            return True

    def _release_thread(self, dispatch: WebhookDispatcher) -> None:
        with self._lock:
            self._sending.remove(dispatch)

    def _start_thread(self, dispatch: WebhookDispatcher, planned: PlannedAttempt) -> bool:
        thread = threading.Thread(target=self._send, args=(dispatch, planned), name="mockserver sender", daemon=True)
        with self._lock:
            self._threads.add(thread)
        try:
            thread.start()
        except RuntimeError:  # the system has no further thread: the next tick tries again
            dispatch.leave_due(planned)
            return False
        return True

    def _send(self, dispatch: WebhookDispatcher, planned: PlannedAttempt) -> None:
        has_failed = False
        try:
            dispatch.send_attempt(planned)
        except Exception:  # noqa: BLE001 - a bug of the mock must not stop the endpoint's queue silently
            _LOG.exception("unexpected failure in a delivery")
            has_failed = True
        dispatch.release_worker(planned)
        self._release_thread(dispatch)
        if not has_failed:  # the next tick tries again
            self.schedule(dispatch)

    def _run(self) -> None:
        while not self._over.wait(_TICK_SECONDS):
            for function in (self._host.on_tick, self._run_timers):
                try:
                    function()
                except Exception:  # noqa: BLE001 - a bug of the mock must not stop the thread
                    _LOG.exception("unexpected failure in the background")

    def _run_timers(self) -> None:
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
