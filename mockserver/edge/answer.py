"""One answer of a WSGI app on its way to the client, framed as HTTP/1.1 asks (RFC 9112), in as few sends as can be."""

from __future__ import annotations

import re
import socket
import struct
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from email.utils import formatdate
from functools import lru_cache
from types import TracebackType

from mockserver.contract.reading import whole_number
from mockserver.edge.body import Body
from mockserver.edge.http1 import Head
from mockserver.edge.spelling import reason_phrase

_STATUS = re.compile("[2-9][0-9][0-9]( .*)?")

_ExcInfo = tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None]


class Gone(ConnectionError):
    """The client does not read any more."""


class RawSocket:
    """
    `environ["mockserver.socket"]`: the connection under an exchange, for an app that breaks it.

    `exchanges_before` is the number of exchanges that the connection has carried before this one.
    """

    def __init__(self, wire: socket.socket, exchanges_before: int = 0) -> None:
        self._wire = wire
        self.exchanges_before = exchanges_before
        self.used = False
        self.if_lost: Callable[[], None] | None = None  # called if the answer turns out to reach no client

    @property
    def socket(self) -> socket.socket:
        """The socket itself; whoever asks for it has taken the answer over."""
        self.used = True
        return self._wire

    def is_refused(self) -> bool:
        """
        Return True if the client has reset the connection, as the system does for one that has closed it whole.

        Before anything is sent, a client that has closed its socket and one that has only ended its own side look alike.
        """
        try:
            return self._wire.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0
        except OSError:  # it is closed on this side
            return True

    def close(self) -> None:
        """End the connection in order, after what was written; the client reads an end."""
        # Only our half is shut here: closing over unread bytes would send a reset instead of an end.
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """Break the connection off; the client sees a reset by its peer."""
        with suppress(OSError):
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


