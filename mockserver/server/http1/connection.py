"""
One HTTP/1.1 connection: requests to the WSGI app, and its responses framed by RFC 9112 in as few sends as possible.

1. An error has a JSON body, or no body if part of a response is written; never HTML.
2. A client that disconnects is not an error: the connection ends.
3. An app that uses `environ["mockserver.socket"]` has taken over the response; the server writes nothing after that.
"""

from __future__ import annotations

import io
import re
import socket
import struct
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from email.utils import formatdate
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Any

from mockserver.server.http1.reason_phrases import reason_phrase
from mockserver.server.http1.request import BadRequest, ReceiveBuffer, RequestBody, RequestHead, read_head

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


_STATUS = re.compile("[2-9][0-9][0-9]( .*)?")
_LENGTH = re.compile("[0-9]{1,15}")
# `struct linger`, which makes a close send a reset: on, for no time.
NO_LINGER = struct.pack("HH" if sys.platform == "win32" else "ii", 1, 0)

_ExcInfo = tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None]


class ClientDisconnected(ConnectionError):
    """The client has closed the connection."""


class RawSocket:
    """
    The connection of one request, as `environ["mockserver.socket"]`, for an app that ends or resets it.

    Attributes:
        exchanges_before: the number of requests that the connection carried before this one.
        used: True once the app has taken over the response.
        if_lost: called if the response does not reach the client.
    """

    def __init__(self, wire: socket.socket, exchanges_before: int = 0) -> None:
        self._wire = wire
        self.exchanges_before = exchanges_before
        self.used = False
        self.if_lost: Callable[[], None] | None = None

    @property
    def socket(self) -> socket.socket:
        """Return the socket itself; the caller takes over the response."""
        self.used = True
        return self._wire

    def is_refused(self) -> bool:
        """
        Return True if the client has reset the connection, as the system does for a client that has closed it whole.

        Until the server sends something, a socket that is closed looks like one whose sending side has ended.
        """
        try:
            return self._wire.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0
        except OSError:  # it is closed on this side
            return True

    def close(self) -> None:
        """End the connection after what is written; the client reads the end."""
        # Only this side is shut: closing a socket with unread bytes would send a reset instead of an end.
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """Reset the connection; the client sees a reset by its peer."""
        with suppress(OSError):
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
        self.socket.close()


