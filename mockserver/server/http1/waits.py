"""
Waits of a pool's threads for other programs.

A program for which a thread waits may itself send a request, which needs a thread: a pool could be full of threads that
wait for each other. It gets another thread for each one that waits.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Pool(Protocol):
    """A bounded pool of threads."""

    def begin_wait(self) -> None:
        """Let another thread run while the present one, which belongs to the pool, waits."""

    def end_wait(self) -> None:
        """Count the present thread again."""


class _Present(threading.local):
    """The pool of the present thread, if it belongs to one."""

    pool: Pool | None = None


_PRESENT = _Present()


def join(pool: Pool) -> None:
    """Make the present thread one of this pool, until its end."""
    _PRESENT.pool = pool


@contextmanager
def waiting() -> Iterator[None]:
    """Do not count the present thread in its pool's bound while the block waits for another program."""
    pool = _PRESENT.pool
    if pool is not None:
        pool.begin_wait()
    try:
        yield
    finally:
        if pool is not None:
            pool.end_wait()
