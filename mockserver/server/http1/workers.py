"""
A bounded pool of threads for functions that would block the event loop.

A function may be run for someone, its lane. Of one lane one function runs at a time, in their order, so that those of
other lanes find a thread, however many one has.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Any

from mockserver.server.http1 import waits


@dataclass(frozen=True, slots=True)
class _Job:
    """A function to run, and the future of its result."""

    function: Callable[[], Any]
    future: asyncio.Future[Any]
    lane: Hashable


class Workers:
    """
    Threads that run functions for a loop.

    A thread starts when each of the others has a function. They are daemon threads: those of an executor would delay the
    end of the process. A thread that waits for another program (see `waits`) leaves its place in the pool and in its lane.
    All methods are called on the loop's thread.
    Lifetime: that of the loop.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, name: str, threads_max: int) -> None:
        self._loop = loop
        self._name = name
        self._threads_max = threads_max
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._lanes: dict[Hashable, deque[_Job]] = {}  # of each lane that has a function, those that wait for it
        self._threads: list[threading.Thread] = []
        self._placed = 0  # threads that have a place
        self._unfinished = 0  # functions that are queued, or run on such a thread
        self._is_stopping = False

    @property
    def threads(self) -> list[threading.Thread]:
        """The threads that are alive."""
        return [thread for thread in self._threads if thread.is_alive()]

    def run(self, function: Callable[[], Any], lane: Hashable = None) -> asyncio.Future[Any]:
        """
        Run the function on a thread, once one is free; after `stop` the future is canceled.

        Args:
            function: to run.
            lane: for whom; of the functions for one, one runs at a time. Those for None are not counted.
        """
        job = _Job(function, self._loop.create_future(), lane)
        if self._is_stopping:
            job.future.cancel()
        elif lane in self._lanes:
            self._lanes[lane].append(job)
        else:
            self._queue(job)
        return job.future

    def _queue(self, job: _Job) -> None:
        """Queue a function for the next free thread."""
        if job.lane is not None:
            self._lanes.setdefault(job.lane, deque())
        self._unfinished += 1
        self._jobs.put(job)
        self._grow()
        if not self._placed and not job.future.done():
            job.future.set_exception(RuntimeError("the system has no thread for a request"))

    def _grow(self) -> None:
        """Start a thread if each one has a function, and the pool may have another one."""
        if self._placed >= min(self._threads_max, self._unfinished) or self._is_stopping:
            return
        self._threads = self.threads  # without those that have ended
        thread = threading.Thread(target=self._work, name=f"{self._name} worker", daemon=True)
        with suppress(RuntimeError):  # no thread is available: one of the others, if there is one, runs the function
            thread.start()
            self._threads.append(thread)
            self._placed += 1

    def _advance(self, lane: Hashable) -> None:
        """Queue the next function of a lane."""
        waiting = self._lanes.get(lane)
        if waiting:
            self._queue(waiting.popleft())
        else:
            self._lanes.pop(lane, None)

    def _leave(self, lane: Hashable) -> None:
        """Count a thread no longer that waits for another program."""
        self._placed -= 1
        self._unfinished -= 1
        self._advance(lane)
        self._grow()

    def stop(self) -> None:
        """Make each thread end after the functions that are queued or wait in their lane."""
        for waiting in list(self._lanes.values()):
            while waiting:
                self._queue(waiting.popleft())
        self._is_stopping = True
        for _ in range(self._placed):
            self._jobs.put(None)

    def _work(self) -> None:
        while self._run_next():
            pass  # it refers to nothing of the last function

    def _run_next(self) -> bool:
        """Run the next function on the present thread; return False if the thread ends."""
        job = self._jobs.get()
        if job is None:
            return False
        place = waits.PoolPlace(partial(self._call_on_loop, self._leave, job.lane))
        waits.take(place)
        try:
            value = job.function()
        except Exception as failure:  # noqa: BLE001 - raised where the caller awaits the result
            self._call_on_loop(self._finish, job, place, None, failure)
        except BaseException as failure:  # noqa: BLE001 - an exit of this thread must not end the loop's
            self._call_on_loop(self._finish, job, place, None, RuntimeError(f"a worker got {failure!r}"))
        else:
            self._call_on_loop(self._finish, job, place, value, None)
        return not place.is_left

    def _call_on_loop(self, function: Callable[..., None], *arguments: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(function, *arguments)

    def _finish(self, job: _Job, place: waits.PoolPlace, value: Any, failure: Exception | None) -> None:
        if not place.is_left:
            self._unfinished -= 1
            self._advance(job.lane)
        if job.future.done():
            return  # it was canceled
        if failure is not None:
            job.future.set_exception(failure)
        else:
            job.future.set_result(value)
