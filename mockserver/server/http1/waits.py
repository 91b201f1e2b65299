"""
The place of a thread in its pool, which it leaves before it waits for another program.

That program may itself send a request, which needs a thread: a pool could be full of threads that wait for each other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class PoolPlace:
    """
    The place of one function in a pool.

    Attributes:
        is_left: True once another thread has the place; the present one ends with its function.
    """

    def __init__(self, on_leave: Callable[[], object]) -> None:
        self.is_left = False
        self._on_leave = on_leave

    def leave(self) -> None:
        """Let another function run in place of the present one; a second call does nothing."""
        if not self.is_left:
            self.is_left = True
            self._on_leave()


class _Present(threading.local):
    """The place of the function that the present thread runs, if it belongs to a pool."""

    place: PoolPlace | None = None


_PRESENT = _Present()


def take(place: PoolPlace) -> None:
    """Have the function that runs next on the present thread leave this place when it waits."""
    _PRESENT.place = place


def leave_place() -> None:
    """Leave the place of the present thread, if it has one, before it waits for another program."""
    if _PRESENT.place is not None:
        _PRESENT.place.leave()
