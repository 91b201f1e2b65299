"""
What the runs of an exploration share in their process: random numbers, which are the same in each run, and sleeps.

1. A sleep is seen at its call: a loaded machine shows none, and a short one is seen. The names `time.sleep` and
   `asyncio.sleep` are replaced while a run is on. A client that holds another reference, such as `from time import sleep`
   or a default, is not followed.
2. A function that a test or a library has put in the place of the standard one is left alone.
3. Neither freezegun nor time-machine replaces a function that sleeps, and none of the clocks that they replace is read here.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import random
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import PurePath
from types import BuiltinFunctionType, FrameType
from typing import Any, NamedTuple

from mockserver.core.instants import SECOND, Duration
from mockserver.testing.runs.bounds import NEED
from mockserver.testing.sandbox import Sandbox

_LEAST_S = 0.05  # of a run: shorter ones are those of a loop that waits for another thread
# Packages whose sleeps are no client's: they wait for a process, a thread or the next turn of a server's loop.
_OTHERS = ("mockserver", "threading", "subprocess", "concurrent", "multiprocessing", "asyncio", "uvicorn", "hypercorn")
_SEED = 20_260_301
_TZ = "TZ"


class Sleep(NamedTuple):
    """One real sleep: seconds, the function, the place of its call, such as `client.py:12`, and the last exchange before it."""

    seconds: float
    function: str
    place: str
    after: int

    def __str__(self) -> str:
        return f"{self.seconds:.3g} s by {self.function} at {self.place}"


class RunInProcess:
    """
    One run: while it is active its random numbers are those of every other run, and its real sleeps are recorded.

    Lifetime: one run. Of a run within another one the inner one records.

    Args:
        sandbox: Of the run.

    Attributes:
        sleeps: The sleeps of the thread that began the run; `time.sleep` also of the threads that were started in it.
        sleeps_by_sandbox: `time.sleep` or `asyncio.sleep` was the sandbox's own when a call had been answered.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self.sleeps: list[Sleep] = []
        self.sleeps_by_sandbox = False
        self._sandbox, self._hosted = sandbox, sandbox.local(NEED)
        self._own = threading.get_ident()
        self._foreign = {thread.ident for thread in threading.enumerate()} - {self._own}
        self._standard: dict[str, Any] = {}
        self._restore = ExitStack()

    def start(self, time_zone: str | None = None) -> None:
        """Seed the random numbers, and record the sleeps from here on; let the process have another time zone, if one is given."""
        restore = self._restore.callback
        if time_zone is not None:
            restore(_set_time_zone, os.environ.get(_TZ))
            _set_time_zone(time_zone)
        restore(random.setstate, random.getstate())
        random.seed(_SEED)
        self._hosted.listeners.append(self._look)
        restore(self._hosted.remove_listener, self._look)
        self._record(time, self._recording_sleep())
        self._record(asyncio, self._recording_async_sleep())

    def stop(self) -> None:
        """Restore what `start` has changed; a second call does nothing."""
        self._restore.close()

    def standard(self, function: str) -> Any:
        """Return the function of the library in whose place another one records, such as `time.sleep`."""
        return self._standard[function]

    def longest(self) -> Sleep | None:
        """Return the longest sleep, or None if all of them together are too short to name."""
        if sum(sleep.seconds for sleep in self.sleeps) < _LEAST_S:
            return None
        return max(self.sleeps, key=lambda sleep: sleep.seconds)

    def slept(self, earlier: int, later: int) -> Duration:
        """Return the real sleep between two exchanges, by their numbers."""
        return round(sum(sleep.seconds for sleep in self.sleeps if earlier <= sleep.after < later) * SECOND)

    def _look(self) -> None:
        for sleep in (time.sleep, asyncio.sleep):
            owner = getattr(sleep, "__self__", None)  # the sandbox, or its `aio`
            self.sleeps_by_sandbox |= getattr(owner, "sandbox", owner) is self._sandbox

    def _record(self, module: Any, recording: Callable[..., Any]) -> None:
        """Replace the module's `sleep`, if it is the standard one, by one that records."""
        former = module.sleep

        def put_back() -> None:
            if module.sleep is recording:
                module.sleep = former

        if _is_standard(former):
            self._standard[f"{module.__name__}.sleep"] = former
            module.sleep = recording
            self._restore.callback(put_back)

    def _recording_sleep(self) -> Callable[[float], None]:
        def sleep(seconds: float, /) -> None:
            self._note(seconds, "time.sleep", inspect.currentframe())
            self.standard("time.sleep")(seconds)

        return sleep

    def _recording_async_sleep(self) -> Callable[..., Any]:
        async def sleep(delay: float, result: Any = None) -> Any:
            noted = self._note(delay, "asyncio.sleep", inspect.currentframe())
            try:
                return await self.standard("asyncio.sleep")(delay, result)
            except asyncio.CancelledError:  # as a task in the background that its client ends
                if noted is not None:
                    self.sleeps.remove(noted)
                raise

        return sleep

    def _note(self, seconds: object, function: str, frame: FrameType | None) -> Sleep | None:
        """Record a sleep if the run's own code asks for it, by the frame of the function that records, and return it."""
        caller = frame and frame.f_back
        thread = threading.get_ident()
        is_of_run = thread == self._own or (function == "time.sleep" and thread not in self._foreign)
        if caller is None or not is_of_run or not isinstance(seconds, int | float) or seconds <= 0:
            return None
        if str(caller.f_globals.get("__name__", "")).partition(".")[0] in _OTHERS:
            return None
        place = f"{PurePath(caller.f_code.co_filename).name}:{caller.f_lineno}"
        sleep = Sleep(seconds, function, place, self._hosted.sandbox.journal.last_exchange)
        self.sleeps.append(sleep)
        return sleep


def _set_time_zone(name: str | None) -> None:
    """Set the time zone of the process, None for that of the machine; not every platform can."""
    if name is None:
        del os.environ[_TZ]
    else:
        os.environ[_TZ] = name
    if sys.platform != "win32":
        time.tzset()


def _is_standard(function: Any) -> bool:
    """Return True for a function of the library, and for one that records in its place for a run around this one."""
    if isinstance(function, BuiltinFunctionType):
        return function.__module__ == time.__name__
    space = getattr(function, "__globals__", None)
    return space is vars(asyncio.tasks) or space is globals()
