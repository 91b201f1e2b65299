"""The cost of an action as a number of steps, which no busy machine changes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def python_calls(action: Callable[[], Any]) -> int:
    """How many Python functions this thread calls while the action runs."""
    count = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    former = sys.getprofile()
    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(former)
    return count
