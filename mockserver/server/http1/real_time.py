"""
A monotonic clock that runs while freezegun or time-machine has frozen the process's clock.

Not `time.monotonic`: time-machine up to 2.19 stops the function itself.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any


def _real(name: str) -> Callable[[], Any]:
    return getattr(sys.modules.get("freezegun.api"), f"real_{name}", None) or getattr(time, name)  # type: ignore[no-any-return]


# In tuples: freezegun replaces attributes of modules and not the items of a tuple.
_SECONDS = (_real("perf_counter"),)
_NANOSECONDS = (_real("perf_counter_ns"),)


def seconds() -> float:
    """Return the time in seconds, from any starting point."""
    now: float = _SECONDS[0]()
    return now


def microseconds() -> int:
    """Return the time in microseconds, from any starting point."""
    now: int = _NANOSECONDS[0]()
    return now // 1000
