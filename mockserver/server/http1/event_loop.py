"""The server's event loop: a selector loop of asyncio with a clock that freezegun and time-machine cannot stop."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable

from mockserver.server.http1 import real_time


class _Selector(selectors.DefaultSelector):
    """Calls functions before it waits for events."""

    def __init__(self) -> None:
        super().__init__()
        self.before_wait: list[Callable[[], bool]] = []

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if self.before_wait:
            functions, self.before_wait = self.before_wait, []
            if True in [function() for function in functions]:
                timeout = 0  # it was computed before
        return super().select(timeout)


class ServerLoop(asyncio.SelectorEventLoop):
    """A loop whose timers run by a clock of its own."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._own_selector = _Selector()
        super().__init__(self._own_selector)

    def time(self) -> float:
        return self._clock()

    def call_before_wait(self, function: Callable[[], bool]) -> None:
        """
        Call a function once, when everything that is ready now has run, before the loop waits for events.

        It raises nothing, and returns True if it has scheduled a call.
        """
        self._own_selector.before_wait.append(function)


def new_event_loop(clock: Callable[[], float] = real_time.seconds) -> ServerLoop:
    """
    Return a loop that is not the current loop of any thread.

    A selector loop on every system: the default loop of Windows has no `add_reader` and `add_writer`.

    Args:
        clock: the seconds by which its timers run; by default real time, also while a test has frozen the process's clock.
    """
    loop = ServerLoop(clock)
    loop.set_debug(False)  # whatever the environment asks for: a debugging loop logs each call of some milliseconds
    return loop
