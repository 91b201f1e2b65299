"""Waits for what another thread or process does, in real time."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_SECONDS = 60.0  # of a test that fails; one that passes never waits as long, however busy the machine is
_REAL = (time.monotonic, time.sleep)  # as they are before a test freezes the process


def wait_until(holds: Callable[[], bool]) -> None:
    """Return once the condition holds; fail if it does not within `PATIENCE_SECONDS`."""
    now, sleep = _REAL
    end = now() + PATIENCE_SECONDS
    while not holds():
        assert now() < end, f"the condition did not hold within {PATIENCE_SECONDS:g} s"
        sleep(0.005)
