"""
What the runs of an exploration share in their process: random numbers, which are the same in each run, and sleeps.

1. A sleep is seen at its call: a loaded machine shows none, and a short one is seen. A function that a test or a library
   has put in the place of the standard one is left alone.
2. Neither freezegun nor time-machine replaces a function that sleeps, and none of the clocks that they replace is read here.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import random
import sys
import threading
import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from pathlib import PurePath
from types import FunctionType
from typing import Any, NamedTuple

from mockserver.core.instants import SECOND, Duration
from mockserver.testing.sandbox import Sandbox

_LEAST_S = 0.05  # of a run: shorter ones are those of a loop that waits for another thread
# Packages whose sleeps are no client's: they wait for a process, a thread or the next turn of a server's loop.
_OTHERS = ("mockserver", "threading", "subprocess", "concurrent", "multiprocessing", "asyncio", "uvicorn", "hypercorn")
_SEED = 20_260_301

Place = Callable[[bool], object]  # puts a function that records in the place of one that sleeps, or takes it out again


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
        places: See `places_of_sleeps`.
        sandbox: Of the run.

    Attributes:
        sleeps: The sleeps of the thread that began the run; `time.sleep` also of the threads that were started in it.
        sleeps_by_sandbox: `time.sleep` or `asyncio.sleep` was the sandbox's own when a call had been answered.
    """

    def __init__(self, places: Sequence[Place], sandbox: Sandbox) -> None:
        self.sleeps: list[Sleep] = []
        self.sleeps_by_sandbox = False
        self._sandbox = sandbox
        self._own = threading.get_ident()
        self._foreign = {thread.ident for thread in threading.enumerate()} - {self._own}
        self._places = places
        self._restore: list[Callable[[], object]] = []

    def start(self) -> None:
        """Seed the random numbers, and record the sleeps from here on."""
        self._restore.append(functools.partial(random.setstate, random.getstate()))
        random.seed(_SEED)
        numpy_random: Any = getattr(sys.modules.get("numpy"), "random", None)
        if numpy_random is not None:
            self._restore.append(functools.partial(numpy_random.set_state, numpy_random.get_state()))
            numpy_random.seed(_SEED)
        self._sandbox._hosted.add_listener(self._look)
        _ACTIVE.append(self)
        for place in self._places:
            place(True)

    def stop(self) -> None:
        """Restore what `start` has changed; a second call does nothing."""
        if self in _ACTIVE:
            _ACTIVE.remove(self)
            for place in self._places:
                place(bool(_ACTIVE))
            self._sandbox._hosted.remove_listener(self._look)
        while self._restore:
            self._restore.pop()()

    def longest(self) -> Sleep | None:
        """Return the longest sleep, or None if all of them together are too short to name."""
        if sum(sleep.seconds for sleep in self.sleeps) < _LEAST_S:
            return None
        return max(self.sleeps, key=lambda sleep: sleep.seconds)

    def note(self, seconds: object, function: str, caller: Any) -> Sleep | None:
        """Record a sleep if the run's own code asks for it, and return it."""
        thread = threading.get_ident()
        is_of_run = thread == self._own or (function == "time.sleep" and thread not in self._foreign)
        package = str(caller.f_globals.get("__name__", "")).partition(".")[0]
        if is_of_run and package not in _OTHERS and isinstance(seconds, int | float) and seconds > 0:
            place = f"{PurePath(caller.f_code.co_filename).name}:{caller.f_lineno}"
            after = self._sandbox._hosted.sandbox.journal.last_exchange
            self.sleeps.append(Sleep(seconds, function, place, after))
            return self.sleeps[-1]
        return None

    def slept(self, earlier: int, later: int) -> Duration:
        """Return the real sleep between two exchanges, by their numbers."""
        return round(sum(sleep.seconds for sleep in self.sleeps if earlier <= sleep.after < later) * SECOND)

    def _look(self) -> None:
        for sleep in (time.sleep, asyncio.sleep):
            owner = getattr(sleep, "__self__", None)  # the sandbox, or its `aio`
            self.sleeps_by_sandbox |= getattr(owner, "_sandbox", owner) is self._sandbox