class Answer:
    """
    What one request is answered.

    `begun` tells that its first bytes are written, so that nothing can be said differently any more;
    `persists` that the connection may carry another exchange after it; `gone` that the client did not take it.
    `body` is the request's body where some of it may be unread, `method` its method, empty if it was not read.
    """

    def __init__(self, wire: socket.socket, raw: RawSocket) -> None:
        self.begun = self.persists = self.gone = False
        self.body: Body | None = None
        self.method = ""
        self._wire = wire
        self._raw = raw
        self._head: Head | None = None
        self._status: str | None = None
        self._headers: list[tuple[str, str]] = []
        self._bodiless = self._chunked = False
        self._left: int | None = None  # bytes of the body still owed under Content-Length

    def __str__(self) -> str:
        asked = f"{self._head.method} {self._head.target}" if self._head else "-"
        return f'"{asked}" {(self._status or "-")[:3]}'

    def to(self, head: Head) -> None:
        self._head = head
        self.method = head.method
        self.persists = head.persists

    def invite(self) -> None:
        """Ask the client for its body, unless it has its answer already."""
        if not self.begun:
            self._send(b"HTTP/1.1 100 Continue\r\n\r\n")

    def start(
        self, status: str, headers: list[tuple[str, str]], exc_info: _ExcInfo | None = None, /
    ) -> Callable[[bytes], object]:
        """PEP 3333's `start_response`."""
        if exc_info is not None and self.begun and exc_info[1] is not None:
            raise exc_info[1]
        if exc_info is None and self._status is not None:
            raise AssertionError("start_response was called a second time without exc_info")
        self._status, self._headers = status, headers
        return self.write

    def play(self, pieces: Iterable[bytes]) -> None:
        """Write all the pieces; a lone one goes out together with the head, and tells its own length."""
        if isinstance(pieces, list | tuple) and len(pieces) == 1 and not self.begun:
            self._whole(pieces[0])
            return
        for piece in pieces:
            self.write(piece)
        self._end()

    def refuse(self, status: int, why: str, body: Callable[[int, str], bytes], *, explain: bool) -> None:
        """Say this instead of whatever was started; once something is written, end the connection instead."""
        if self.begun:
            self.persists = False
            return
        self._status = f"{status} {reason_phrase(status)}"
        self._headers = [("Content-Type", "application/json"), *([("X-Mock-Reason", why)] if explain else [])]
        self._whole(body(status, why))

    def write(self, piece: bytes) -> None:
        if piece:
            head = b"" if self.begun else self._beginning(None)
            self._send(head + self._framed(piece))
            self.begun = True

    def _whole(self, body: bytes) -> None:
        self._send(self._beginning(len(body)) + self._framed(body))
        self.begun = True
        self._end()

    def _end(self) -> None:
        if not self.begun:
            self._whole(b"")
        elif self._chunked:
            self._send(b"0\r\n\r\n")
        if self._left:
            # Less came than Content-Length promised; only the end of the connection can tell the client.
            self.persists = False

    def _framed(self, piece: bytes) -> bytes:
        if self._bodiless or not piece:
            return b""
        if self._chunked:
            return b"%x\r\n%b\r\n" % (len(piece), piece)
        if self._left is not None:
            # More than Content-Length promised would pass for the beginning of the next answer.
            piece = piece[: self._left]
            self._left -= len(piece)
        return piece

    def _beginning(self, whole: int | None) -> bytes:
        """The answer's head, which decides how the body is framed; `whole` is the body's size where it is known."""
        if self._status is None:
            raise AssertionError("the app wrote without calling start_response")
        if not _STATUS.fullmatch(self._status):
            raise ValueError(f"{self._status!r} is not the status line of a final answer")
        minor = self._head.minor if self._head else 1
        empty = self._status[:3] in ("204", "304")
        self._bodiless = empty or self.method == "HEAD"
        lines, length = self._fields(whole if not empty else None)
        self._left = None if self._bodiless else length
        self._chunked = length is None and not self._bodiless and minor == 1
        if self._chunked:
            lines.append("Transfer-Encoding: chunked")
        if (length is None and not self._bodiless and minor == 0) or (self.body and not self.body.skippable):
            self.persists = False
        if not self.persists:
            lines.append("Connection: close")
        elif minor == 0:
            lines.append("Connection: keep-alive")
        head = "\r\n".join(lines)
        if head.count("\n") != len(lines) - 1 or head.count("\r") != len(lines) - 1:
            raise ValueError("a header of the answer holds a line end")
        return head.encode("latin-1") + b"\r\n\r\n"

    def _fields(self, length: int | None) -> tuple[list[str], int | None]:
        """The status line and the app's headers, less those that are the server's to say; and the body's length."""
        lines = [f"HTTP/1.1 {self._status}"]
        dated = sized = False
        for name, value in self._headers:
            key = name.lower()
            if key == "connection" or key == "transfer-encoding":
                self.persists = self.persists and (key != "connection" or value.lower() != "close")
                continue
            if key == "content-length":
                if self._status and self._status.startswith("204"):
                    continue
                length, sized = whole_number(value), True
                if length is None:
                    raise ValueError(f"{value!r} is no Content-Length")
            dated = dated or key == "date"
            lines.append(f"{name}: {value}")
        if not dated:
            lines.append(f"Date: {_date(int(time.time()))}")
        if length is not None and not sized:
            lines.append(f"Content-Length: {length}")
        return lines, length

    def _send(self, sent: bytes) -> None:
        if self._raw.used or not sent:
            return
        left = memoryview(sent)
        try:
            while left:  # the timeout of `sendall` is that of the whole; a reader that progresses has each time anew
                left = left[self._wire.send(left) :]
        except OSError as failure:
            self.gone = True
            raise Gone from failure


@lru_cache(maxsize=1)
def _date(second: int) -> str:
    """The text of a `Date` header; kept for its second, since writing it costs as much as reading a request."""
    return formatdate(second, usegmt=True)
