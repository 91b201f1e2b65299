"""The server's event loop: a selector loop of asyncio with a clock that freezegun and time-machine cannot stop."""

from __future__ import annotations

import asyncio
import selectors

from mockserver.server.http1 import real_time


class _Loop(asyncio.SelectorEventLoop):
    """A loop whose timers run by real time while a test has frozen the process's clock."""

    def time(self) -> float:
        return real_time.seconds()


def new_event_loop() -> asyncio.AbstractEventLoop:
    """
    Return a loop that is not the current loop of any thread.

    A selector loop on every system: the default loop of Windows has no `add_reader` and `add_writer`.
    """
    loop = _Loop(selectors.DefaultSelector())
    loop.set_debug(False)  # whatever the environment asks for: a debugging loop logs each call of some milliseconds
    return loop
