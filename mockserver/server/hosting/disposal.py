"""
Disposal of the records that a reset discards: in slices, in a thread of its own, while calls run.

Freeing 30,000 calls takes 30 ms and holds the interpreter's lock. A slice takes less than a millisecond, and the pause
after it lets every other thread run.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping

from mockserver.core.state.sandbox import Discarded

_INLINE_MAX = 200  # records that the caller frees: less than what a thread costs
_SLICE = 200
_PAUSE_SECONDS = 0.001


def _pause() -> None:
    """Let the other threads run. An event waits in C: no test that replaces `time.sleep` sees it."""
    threading.Event().wait(_PAUSE_SECONDS)


class Disposal:
    """
    The discarded tables of one host's sandboxes.

    Args:
        pause: lets other threads run between two slices.

    Lifetime: the host's; the thread ends when nothing is left, and the end of the process does not wait for it.
    """

    def __init__(self, pause: Callable[[], None] = _pause) -> None:
        self._pause = pause
        self._lock = threading.Lock()
        self._tables: deque[Discarded] = deque()
        self._thread: threading.Thread | None = None

    def add(self, discarded: Discarded) -> None:
        """Free these tables, to which no other code holds a reference; a few records are left to the caller's return."""
        if sum(map(len, discarded)) <= _INLINE_MAX:
            return
        with self._lock:
            self._tables.append(discarded)
            if self._thread is None or not self._thread.is_alive():  # a fork leaves the thread behind
                self._thread = threading.Thread(target=self._run, name="mockserver disposal", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while (tables := self._next()) is not None:
            rest = list(tables)
            del tables
            while rest:
                self._free(rest)

    def _next(self) -> Discarded | None:
        with self._lock:
            if self._tables:
                return self._tables.popleft()
            self._thread = None
            return None

    def _free(self, rest: list[Collection[object]]) -> None:
        """Free the last one of these tables."""
        self._pause()
        table = rest.pop()
        # A copy: a call that began before the reset may still read the table.
        rows = list(table.values()) if isinstance(table, Mapping) else list(table)
        del table
        while rows:
            del rows[-_SLICE:]
            self._pause()
