"""The server's event loop: a selector loop of asyncio with a clock that freezegun and time-machine cannot stop."""

from __future__ import annotations

import asyncio
import selectors
import sys
import time


def _real_clock() -> object:
    """
    Return a monotonic clock in seconds that runs while a test has frozen the process's clock.

    Not `time.monotonic`: time-machine up to 2.19 stops the function itself.
    """
    return getattr(sys.modules.get("freezegun.api"), "real_perf_counter", time.perf_counter)


# At import, in a tuple: freezegun replaces attributes of modules and not the items of a tuple.
_REAL_CLOCK = (_real_clock(),)


class _Loop(asyncio.SelectorEventLoop):
    """A loop whose timers run by real time while a test has frozen the process's clock."""

    def time(self) -> float:
        seconds: float = _REAL_CLOCK[0]()  # type: ignore[operator]
        return seconds


def new_event_loop() -> asyncio.AbstractEventLoop:
    """
    Return a loop that is not the current loop of any thread.

    A selector loop on every system: the default loop of Windows has no `add_reader` and `add_writer`.
    """
    loop = _Loop(selectors.DefaultSelector())
    loop.set_debug(False)  # whatever the environment asks for: a debugging loop logs each call of some milliseconds
    return loop
