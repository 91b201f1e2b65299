"""A bounded pool of threads for what would hold up the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

_Job = tuple[Callable[[], Any], "asyncio.Future[Any]"]


class Workers:
    """
    Threads that run functions for a loop, started on demand.

    They are daemons: those of an executor would delay the end of the process.
    Lifetime: that of the loop.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, name: str, threads_max: int) -> None:
        self._loop = loop
        self._name = name
        self._threads_max = threads_max
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._pending = 0  # jobs that are not finished; of the loop's thread alone, as is the list
        self._threads: list[threading.Thread] = []

    @property
    def threads(self) -> list[threading.Thread]:
        """The threads that are alive."""
        return [thread for thread in self._threads if thread.is_alive()]

    def run(self, function: Callable[[], Any]) -> asyncio.Future[Any]:
        """Run the function on a thread, once one is free; called on the loop."""
        future: asyncio.Future[Any] = self._loop.create_future()
        self._pending += 1
        self._jobs.put((function, future))
        if len(self._threads) < min(self._pending, self._threads_max):
            thread = threading.Thread(target=self._work, name=f"{self._name} worker", daemon=True)
            with suppress(RuntimeError):  # no thread is available: one of the others runs the job
                thread.start()
                self._threads.append(thread)
        return future

    def stop(self) -> None:
        """Have each thread end after its job."""
        for _ in self._threads:
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            function, future = job
            result, failure = None, None
            try:
                result = function()
            except Exception as error:  # noqa: BLE001 - raised where the result is awaited
                failure = error
            except BaseException as error:  # noqa: BLE001 - an exit of this thread must not end the loop's
                failure = RuntimeError(f"a worker got {error!r}")
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._finish, future, result, failure)
            del job, function, future, result, failure

    def _finish(self, future: asyncio.Future[Any], result: Any, failure: Exception | None) -> None:
        self._pending -= 1
        if future.done():  # cancelled
            return
        if failure is not None:
            future.set_exception(failure)
        else:
            future.set_result(result)
