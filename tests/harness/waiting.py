"""Waits for what another thread or process does, in real time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

PATIENCE_SECONDS = 60.0  # of a test that fails; one that passes never waits as long, however busy the machine is
_now = time.monotonic  # as it is before a test freezes the process
_HELD = threading.Lock()  # for good: a wait for it is no sleep that an exploration looks for
_HELD.acquire()


def wait_until(holds: Callable[[], bool]) -> None:
    """Return once the condition holds; fail if it does not within `PATIENCE_SECONDS`."""
    end = _now() + PATIENCE_SECONDS
    while not holds():
        assert _now() < end, f"the condition did not hold within {PATIENCE_SECONDS:g} s"
        _HELD.acquire(timeout=0.005)
