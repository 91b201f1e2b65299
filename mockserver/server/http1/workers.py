"""A bounded pool of threads for functions that would block the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from mockserver.server.http1 import waits

_GROWTH_DELAY_SECONDS = 0.005


class _Job:
    """A function to run, and the future of its result, until a thread takes the two."""

    __slots__ = ("work",)

    def __init__(self, function: Callable[[], Any], future: asyncio.Future[Any]) -> None:
        self.work: tuple[Callable[[], Any], asyncio.Future[Any]] | None = (function, future)

    def take(self) -> tuple[Callable[[], Any], asyncio.Future[Any]]:
        """Return the function and the future; a timer that still refers to this job then refers to neither of them."""
        assert self.work is not None
        work, self.work = self.work, None
        return work


class Workers:
    """
    Threads that run functions for a loop.

    The first thread starts with the first function, another one when a function has waited some milliseconds and every
    thread has one: many short functions need few threads, and so does a machine that lets no thread run for a while. They
    are daemon threads: those of an executor would delay the end of the process. A thread that waits for another program
    (see `waits.waiting`) does not count for the bound.
    Lifetime: that of the loop.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, name: str, threads_max: int) -> None:
        self._loop = loop
        self._name = name
        self._threads_max = threads_max
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []  # only the loop's thread changes the list, and the next number
        self._unfinished = 0  # functions whose result the loop does not have yet
        self._is_stopping = False
        self._lock = threading.Lock()  # of the two numbers that follow
        self._running = 0  # threads that have not ended
        self._waiting = 0  # threads among them that wait for another program

    @property
    def threads(self) -> list[threading.Thread]:
        """The threads that are alive."""
        return [thread for thread in self._threads if thread.is_alive()]

    def run(self, function: Callable[[], Any]) -> asyncio.Future[Any]:
        """Run the function on a thread, once one is free; called on the loop. After `stop` the future is canceled."""
        future: asyncio.Future[Any] = self._loop.create_future()
        if self._is_stopping:
            future.cancel()
            return future
        job = _Job(function, future)
        self._jobs.put(job)
        self._unfinished += 1
        if not self._threads:
            self._start_thread()
            if not self._threads:
                future.set_exception(RuntimeError("the system has no thread for a request"))
        elif self._has_room:
            self._loop.call_later(_GROWTH_DELAY_SECONDS, self._grow, job)
        return future

    def _grow(self, job: _Job) -> None:
        # A thread that starts after `stop` would never end.
        if job.work is not None and self._has_room and not self._is_stopping:
            self._start_thread()

    @property
    def _has_room(self) -> bool:
        """True if the pool may have another thread, and each of its threads has a function."""
        return self._running < min(self._threads_max + self._waiting, self._unfinished)

    def begin_wait(self) -> None:
        """Start a thread for the functions that are queued, in place of the present one, which will wait."""
        with self._lock:
            self._waiting += 1
        if not self._jobs.empty():  # a function that is queued later finds the room itself
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._replace_waiting)

    def end_wait(self) -> None:
        """Count the present thread again."""
        with self._lock:
            self._waiting -= 1

    def _replace_waiting(self) -> None:
        if not self._jobs.empty() and self._has_room and not self._is_stopping:
            self._start_thread()

    def _start_thread(self) -> None:
        self._threads = self.threads  # without those that have ended
        thread = threading.Thread(target=self._work, name=f"{self._name} worker", daemon=True)
        with self._lock:
            self._running += 1
        try:
            thread.start()
        except RuntimeError:  # no thread is available: one of the others, if there is one, runs the job
            with self._lock:
                self._running -= 1
        else:
            self._threads.append(thread)

    def stop(self) -> None:
        """Make each thread end after the jobs that are queued."""
        self._is_stopping = True
        for _ in self._threads:
            self._jobs.put(None)

    def _work(self) -> None:
        waits.join(self)
        while not self._ends_surplus() and (job := self._jobs.get()) is not None:
            function, future = job.take()
            result = _JobResult(future)
            try:
                result.value = function()
            except Exception as error:  # noqa: BLE001 - raised where the caller awaits the result
                result.failure = error
            except BaseException as error:  # noqa: BLE001 - an exit of this thread must not end the loop's
                result.failure = RuntimeError(f"a worker got {error!r}")
            del job, function, future
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._finish, result)
            del result

    def _ends_surplus(self) -> bool:
        """Return True if the present thread ends, since the pool has more threads than its bound after some waited."""
        with self._lock:
            is_surplus = self._running - self._waiting > self._threads_max
            self._running -= is_surplus
            return is_surplus

    def _finish(self, result: _JobResult) -> None:
        self._unfinished -= 1
        result.set_future()


class _JobResult:
    """The value or exception of a function, until the loop takes it; then the thread no longer refers to it."""

    __slots__ = ("_future", "failure", "value")

    def __init__(self, future: asyncio.Future[Any]) -> None:
        self._future: asyncio.Future[Any] | None = future
        self.value: Any = None
        self.failure: Exception | None = None

    def set_future(self) -> None:
        """Set the future, unless it was canceled."""
        future, self._future = self._future, None
        value, self.value = self.value, None
        failure, self.failure = self.failure, None
        if future is None or future.done():
            return
        if failure is not None:
            future.set_exception(failure)
        else:
            future.set_result(value)
