"""The event loop: uvloop's if that is installed, else asyncio's by a clock that nothing freezes."""

from __future__ import annotations

import asyncio
import selectors
import sys
import time


def _monotonic() -> object:
    """Return the process's own clock, also where freezegun has replaced the name in the module."""
    return getattr(sys.modules.get("freezegun.api"), "real_monotonic", time.monotonic)


# At import, in a tuple: freezegun replaces attributes of modules and not the items of a tuple.
_MONOTONIC = (_monotonic(),)


class _Loop(asyncio.SelectorEventLoop):
    """A loop whose timers run by real time, while freezegun or time-machine freezes the process's clock."""

    def time(self) -> float:
        seconds: float = _MONOTONIC[0]()  # type: ignore[operator]
        return seconds


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return a loop that is no thread's current loop yet."""
    try:
        import uvloop  # type: ignore[import-not-found, unused-ignore]  # an extra
    except ImportError:
        loop: asyncio.AbstractEventLoop = _Loop(selectors.DefaultSelector())
    else:
        loop = uvloop.new_event_loop()
    loop.set_debug(False)  # whatever the environment asks for: a debugging loop logs each call of a moment
    return loop
