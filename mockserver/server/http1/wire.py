"""A socket on the event loop: what is received goes to a function, what the client does not read yet waits here."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress

RECEIVE_BYTES = 64 * 1024
_LINGER_SECONDS = 1.0
_LINGER_BYTES = 64 * 1024 * 1024
# `struct linger`, which makes a close send a reset: on, for no time.
NO_LINGER = struct.pack("HH" if sys.platform == "win32" else "ii", 1, 0)


class Wire:
    """
    One connected socket, used on the thread of its loop alone.

    Attributes:
        active_at: when bytes last passed, by the loop's clock.
        is_at_end: the client sends nothing more.
        is_lost: the client has reset the connection, or cannot be reached.
        is_ending: nothing more is sent, and what is received is dropped.
        is_closed: the socket is closed.

    Lifetime: until `on_close` is called.
    """

    __slots__ = (
        "_has_edges", "_is_reading", "_linger_bytes", "_linger_timer", "_loop", "_on_close", "_on_received", "_sent", "_socket",
        "_unsent", "active_at", "is_at_end", "is_closed", "is_ending", "is_lost",
    )  # fmt: skip

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        connected: socket.socket,
        on_received: Callable[[bytes], None],
        on_close: Callable[[], None],
    ) -> None:
        """`on_received` gets the bytes; none at the client's end, and none if the connection is lost."""
        self._loop = loop
        self._socket = connected
        self._on_received = on_received
        self._on_close = on_close
        self._unsent: memoryview | None = None
        self._sent: asyncio.Future[None] | None = None  # done once `_unsent` is sent
        self._is_reading = self.is_ending = False
        # uvloop does not report a reset that arrives together with bytes.
        self._has_edges = not isinstance(loop, asyncio.SelectorEventLoop)
        self._linger_bytes = _LINGER_BYTES
        self._linger_timer: asyncio.TimerHandle | None = None
        self.active_at = loop.time()
        self.is_at_end = self.is_lost = self.is_closed = False

    @property
    def has_unsent(self) -> bool:
        """True while bytes wait for the client to read."""
        return self._unsent is not None

    def is_refused(self) -> bool:
        """
        Return True if the client has reset the connection, as the system does for a client that has closed it whole.

        Until the server sends something, a socket that is closed looks like one whose sending side has ended.
        """
        try:
            return self.is_lost or self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0
        except OSError:  # it is closed on this side
            return True

    def resume_reading(self) -> None:
        """Receive what the client sends."""
        if not (self._is_reading or self.is_at_end or self.is_lost or self.is_closed):
            self._is_reading = True
            self._loop.add_reader(self._socket, self._on_readable)

    def pause_reading(self) -> None:
        """Leave what the client sends to the system, which then has the client wait."""
        if self._is_reading:
            self._is_reading = False
            self._loop.remove_reader(self._socket)

    def _on_readable(self) -> None:
        try:
            received = self._socket.recv(RECEIVE_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self._lose()
            return
        self.active_at = self._loop.time()
        if not received:
            self.is_at_end = True
            self.pause_reading()
        if not self.is_ending:
            self._on_received(received)
            if self._has_edges and not self.is_closed and self.is_refused():
                self._lose()
            return
        self._linger_bytes -= len(received)
        if self.is_at_end or self._linger_bytes < 0:
            self.close()

    def _lose(self) -> None:
        """Note that the client is gone; the connection closes the wire."""
        self.is_lost = True
        self.pause_reading()
        self._drop_unsent()
        if self.is_ending:
            self.close()
        else:
            self._on_received(b"")

    def send(self, data: bytes) -> bool:
        """Send bytes, after those that wait; return True if none of them has to wait."""
        if self.is_lost or self.is_closed:
            return True
        if self._unsent is not None:
            self._unsent = memoryview(bytes(self._unsent) + data)
            return False
        try:
            count = self._socket.send(data)
        except (BlockingIOError, InterruptedError):
            count = 0
        except OSError:
            self.is_lost = True
            self.pause_reading()
            return True
        if count == len(data):
            return True
        self._unsent = memoryview(data)[count:]
        self.active_at = self._loop.time()
        self._loop.add_writer(self._socket, self._on_writable)
        return False

    def _on_writable(self) -> None:
        assert self._unsent is not None
        try:
            count = self._socket.send(self._unsent)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self._lose()
            return
        self.active_at = self._loop.time()
        if count == len(self._unsent):
            self._drop_unsent()
        else:
            self._unsent = self._unsent[count:]

    def _drop_unsent(self) -> None:
        if self._unsent is not None:
            self._unsent = None
            self._loop.remove_writer(self._socket)
        if self._sent is not None and not self._sent.done():
            self._sent.set_result(None)

    async def flush(self) -> None:
        """Wait until everything is sent, or the client is lost."""
        while self._unsent is not None:
            self._sent = self._loop.create_future()
            await self._sent

    def give_up(self) -> None:
        """Take the client for lost, which reads nothing."""
        self._lose()

    def end(self) -> None:
        """
        End the connection after what is sent, and let the client read it.

        Only this side is shut first: closing a socket while bytes arrive would send a reset in place of the end.
        """
        if self.is_lost:
            self.close()
        if self.is_closed or self.is_ending:
            return
        self.is_ending = True
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        if self.is_at_end:
            self.close()
            return
        self._linger_timer = self._loop.call_later(_LINGER_SECONDS, self.close)
        self.resume_reading()

    def reset(self) -> None:
        """End the connection by a reset."""
        with suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
        self.close()

    def abort(self) -> None:
        """End the connection immediately; the client reads its end."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self.close()

    def close(self) -> None:
        """Close the socket; a second call does nothing."""
        if self.is_closed:
            return
        self.pause_reading()
        self._drop_unsent()
        if self._linger_timer is not None:
            self._linger_timer.cancel()
        self.is_closed = True
        self._socket.close()
        self._on_close()

    def forget(self) -> None:
        """Close this process's copy of the socket alone: in a fork of the process, whose parent serves on."""
        self._socket.close()