class ResponseWriter:
    """
    Writes the response to one request.

    Attributes:
        started: True once its first bytes are written.
        persists: True if the connection may carry another request after it.
        disconnected: True if the client has closed the connection.
        body: the request's body if part of it may be unread, else None.
        method: the request's method, empty if it was not read.
    """

    def __init__(self, wire: socket.socket, raw: RawSocket) -> None:
        self.started = self.persists = self.disconnected = False
        self.body: RequestBody | None = None
        self.method = ""
        self._wire = wire
        self._raw = raw
        self._head: RequestHead | None = None
        self._status: str | None = None
        self._headers: list[tuple[str, str]] = []
        self._bodiless = self._chunked = False
        self._left: int | None = None  # bytes of the body still to send under Content-Length

    def __str__(self) -> str:
        request = f"{self._head.method} {self._head.target}" if self._head else "-"
        return f'"{request}" {(self._status or "-")[:3]}'

    def start_request(self, head: RequestHead) -> None:
        self._head = head
        self.method = head.method
        self.persists = head.keep_alive

    def send_continue(self) -> None:
        """Send `100 Continue`, for which the client waits with its body, unless the response has begun."""
        if not self.started:
            self._send(b"HTTP/1.1 100 Continue\r\n\r\n")

    def start(
        self, status: str, headers: list[tuple[str, str]], exc_info: _ExcInfo | None = None, /
    ) -> Callable[[bytes], object]:
        """PEP 3333's `start_response`."""
        if exc_info is not None and self.started and exc_info[1] is not None:
            raise exc_info[1]
        if exc_info is None and self._status is not None:
            raise AssertionError("start_response was called a second time without exc_info")
        self._status, self._headers = status, headers
        return self.write

    def write_all(self, pieces: Iterable[bytes]) -> None:
        """Write all the pieces; a single one is sent with the head, under its own length."""
        if isinstance(pieces, list | tuple) and len(pieces) == 1 and not self.started:
            self._write_complete(pieces[0])
            return
        for piece in pieces:
            self.write(piece)
        self._end()

    def refuse(self, why: str, error: tuple[int, bytes], *, explain: bool) -> None:
        """
        Write an error in place of the app's response; if part of that is written, end the connection instead.

        Args:
            why: one English sentence.
            error: the status and the JSON body.
            explain: send the sentence in the header X-Mock-Reason.
        """
        if self.started:
            self.persists = False
            return
        status, body = error
        self._status = f"{status} {reason_phrase(status)}"
        self._headers = [("Content-Type", "application/json"), *([("X-Mock-Reason", why)] if explain else [])]
        self._write_complete(body)

    def write(self, piece: bytes) -> None:
        if piece:
            head = b"" if self.started else self._beginning(None)
            self._send(head + self._framed(piece))
            self.started = True

    def _write_complete(self, body: bytes) -> None:
        self._send(self._beginning(len(body)) + self._framed(body))
        self.started = True
        self._end()

    def _end(self) -> None:
        if not self.started:
            self._write_complete(b"")
        elif self._chunked:
            self._send(b"0\r\n\r\n")
        if self._left:
            # Fewer bytes than Content-Length: only the end of the connection shows that to the client.
            self.persists = False

    def _framed(self, piece: bytes) -> bytes:
        if self._bodiless or not piece:
            return b""
        if self._chunked:
            return b"%x\r\n%b\r\n" % (len(piece), piece)
        if self._left is not None:
            # Bytes beyond Content-Length would be read as the beginning of the next response.
            piece = piece[: self._left]
            self._left -= len(piece)
        return piece

    def _beginning(self, whole: int | None) -> bytes:
        """Return the head, which decides how the body is framed; `whole` is the body's size if it is known."""
        if self._status is None:
            raise AssertionError("the app wrote without calling start_response")
        if not _STATUS.fullmatch(self._status):
            raise ValueError(f"{self._status!r} is not the status line of a final response")
        minor = self._head.minor if self._head else 1
        empty = self._status[:3] in ("204", "304")
        self._bodiless = empty or self.method == "HEAD"
        lines, length = self._fields(whole if not empty else None)
        self._left = None if self._bodiless else length
        self._chunked = length is None and not self._bodiless and minor == 1
        if self._chunked:
            lines.append("Transfer-Encoding: chunked")
        if (length is None and not self._bodiless and minor == 0) or (self.body and not self.body.can_discard):
            self.persists = False
        if not self.persists:
            lines.append("Connection: close")
        elif minor == 0:
            lines.append("Connection: keep-alive")
        head = "\r\n".join(lines)
        if head.count("\n") != len(lines) - 1 or head.count("\r") != len(lines) - 1:
            raise ValueError("a header of the response contains a line end")
        return head.encode("latin-1") + b"\r\n\r\n"

    def _fields(self, length: int | None) -> tuple[list[str], int | None]:
        """Return the status line with the app's headers, without those that the server sets, and the body's length."""
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
                if not _LENGTH.fullmatch(value):
                    raise ValueError(f"got Content-Length {value!r}; expected 1 to 15 digits")
                length, sized = int(value), True
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
            while left:  # `sendall` has one timeout for all bytes; here each send has its own
                left = left[self._wire.send(left) :]
        except OSError as failure:
            self.disconnected = True
            raise ClientDisconnected from failure


@lru_cache(maxsize=1)
def _date(second: int) -> str:
    """Return the value of a `Date` header; cached for its second, since formatting costs as much as reading a request."""
    return formatdate(second, usegmt=True)


_EAGER_MAX_BYTES = 64 * 1024
_LINGER_SECONDS = 1.0
_LINGER_READS = 1024


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """Settings of a server; `environ` is the part of the WSGI environ that is the same for all requests."""

    app: WSGIApplication
    error_body: Callable[[bool], tuple[int, bytes]]
    log: Callable[[str], None] | None
    idle_seconds: float
    body_max_bytes: int
    explain: bool
    environ: dict[str, Any]


