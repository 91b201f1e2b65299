"""
A bounded pool of threads for functions that would block the event loop, shared fairly.

A function may be run for someone, its lane. Of one lane one function runs at a time and the others wait aside, so that
those of other lanes find a thread, however many one has.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Hashable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from mockserver.server.http1 import waits

_GROWTH_DELAY_SECONDS = 0.005
# Functions of one lane that run at a time. Each one more competes with the event loop for the interpreter, and two for a
# sandbox mostly for its lock.
LANE_MAX = 1


class _Lane:
    """
    The functions that are run for one.

    Attributes:
        aside: those beyond its share, in order; only the loop's thread changes them, and `started`.
        started: the number of those that are queued for a thread or run.
        waiting: the number among them that wait for another program.
    """

    __slots__ = ("aside", "key", "started", "waiting")

    def __init__(self, key: Hashable) -> None:
        self.key = key
        self.aside: deque[_Job] = deque()
        self.started = 0
        self.waiting = 0

    @property
    def has_room(self) -> bool:
        return self.started - self.waiting < LANE_MAX


class _Job:
    """A function to run, and the future of its result, until a thread takes the two."""

    __slots__ = ("lane", "work")

    def __init__(self, function: Callable[[], Any], future: asyncio.Future[Any], lane: _Lane | None) -> None:
        self.work: tuple[Callable[[], Any], asyncio.Future[Any]] | None = (function, future)
        self.lane = lane

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
    (see `waits.waiting`) does not count for the bound, nor for that of its lane.
    Lifetime: that of the loop.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, name: str, threads_max: int) -> None:
        self._loop = loop
        self._name = name
        self._threads_max = threads_max
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []  # only the loop's thread changes the list, and the next number
        self._unfinished = 0  # functions that are not aside, and whose result the loop does not have yet
        self._lanes: dict[Hashable, _Lane] = {}  # those that have a function; only the loop's thread changes them
        self._present = threading.local()  # the lane of the function that a thread runs
        self._is_stopping = False
        self._lock = threading.Lock()  # of the two numbers that follow, and of those that wait in a lane
        self._running = 0  # threads that have not ended
        self._waiting = 0  # threads among them that wait for another program

    @property
    def threads(self) -> list[threading.Thread]:
        """The threads that are alive."""
        return [thread for thread in self._threads if thread.is_alive()]

    def run(self, function: Callable[[], Any], lane: Hashable = None) -> asyncio.Future[Any]:
        """
        Run the function on a thread, once one is free; called on the loop. After `stop` the future is canceled.

        Args:
            function: to run.
            lane: for whom; of the functions for one, `LANE_MAX` run at a time. Those for None are not counted.
        """
        future: asyncio.Future[Any] = self._loop.create_future()
        if self._is_stopping:
            future.cancel()
            return future
        own = None if lane is None else self._lanes.setdefault(lane, _Lane(lane))
        job = _Job(function, future, own)
        if own is None or own.has_room:
            self._queue(job)
        else:
            own.aside.append(job)
        if not self._threads:
            future.set_exception(RuntimeError("the system has no thread for a request"))
        return future

    def _queue(self, job: _Job) -> None:
        """Queue a function for the next free thread."""
        if job.lane is not None:
            job.lane.started += 1
        self._jobs.put(job)
        self._unfinished += 1
        if not self._threads:
            self._start_thread()
        elif self._has_room:
            self._loop.call_later(_GROWTH_DELAY_SECONDS, self._grow, job)

    def _advance(self, lane: _Lane) -> None:
        """Queue what the lane has aside, as far as it has room."""
        while lane.aside and (lane.has_room or self._is_stopping):
            self._queue(lane.aside.popleft())
        if not lane.started and self._lanes.get(lane.key) is lane:
            del self._lanes[lane.key]

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
        lane = self._present.lane
        with self._lock:
            self._waiting += 1
            if lane is not None:
                lane.waiting += 1
        # A function that is queued later finds the room itself. Of a lane the loop may be about to put one aside, so it looks.
        if not self._jobs.empty() or lane is not None:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._replace_waiting, lane)

    def end_wait(self) -> None:
        """Count the present thread again."""
        with self._lock:
            self._waiting -= 1
            if self._present.lane is not None:
                self._present.lane.waiting -= 1

    def _replace_waiting(self, lane: _Lane | None) -> None:
        if lane is not None:
            self._advance(lane)
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
        for lane in list(self._lanes.values()):
            self._advance(lane)
        for _ in self._threads:
            self._jobs.put(None)

    def _work(self) -> None:
        waits.join(self)
        while not self._ends_surplus() and (job := self._jobs.get()) is not None:
            function, future = job.take()
            self._present.lane = job.lane
            result = _JobResult(future, job.lane)
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
        if result.lane is not None:
            result.lane.started -= 1
            self._advance(result.lane)
        result.set_future()


class _JobResult:
    """The value or exception of a function, until the loop takes it; then the thread no longer refers to it."""

    __slots__ = ("_future", "failure", "lane", "value")

    def __init__(self, future: asyncio.Future[Any], lane: _Lane | None) -> None:
        self.lane = lane
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
