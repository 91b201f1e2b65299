"""A socket on the event loop: a function gets the received bytes; bytes that the client does not read yet wait here."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress

from mockserver.server.http1.event_loop import ServerLoop

RECEIVE_BYTES = 64 * 1024
_LINGER_SECONDS = 1.0
_LINGER_BYTES = 64 * 1024 * 1024
# `struct linger`, which makes a close send a reset: on, for no time.
NO_LINGER = struct.pack("HH" if sys.platform == "win32" else "ii", 1, 0)


class Wire:
    """
    One connected socket, used only on the thread of its loop.

    Attributes:
        active_at: when bytes last passed, by the loop's clock.
        is_at_end: the client sends nothing more.
        is_lost: the client has reset the connection, or cannot be reached.
        is_ending: nothing more is sent, and received bytes are dropped.
        is_closed: the socket is closed.

    Lifetime: until `on_close` is called.
    """

    __slots__ = (
        "_descriptor", "_held", "_is_reading", "_linger_bytes", "_linger_timer", "_loop", "_on_close", "_on_received", "_sent", "_socket",
        "_unsent", "active_at", "is_at_end", "is_closed", "is_ending", "is_lost",
    )  # fmt: skip

    def __init__(
        self,
        loop: ServerLoop,
        connected: socket.socket,
        on_received: Callable[[bytes], None],
        on_close: Callable[[], None],
    ) -> None:
        """`on_received` gets the received bytes; no bytes at the client's end, and if the connection is lost."""
        self._loop = loop
        self._socket = connected
        # What the selector gets: of a socket it would format both addresses, twice.
        self._descriptor = connected.fileno()
        self._on_received = on_received
        self._on_close = on_close
        self._held = b""  # that the loop sends before it waits
        self._unsent: memoryview | None = None
        self._sent: asyncio.Future[None] | None = None  # done once `_unsent` is sent
        self._is_reading = self.is_ending = False
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
        Return True if the client has reset the connection, as its system does once the client has closed its socket.

        Before the server sends something, a closed socket cannot be distinguished from one that only sends nothing more.
        """
        try:
            return self.is_lost or self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0
        except OSError:  # it is closed on this side
            return True

    def resume_reading(self) -> None:
        """Receive what the client sends."""
        if not (self._is_reading or self.is_at_end or self.is_lost or self.is_closed):
            self._is_reading = True
            self._loop.add_reader(self._descriptor, self._on_readable)

    def pause_reading(self) -> None:
        """Stop to receive; the system then makes the client wait."""
        if self._is_reading:
            self._is_reading = False
            self._loop.remove_reader(self._descriptor)

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
            return
        self._linger_bytes -= len(received)
        if self.is_at_end or self._linger_bytes < 0:
            self.close()

    def _lose(self) -> None:
        """Set `is_lost`, and notify the connection, which closes the wire."""
        self.is_lost = True
        self.pause_reading()
        self._drop_unsent()
        if self.is_ending:
            self.close()
        else:
            self._on_received(b"")

    def send(self, data: bytes) -> bool:
        """Send bytes, after those that wait already; return True if no byte has to wait."""
        if self._held:
            self._send_held()
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
        self._loop.add_writer(self._descriptor, self._on_writable)
        return False

    def send_soon(self, data: bytes) -> bool:
        """
        Send bytes as `send` does, once the loop has run everything that is ready: the answers of one round leave together.

        A client that waits for one of them wakes once for all, which takes half of the time that the kernel spends.
        """
        if self._unsent is not None or self.is_lost or self.is_closed:
            return self.send(data)
        if not self._held:
            self._loop.call_before_wait(self._send_held)
        self._held += data
        return True

    def _send_held(self) -> bool:
        """Send what `send_soon` has got, if anything; return True if the connection is to be notified of a lost client."""
        if not self._held:
            return False
        held, self._held = self._held, b""
        self.send(held)
        if self.is_lost:
            self._loop.call_soon(self._on_received, b"")
        return self.is_lost

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
            self._loop.remove_writer(self._descriptor)
        if self._sent is not None and not self._sent.done():
            self._sent.set_result(None)

    async def flush(self) -> None:
        """Wait until everything is sent, or the client is lost."""
        while self._unsent is not None:
            self._sent = self._loop.create_future()
            await self._sent

    def time_out(self) -> None:
        """Treat the client as disconnected, because it reads nothing."""
        self._lose()

    def end(self) -> None:
        """
        End the connection after the bytes that were sent, so that the client can read them.

        It shuts only this side first: a socket that is closed while bytes arrive sends a reset in place of the end.
        """
        self._send_held()
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
        self._send_held()
        with suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
        self.close()

    def abort(self) -> None:
        """End the connection immediately; the client reads its end."""
        self._send_held()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self.close()

    def close(self) -> None:
        """Close the socket; a second call does nothing."""
        if self.is_closed:
            return
        self._send_held()
        self.pause_reading()
        self._drop_unsent()
        if self._linger_timer is not None:
            self._linger_timer.cancel()
        self.is_closed = True
        self._socket.close()
        self._on_close()

    def close_copy(self) -> None:
        """Close only this process's copy of the socket: in a fork, whose parent continues to serve."""
        self._socket.close()