_ACTIVE: list[RunInProcess] = []
_FEW = 10  # holders, for which a pass each takes less than a look at every object
_STANDARD: dict[
    str, Any
] = {}  # the library's own functions by name, once they were seen: a test may replace them before


def _note(seconds: object, function: str) -> Sleep | None:
    return _ACTIVE[-1].note(seconds, function, sys._getframe(2)) if _ACTIVE else None


def _sleep(seconds: float, /) -> None:
    _note(seconds, "time.sleep")
    _pause(seconds)


def _pause(seconds: float) -> None:
    _STANDARD["time.sleep"](seconds)


async def _async_sleep(delay: float, result: Any = None) -> Any:
    run, noted = _ACTIVE[-1:], _note(delay, "asyncio.sleep")
    try:
        return await _STANDARD["asyncio.sleep"](delay, result)
    except asyncio.CancelledError:  # as a task in the background that its client ends
        if noted is not None:
            run[0].sleeps.remove(noted)
        raise


def _wait(self: threading.Event, timeout: float | None = None) -> bool:
    is_set: bool = _STANDARD["Event.wait"](self, timeout)
    if not is_set:
        _note(timeout, "Event.wait")
    return is_set


def places_of_sleeps() -> list[Place]:
    """Return the places of functions that sleep: names of modules, defaults of parameters, and the method of an Event."""
    rows: list[tuple[str, Any, str, Any]] = [
        ("time.sleep", time.sleep, "time", _sleep),
        ("asyncio.sleep", asyncio.sleep, "asyncio.tasks", _async_sleep),
        ("Event.wait", threading.Event.wait, "threading", _wait),
    ]
    for name, present, module, _ in rows:
        if getattr(present, "__module__", "") == module:
            _STANDARD.setdefault(name, present)
    return list(_places({id(_STANDARD[name]): (_STANDARD[name], by) for name, _, _, by in rows if name in _STANDARD}))


def _places(pairs: Mapping[int, tuple[Any, Any]]) -> Iterator[Place]:
    """Yield the places of functions, each with the one that records, by the function's address."""
    modules = [module for name, module in list(sys.modules.items()) if name != __name__]
    for owner in (*modules, threading.Event):
        names = [(name, value) for name, value in list(getattr(owner, "__dict__", {}).items()) if id(value) in pairs]
        yield from (functools.partial(_put_name, owner, name, *pairs[id(value)]) for name, value in names)
    spaces = {id(getattr(module, "__dict__", None)) for module in sys.modules.values()}
    for function in _functions_with_defaults(pairs, spaces):
        defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
        for held in dict.fromkeys(id(value) for value in defaults if id(value) in pairs):
            yield functools.partial(_put_defaults, function, *pairs[held])


def _functions_with_defaults(pairs: Mapping[int, tuple[Any, Any]], spaces: Container[int]) -> Iterator[FunctionType]:
    """
    Yield every function of the process that may have one of these as a default.

    Two passes of the collector, of 50 ms for a million objects each, are five times as fast as a look at each object; but
    the second one takes as long for each holder. Names of modules are no defaults, nor is what also holds a function that
    records: the places of an earlier run.
    """
    recording = {id(by) for _, by in pairs.values()}
    holders = []
    for holder in gc.get_referrers(*(own for own, _ in pairs.values())):
        # In a list at once: another thread may change the dictionary meanwhile.
        held = list(holder.values() if type(holder) is dict else holder) if type(holder) in (dict, tuple) else []
        if held and id(holder) not in spaces and recording.isdisjoint(map(id, held)):
            holders.append(holder)
    candidates = gc.get_referrers(*holders) if len(holders) <= _FEW else gc.get_objects()
    return (each for each in candidates if type(each) is FunctionType)


def _put_name(owner: Any, name: str, own: Any, by: Any, recording: bool) -> None:
    former, present = (own, by) if recording else (by, own)
    if getattr(owner, name, None) is former:
        setattr(owner, name, present)


def _put_defaults(function: FunctionType, own: Any, by: Any, recording: bool) -> None:
    former, present = (own, by) if recording else (by, own)
    if function.__defaults__ is not None:
        function.__defaults__ = tuple(present if each is former else each for each in function.__defaults__)
    defaults = function.__kwdefaults__ or {}
    defaults.update({name: present for name, each in defaults.items() if each is former})
