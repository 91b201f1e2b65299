"""The server's event loop: a selector loop of asyncio with a clock that freezegun and time-machine cannot stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from mockserver.server.http1 import real_time


class ServerLoop(asyncio.SelectorEventLoop):
    """
    A loop whose timers run by a clock of its own; it is not the current loop of any thread.

    A selector loop on every system: the default loop of Windows has no `add_reader`.

    Args:
        clock: the seconds by which its timers run; by default real time, also while a test has frozen the process's clock.
    """

    def __init__(self, clock: Callable[[], float] = real_time.seconds) -> None:
        self._seconds = clock
        super().__init__()
        self.set_debug(False)  # whatever the environment asks for: a debugging loop logs each call of some milliseconds

    def time(self) -> float:
        return self._seconds()