class Connection:
    """Serves one accepted socket from `run` to its end; another thread may call `abort` and `close`."""

    def __init__(self, wire: socket.socket, client: tuple[str, int], terms: ServerConfig) -> None:
        self._wire = wire
        self._terms = terms
        self._inflow = ReceiveBuffer(wire)
        self._exchanges = 0
        self._client = {"REMOTE_ADDR": client[0], "REMOTE_PORT": str(client[1])}

    def run(self) -> None:
        try:
            self._wire.settimeout(self._terms.idle_seconds)
            self._wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while self._exchange():
                pass
        except OSError:
            pass  # the client has disconnected
        finally:
            self._drain()
            self.close()

    def abort(self) -> None:
        """Wake the thread that waits for the client, and end the connection immediately."""
        with suppress(OSError):
            self._wire.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._wire.close()

    def _drain(self) -> None:
        """Let the client read the last response: closing while bytes arrive would reset the connection."""
        with suppress(OSError):
            self._wire.shutdown(socket.SHUT_WR)
            self._wire.settimeout(_LINGER_SECONDS)
            for _ in range(_LINGER_READS):
                if not self._wire.recv(64 * 1024):
                    break

    def _exchange(self) -> bool:
        """Serve one request; return True if another may follow."""
        raw = RawSocket(self._wire, self._exchanges)
        answer = ResponseWriter(self._wire, raw)
        try:
            head = read_head(self._inflow)
            if head is None:
                return False
            answer.start_request(head)
            answer.body, stream = self._body(head, answer)
        except BadRequest as refusal:
            answer.method = answer.method or refusal.method
            self._refuse(answer, refusal)
            self._log(answer)
            return False
        environ = {**self._terms.environ, **self._client, **head.environ}
        environ["wsgi.input"] = stream
        environ["wsgi.errors"] = sys.stderr
        environ["mockserver.socket"] = raw
        try:
            self._run_app(environ, answer)
        finally:
            self._exchanges += 1
            if raw.if_lost is not None and (answer.disconnected or raw.is_refused()):
                raw.if_lost()
        self._log(answer)
        return answer.persists and not raw.used and (answer.body is None or answer.body.discard())

    def _body(self, head: RequestHead, answer: ResponseWriter) -> tuple[RequestBody | None, io.BufferedIOBase]:
        """
        Return the body, and the stream from which the app reads it.

        A small body is read before the app is called, which then never sees a client that fails to send it.
        """
        most = self._terms.body_max_bytes
        if head.length is not None and head.length > most:
            raise BadRequest(f"the request's body is larger than {most} bytes, the mock's own bound")
        if not head.length and head.length is not None:
            return None, io.BytesIO()
        if head.length is not None and head.length <= _EAGER_MAX_BYTES and not head.expects_continue:
            return None, io.BytesIO(self._inflow.read_exactly(head.length))
        body = RequestBody(self._inflow, head.length, most, answer.send_continue if head.expects_continue else None)
        return body, io.BufferedReader(body)

    def _run_app(self, environ: dict[str, Any], answer: ResponseWriter) -> None:
        """Call the app and write its response; an error in the request's body replaces that response."""
        body = answer.body
        try:
            pieces = self._terms.app(environ, answer.start)
            try:
                if body is None or body.failure is None:
                    answer.write_all(pieces)
            finally:
                if hasattr(pieces, "close"):
                    pieces.close()
        except Exception:  # noqa: BLE001 - for any exception the client gets a response
            if answer.disconnected:
                raise ClientDisconnected from None
            if body is None or body.failure is None:
                self._report()
                why = "the mock itself failed; its log says how"
                answer.refuse(why, self._terms.error_body(True), explain=self._terms.explain)
        if body is not None and body.failure is not None:
            if not isinstance(body.failure, BadRequest):
                raise ClientDisconnected
            self._refuse(answer, body.failure)

    def _refuse(self, answer: ResponseWriter, refusal: BadRequest) -> None:
        answer.persists = False
        answer.refuse(refusal.why, self._terms.error_body(False), explain=self._terms.explain)

    def _report(self) -> None:
        """Print the app's failure on the server's side only."""
        (self._terms.log or sys.stderr.write)(traceback.format_exc())

    def _log(self, answer: ResponseWriter) -> None:
        if self._terms.log is not None:
            self._terms.log(_printable(f"{self._client['REMOTE_ADDR']} {answer}"))


def _printable(text: str) -> str:
    """Return the text with a backslash escape for each character that a terminal would not print."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
