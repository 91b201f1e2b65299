"""
The background of a server that runs by itself: it sends what falls due, and lets time pass unasked.

Each endpoint has one letter under way at a time, so a slow one holds up nobody else. Its waits are on real time, also
where the process's clock is frozen; it leaves no thread behind.
"""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from mockserver.core.settle import settle

if TYPE_CHECKING:
    from mockserver.core.outbox import Planned
    from mockserver.edge.dispatch import Dispatch
    from mockserver.edge.hosting import Host

_LOG = logging.getLogger("mockserver")
_TICK_SECONDS = 1.0
_MOST_AT_ONCE = 32  # letters under way, of all sandboxes together


class Background:
    """Threads of one host, from `start` to `stop`."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._over = threading.Event()
        self._pool = ThreadPoolExecutor(_MOST_AT_ONCE, thread_name_prefix="mockserver courier")
        self._ticker = threading.Thread(target=self._tick, name="mockserver ticker", daemon=True)

    def start(self) -> None:
        """Take over the host's deliveries."""
        self._host.background = self
        self._ticker.start()

    def stop(self) -> None:
        """Let go of everything under way, and end every thread; harmless when done twice."""
        self._over.set()
        for hosted in list(self._host.sandboxes.values()):
            hosted.let_go(for_good=True)
        self._pool.shutdown(wait=True, cancel_futures=True)
        if self._ticker.is_alive():
            self._ticker.join()

    def kick(self, dispatch: Dispatch) -> None:
        """Have everything that can be sent now be sent."""
        while not self._over.is_set() and (planned := dispatch.take_for_worker()) is not None:
            try:
                self._pool.submit(self._work, dispatch, planned)
            except RuntimeError:  # stopped meanwhile
                dispatch.worker_done()
                return

    def _work(self, dispatch: Dispatch, planned: Planned) -> None:
        try:
            dispatch.carry(planned)
        except Exception:  # noqa: BLE001 - a bug of the mock must not end the endpoint's line in silence
            _LOG.exception("unexpected failure in a delivery")
            dispatch.worker_done()
        else:
            dispatch.worker_done()
            self.kick(dispatch)

    def _tick(self) -> None:
        while not self._over.wait(_TICK_SECONDS):
            for hosted in list(self._host.sandboxes.values()):
                with hosted.sandbox.lock:
                    if not hosted.sandbox.clock.frozen:
                        settle(hosted.sandbox, hosted.sandbox.read_clock())
                hosted.attend()
