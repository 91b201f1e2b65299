"""
A stream over a socket, on the event loop: batches of events, at most ten a second, and a heartbeat in silence.

A reader costs a coroutine and no thread. Its queue is the journal itself: a reader that does not read gets, once it reads
again, the events since its place or, beyond a bound, the number of those that it missed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Final, Protocol

INTERVAL_SECONDS: Final = 0.1  # between two batches
HEARTBEAT_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.25  # background workers notify no listener of a delivery
_HEARTBEAT: Final = b": heartbeat\n\n"

Listener = Callable[[], None]
ReadBatch = Callable[[], Awaitable[str | None]]


class Observed(Protocol):
    """A sandbox that notifies its listeners after each call and each command, in any thread."""

    listeners: list[Listener]


class _Wakeup:
    """Ends the wait of one reader; a notification reads one flag until the reader has read."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._is_notified = False
        self._waiting: asyncio.Future[None] | None = None

    def notify(self) -> None:
        """End the present wait, or the next one; called in any thread."""
        if not self._is_notified:
            self._is_notified = True
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._end)

    def clear(self) -> None:
        self._is_notified = False

    async def wait(self, seconds: float) -> None:
        """Wait for a notification since `clear`, for this time at most."""
        if self._is_notified:
            return
        self._waiting = self._loop.create_future()
        timer = self._loop.call_later(seconds, self._end)
        try:
            await self._waiting
        finally:
            timer.cancel()
            self._waiting = None

    def _end(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


async def pieces(observed: Observed, begin: bytes, read: ReadBatch) -> AsyncIterator[bytes]:
    """
    Yield the bytes of a stream until its sandbox is closed.

    Args:
        observed: the sandbox.
        begin: the first bytes.
        read: returns the events since its last call, as text; None once the sandbox is closed.
    """
    loop, wakeup = asyncio.get_running_loop(), _Wakeup()
    observed.listeners.append(wakeup.notify)
    try:
        yield begin
        last = loop.time()
        while True:
            wakeup.clear()
            text = await read()
            if text is None:
                return
            if text or loop.time() - last >= HEARTBEAT_SECONDS:
                yield text.encode() if text else _HEARTBEAT
                last = loop.time()
                await asyncio.sleep(INTERVAL_SECONDS)
            await wakeup.wait(_POLL_SECONDS)
    finally:
        observed.listeners.remove(wakeup.notify)
