"""The server's event loop: a selector loop of asyncio with a clock that freezegun and time-machine cannot stop."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable

from mockserver.server.http1 import real_time


class _Loop(asyncio.SelectorEventLoop):
    """A loop whose timers run by a clock of its own."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        super().__init__(selectors.DefaultSelector())

    def time(self) -> float:
        return self._clock()


def new_event_loop(clock: Callable[[], float] = real_time.seconds) -> asyncio.AbstractEventLoop:
    """
    Return a loop that is not the current loop of any thread.

    A selector loop on every system: the default loop of Windows has no `add_reader` and `add_writer`.

    Args:
        clock: the seconds by which its timers run; by default real time, also while a test has frozen the process's clock.
    """
    loop = _Loop(clock)
    loop.set_debug(False)  # whatever the environment asks for: a debugging loop logs each call of some milliseconds
    return loop
