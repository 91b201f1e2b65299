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
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from pathlib import PurePath
from types import FunctionType
from typing import Any, Final, NamedTuple

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


# The module of each function that sleeps, and the one that records in its place.
_SLEEPERS: Final[Mapping[str, tuple[str, Any]]] = {
    "time.sleep": ("time", _sleep),
    "asyncio.sleep": ("asyncio.tasks", _async_sleep),
    "Event.wait": ("threading", _wait),
}


def places_of_sleeps() -> list[Place]:
    """Return the places of functions that sleep: names of modules, defaults of parameters, and the method of an Event."""
    present = {"time.sleep": time.sleep, "asyncio.sleep": asyncio.sleep, "Event.wait": threading.Event.wait}
    for name, (module, _) in _SLEEPERS.items():
        if getattr(present[name], "__module__", "") == module:
            _STANDARD.setdefault(name, present[name])
    del present  # the references of the functions are counted below
    return list(_places({id(function): name for name, function in _STANDARD.items()}))


def _places(sleepers: Mapping[int, str]) -> Iterator[Place]:
    """
    Yield the places of functions, by the address of each.

    The names of 650 modules take 5 ms. All objects of the process, which take ten times as long, are searched only if a
    function has more references than these: those of a default, an attribute or a list.
    """
    modules = {id(module): module for name, module in list(sys.modules.items()) if name != __name__}
    spaces: set[int] = set()
    references = Counter[str]()
    for owner in (*modules.values(), threading.Event):
        space = getattr(owner, "__dict__", {})
        if not sleepers.keys().isdisjoint(map(id, list(space.values()))):
            spaces.add(id(space))
            for attribute, function in [(key, sleepers.get(id(value))) for key, value in list(space.items())]:
                if function is not None:
                    references[function] += 1
                    yield functools.partial(_put_name, owner, attribute, function)
    alone = [object()]  # which has one reference, that of the list, as a function has in `_STANDARD`
    if any(sys.getrefcount(_STANDARD[name]) > sys.getrefcount(alone[0]) + references[name] for name in _STANDARD):
        for holder, name in _functions_with_defaults(sleepers, spaces):
            yield functools.partial(_put_defaults, holder, name)


def _functions_with_defaults(sleepers: Mapping[int, str], spaces: Container[int]) -> Iterator[tuple[FunctionType, str]]:
    """
    Yield every function of the process that has one of these as a default, with the name of the default.

    Two passes of the collector, of 50 ms for a million objects each, are five times as fast as a look at each object; but
    the second one takes as long for each holder. Names of modules are no defaults, nor is what also holds a function that
    records: the places of an earlier run.
    """
    recording = {id(by) for _, by in _SLEEPERS.values()}
    holders = [
        holder
        for holder in gc.get_referrers(*_STANDARD.values())
        if id(holder) not in spaces and (held := _held_by(holder)) and recording.isdisjoint(map(id, held))
    ]
    for each in gc.get_referrers(*holders) if len(holders) <= _FEW else gc.get_objects():
        if type(each) is FunctionType:
            defaults = (*(each.__defaults__ or ()), *(each.__kwdefaults__ or {}).values())
            yield from ((each, name) for name in dict.fromkeys(sleepers.get(id(value)) for value in defaults) if name)


def _held_by(holder: Any) -> list[Any]:
    """Return the values of a dictionary or tuple, in a list at once: another thread may change the dictionary meanwhile."""
    if type(holder) is dict:
        return list(holder.values())
    return list(holder) if type(holder) is tuple else []


def _put_name(owner: Any, attribute: str, function: str, recording: bool) -> None:
    former, present = _exchanged(function, recording)
    if getattr(owner, attribute, None) is former:
        setattr(owner, attribute, present)


def _put_defaults(holder: Any, function: str, recording: bool) -> None:
    former, present = _exchanged(function, recording)
    if holder.__defaults__ is not None:
        holder.__defaults__ = tuple(present if each is former else each for each in holder.__defaults__)
    defaults = holder.__kwdefaults__ or {}
    defaults.update({name: present for name, each in defaults.items() if each is former})


def _exchanged(function: str, recording: bool) -> tuple[Any, Any]:
    """Return what a place holds and what it holds from now on."""
    own, by = _STANDARD[function], _SLEEPERS[function][1]
    return (own, by) if recording else (by, own)
