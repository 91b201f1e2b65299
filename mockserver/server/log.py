"""
Logs that never delay or break a call: texts wait in a bounded queue for a thread of its own.

1. `write` returns immediately and never raises, also if the stream is closed, full or never read.
2. A text beyond the queue's bound is dropped and counted; the count is written once the stream accepts texts again.
3. The thread writes to the descriptor itself. It holds no lock of a Python stream, which would stop the interpreter's exit.
"""

from __future__ import annotations

import io
import os
import select
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import Any, Self, TextIO

QUEUE_MAX = 4_096  # texts that wait to be written
_CLOSE_SECONDS = 0.3
_GATHER_SECONDS = 0.05  # after the first text: each time that the thread wakes, the calls wait for the interpreter


# With its date, or None.
_Text = tuple[str, str | None]


class LogWriter:
    """
    Writes texts to a stream, None for one that is closed, in their order.

    `notice` returns the text that reports how many lines were dropped.
    Lifetime: its thread ends with `close`, or with the process.
    """

    def __init__(self, stream: TextIO | None, notice: Callable[[int], str]) -> None:
        self._stream = stream
        self._notice = notice
        # This queue has no lock of Python: a handler of a signal or a finalizer may write within a write.
        self._queue: SimpleQueue[_Text | None] = SimpleQueue()  # None wakes the thread at the end
        self._date = ""  # of the latest text that has one; of the thread alone
        self._is_due = threading.Event()  # what waits is to be written now: half of the queue, or all at the end
        self._is_closed = False
        self._dropped = 0
        self._lock = threading.RLock()  # of `_dropped`
        self._thread = threading.Thread(target=self._run, name="mockserver log", daemon=True)
        if stream is not None:
            self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def write(self, text: str, date: str | None = None) -> None:
        """
        Have the text written; a line ends in its own line end.

        `date` is written before the text if the text with a date before it has another one.
        """
        if self._stream is None or self._is_closed:
            return
        waiting = self._queue.qsize()
        if waiting >= QUEUE_MAX:
            with self._lock:
                self._dropped += max(1, text.count("\n"))
            return
        self._queue.put((text, date))
        if waiting >= QUEUE_MAX // 2:
            self._is_due.set()

    def close(self) -> None:
        """Accept no more texts, and wait a moment for the stream to accept those in the queue."""
        if self._stream is None or self._is_closed:
            return
        self._is_closed = True
        self._queue.put(None)
        self._is_due.set()
        self._thread.join(_CLOSE_SECONDS)

    def _run(self) -> None:
        while texts := self._next():
            self._write_all([self._dated(text, date) for text, date in texts])
        self._write_all([])  # what was dropped since

    def _write_all(self, pieces: list[str]) -> None:
        """Write the texts, and how many were dropped, if there are any."""
        dropped = self._take_dropped()
        if dropped:
            pieces.append(self._notice(dropped))
        if not pieces:
            return
        with suppress(OSError, ValueError):  # the stream is closed: its texts are lost, and the next may be too
            _write(self._stream, "".join(pieces))

    def _next(self) -> list[_Text]:
        """Return the texts that wait, once there is one and others had a moment to follow it; none at the end."""
        if self._is_closed and self._queue.empty():
            return []
        first = self._queue.get()
        if not self._is_closed:
            self._is_due.wait(_GATHER_SECONDS)
            self._is_due.clear()
        others = [self._queue.get() for _ in range(self._queue.qsize())]
        return [entry for entry in (first, *others) if entry is not None]

    def _take_dropped(self) -> int:
        with self._lock:
            dropped, self._dropped = self._dropped, 0
        return dropped

    def _dated(self, text: str, date: str | None) -> str:
        """Return a text, with its date if the one before has another."""
        if date is None or date == self._date:
            return text
        self._date = date
        return f"{date} {text}"


def _write(stream: Any, text: str) -> None:
    try:
        descriptor = stream.fileno()
    except (OSError, AttributeError):  # a stream in memory
        stream.write(text)
        stream.flush()
        return
    left = memoryview(text.encode(getattr(stream, "encoding", None) or "utf-8", "backslashreplace"))
    while left:
        left = left[_write_some(descriptor, left) :]


def _write_some(descriptor: int, content: memoryview) -> int:
    """Write the beginning of the content and return its size in bytes, 0 after a wait."""
    try:
        return os.write(descriptor, content)
    except BlockingIOError:  # a terminal that another program has made non-blocking
        if sys.platform == "win32":  # `select` waits for sockets only there, and no terminal is non-blocking
            raise
        select.select([], [descriptor], [])
        return 0


class _Errors(io.TextIOBase):
    """`sys.stderr` in place of one that may block."""

    def __init__(self, writer: LogWriter) -> None:
        self._writer = writer

    def write(self, text: str) -> int:
        self._writer.write(text)
        return len(text)


@contextmanager
def unblocked_stderr(notice: Callable[[int], str]) -> Iterator[LogWriter]:
    """Send everything that this process writes to `sys.stderr` through a writer, tracebacks and warnings too."""
    before = sys.stderr
    with LogWriter(before, notice) as writer:
        sys.stderr = _Errors(writer)
        try:
            yield writer
        finally:
            sys.stderr = before
