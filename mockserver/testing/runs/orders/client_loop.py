"""The event loop of the clients that are coroutine functions: each is a task, and all share one thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from mockserver.server.http1 import real_time
from mockserver.testing.runs.orders.gate import ActorEnd, Gate, LoopIdle


class ClientLoop:
    """
    Lifetime: until `close`, at the end of one run.

    Args:
        gate: Of the run; what the loop reports is among its mail.

    Attributes:
        thread: The thread that runs it.
    """

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._loop = gate.loop = asyncio.new_event_loop()
        self._loop.time = real_time.seconds  # type: ignore[method-assign]  # a frozen clock would stop its timers
        self._tasks: list[asyncio.Task[None]] = []
        self._probes = 0
        self.thread = threading.Thread(target=self._serve, name="interleave loop", daemon=True)
        self.thread.start()

    def start_task(self, actor: str, make: Callable[[], Any]) -> None:
        """Run a client as a task."""
        loop, mail = self._loop, self._gate.mail

        async def run() -> None:
            raised: BaseException | None = None
            try:
                await make()
            except BaseException as failure:  # noqa: BLE001 - the way in which it ends is judged
                raised = failure
            mail.put(ActorEnd(actor, raised))

        loop.call_soon_threadsafe(lambda: self._tasks.append(loop.create_task(run())))
        mail.put(LoopIdle(0, {}))

    def probe(self) -> int:
        """Have the loop send a number, which is returned, once it has nothing to run."""
        self._probes += 1
        number, loop, mail = self._probes, self._loop, self._gate.mail

        def look() -> None:
            if len(getattr(loop, "_ready", ())) == 0:
                mail.put(LoopIdle(number, dict(self._gate.in_flight)))
            elif number == self._probes:  # else two probes would wait for each other
                loop.call_soon(look)

        loop.call_soon_threadsafe(look)
        return number

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
