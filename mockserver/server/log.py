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
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Self, TextIO

QUEUE_MAX = 4_096  # texts that wait to be written
_CLOSE_SECONDS = 0.3
_GATHER_SECONDS = 0.05  # after the first text: each time that the thread wakes, the calls wait for the interpreter

Text = str | Callable[[], str]


class LogWriter:
    """
    Writes texts to a stream, None for one that is closed, in their order.

    `notice` returns the text that reports how many lines were dropped.
    Lifetime: its thread begins with the first text and ends with `close`, or with the process.
    """

    def __init__(self, stream: TextIO | None, notice: Callable[[int], str]) -> None:
        self._stream = stream
        self._notice = notice
        self._date = ""  # of the latest text that has one
        self._queue: list[Text] = []
        self._dropped = 0
        self._is_closed = False
        self._is_due = threading.Event()  # what waits is to be written now: half of the queue, or all at the end
        self._is_idle = True  # the thread waits for a text, or has not begun
        self._lock = threading.RLock()  # reentrant: a handler of a signal or a finalizer may write within a write
        self._changed = threading.Condition(self._lock)
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def write(self, text: Text, date: str | None = None) -> None:
        """
        Have the text written; a line ends in its own line end.

        Args:
            text: a function returns it when the thread writes it.
            date: is written before the text if the text with a date before it has another one.
        """
        if self._stream is None or self._is_closed:
            return
        with self._lock:
            waiting = len(self._queue)
            if waiting >= QUEUE_MAX:
                self._dropped += max(1, text.count("\n")) if isinstance(text, str) else 1
                return
            if date is not None and date != self._date:
                self._date, text = date, _dated(text, f"{date} ")
            self._queue.append(text)
            if self._is_idle:
                self._wake()
            elif waiting == QUEUE_MAX // 2:
                self._is_due.set()

    def _wake(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="mockserver log", daemon=True)
            self._thread.start()
        self._is_idle = False
        self._changed.notify()

    def close(self) -> None:
        """Accept no more texts, and wait a moment for the stream to accept those in the queue."""
        with self._lock:
            self._is_closed = True
            self._is_due.set()
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(_CLOSE_SECONDS)

    def _run(self) -> None:
        while texts := self._next():
            with suppress(OSError, ValueError):  # the stream is closed: its texts are lost, and the next may be too
                _write(self._stream, "".join(map(_as_text, texts)))

    def _next(self) -> list[Text]:
        """Return the next texts, after the last one the number of those dropped; empty at the end."""
        with self._changed:
            while not self._queue and not self._is_closed:
                self._is_idle = True
                self._changed.wait()
            self._is_idle = False
        if not self._is_closed:
            self._is_due.wait(_GATHER_SECONDS)
            self._is_due.clear()
        with self._lock:
            texts, self._queue = self._queue, []
            if self._dropped:
                texts.append(self._notice(self._dropped))
                self._dropped = 0
        return texts


def _dated(text: Text, begin: str) -> Text:
    """Return the text with its date as one, so that nothing is written between them."""
    return begin + text if isinstance(text, str) else lambda: begin + text()


def _as_text(text: Text) -> str:
    if isinstance(text, str):
        return text
    try:
        return text()
    except Exception:  # noqa: BLE001 - a bug of the mock must not end the log
        return traceback.format_exc()


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
