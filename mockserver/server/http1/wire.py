"""The transport of one client: the bytes that have arrived, those that the client does not take yet, and the end."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from contextlib import suppress
from typing import cast

RECEIVED_MAX_BYTES = 64 * 1024  # beyond which the system makes the client wait, unless more is awaited
_LINGER_SECONDS = 1.0
# `struct linger`, which makes a close send a reset: on, for no time.
NO_LINGER = struct.pack("HH" if sys.platform == "win32" else "ii", 1, 0)


class Wire(asyncio.Protocol):
    """
    One connected socket, used by one task on its loop.

    Args:
        idle_seconds: a client that takes none of the bytes for it within this time counts as lost.

    Attributes:
        received: the bytes that have arrived; who reads them removes them.
        is_at_end: the client sends nothing more.
    """

    _transport: asyncio.Transport  # once it has begun

    def __init__(self, loop: asyncio.AbstractEventLoop, connected: socket.socket, idle_seconds: float) -> None:
        self.received = bytearray()
        self.is_at_end = False
        self._loop = loop
        self._socket = connected
        self._idle_seconds = idle_seconds
        self._is_ending = False
        self._has_begun = False
        self._held = b""  # that the next round sends
        self._waiting: asyncio.Future[bool] | None = None

    async def connect(self) -> None:
        """Begin to receive."""
        await self._loop.connect_accepted_socket(lambda: self, self._socket)

    # What the transport calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._has_begun = True
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(0)

    def data_received(self, data: bytes) -> None:
        if not self._is_ending:
            self.received += data
        if len(self.received) >= RECEIVED_MAX_BYTES:
            self._transport.pause_reading()
        self.wake()

    def eof_received(self) -> bool:
        self.is_at_end = True
        self.wake()
        return True  # the client may still read

    def connection_lost(self, exc: Exception | None) -> None:
        self.wake()

    def resume_writing(self) -> None:
        self.wake()

    @property
    def is_lost(self) -> bool:
        """True once the client has reset the connection or cannot be reached, or this side has closed it."""
        return self._transport.is_closing()

    def is_refused(self) -> bool:
        """
        Return True if the client has reset the connection, as its system does once the client has closed its socket.

        Before the server sends something, a closed socket cannot be distinguished from one that only sends nothing more.
        """
        return self.is_lost or self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0

    # What the task of the connection calls

    def wake(self, has_come: bool = True) -> None:
        """End the present wait, if there is one."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(has_come)

    async def _wait(self, seconds: float) -> bool:
        """Wait until something happens on the connection; return False if nothing does within this time."""
        self._waiting = self._loop.create_future()
        timer = self._loop.call_later(seconds, self.wake, False)
        try:
            return await self._waiting
        finally:
            timer.cancel()

    async def receive(self, seconds: float) -> bool:
        """Wait for further bytes, for the client's end, or for `wake`; return False if nothing has come within this time."""
        self._transport.resume_reading()
        return await self._wait(seconds)

    async def send(self, data: bytes) -> None:
        """Send bytes, and wait until the client has taken them or is lost."""
        self._held += data
        self._send_held()
        await self.drain()

    def send_soon(self, data: bytes) -> None:
        """Send bytes in the next round of the loop: the answers of one round leave together, and wake their client once."""
        self._held += data
        self._loop.call_soon(self._send_held)

    def _send_held(self) -> None:
        held, self._held = self._held, b""
        if held and not self.is_lost:
            self._transport.write(held)

    async def drain(self) -> None:
        """Wait until the client has taken everything that was sent, or is lost."""
        while unsent := self._transport.get_write_buffer_size():
            if not await self._wait(self._idle_seconds) and self._transport.get_write_buffer_size() == unsent:
                self.close()

    def shut(self) -> None:
        """Send nothing more: the client reads the end; what it sends is dropped."""
        self._send_held()
        self._is_ending = True
        self.received.clear()
        with suppress(OSError):
            self._transport.write_eof()

    async def end(self) -> None:
        """
        End the connection after the bytes that were sent, so that the client can read them.

        It shuts only this side first: a socket that is closed while bytes arrive sends a reset in place of the end.
        """
        self.shut()
        until = self._loop.time() + _LINGER_SECONDS
        is_waiting = True
        while is_waiting and not self.is_at_end and not self.is_lost:
            is_waiting = await self.receive(until - self._loop.time())
        self.close()

    def reset(self) -> None:
        """End the connection by a reset."""
        with suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
        self.close()

    def abort(self) -> None:
        """End the connection immediately, unless it has not begun; the client reads its end."""
        if self._has_begun:
            self.shut()
            self.close()

    def close(self) -> None:
        """Close the socket; a second call does nothing."""
        if self._has_begun:
            self._transport.abort()
        self._socket.close()

    def close_copy(self) -> None:
        """Close only this process's copy of the socket: in a fork, whose parent continues to serve."""
        self._socket.close()
