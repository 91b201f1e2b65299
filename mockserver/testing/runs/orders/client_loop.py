"""The event loop of the clients that are coroutine functions: each is a task, and all share one thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, Final

from mockserver.server.http1 import real_time
from mockserver.testing.runs.orders import idle
from mockserver.testing.runs.orders.gate import ActorEnd, Gate

_TURN_S: Final = 0.02  # real time, the longest wait for a loop that runs


class ClientLoop:
    """
    Lifetime: until `close`, at the end of one run.

    Args:
        gate: Of the run; the ends of tasks are among its mail.

    Attributes:
        thread: The thread that runs it.
    """

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._loop = gate.loop = asyncio.SelectorEventLoop()  # `idle` shows when one of this kind waits
        self._loop.time = real_time.seconds  # type: ignore[method-assign]  # a frozen clock would stop its timers
        self._tasks: list[asyncio.Task[None]] = []
        self.thread = threading.Thread(target=self._serve, name="interleave loop", daemon=True)
        self.thread.start()

    def start_task(self, actor: str, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Run a client as a task."""
        loop, mail = self._loop, self._gate.mail

        async def run() -> None:
            raised: BaseException | None = None
            try:
                await coroutine
            except BaseException as failure:  # noqa: BLE001 - the way in which it ends is judged
                raised = failure
            mail.put(ActorEnd(actor, raised))

        loop.call_soon_threadsafe(lambda: self._tasks.append(loop.create_task(run())))

    def is_at_rest(self) -> bool:
        """Let the loop run what is ready, and return True if it then waits."""
        turned = threading.Lock()
        turned.acquire()
        self._loop.call_soon_threadsafe(turned.release)
        return turned.acquire(timeout=_TURN_S) and idle.is_idle(self.thread)

    def waits_for_nothing(self) -> bool:
        """Return True if the loop is at rest, and has no timer and no file."""
        return self.is_at_rest() and idle.waits_for_nothing(self.thread)

    def close(self, seconds: float) -> None:
        """End the tasks and the loop, and wait for its thread for so many real seconds."""
        self._loop.call_soon_threadsafe(self._stop)
        self.thread.join(seconds)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._loop.call_soon(self._loop.call_soon, self._loop.stop)  # after the tasks have seen it
