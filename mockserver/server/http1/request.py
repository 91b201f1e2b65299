"""
HTTP/1.1 requests (RFC 9112): head, and body counted or chunked, with bounds and reasons.

1. A break of the grammar or of a bound is a `BadRequest`; an error of the socket stays an OSError.
2. Bare line feeds, folded headers, two lengths and unknown codings are refused: two parsers that guess differently read
   two different requests.
3. No byte after the end of a request is consumed, so that pipelined requests follow one another.
"""

from __future__ import annotations

import io
import re
import socket
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote_to_bytes, urlsplit

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


LINE_MAX_BYTES = 8 * 1024
HEAD_MAX_BYTES = 64 * 1024
HEADERS_MAX = 100
RECEIVE_BYTES = 64 * 1024

_REQUEST_LINE = re.compile(r"([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([!-~\x80-\xff]+) HTTP/([0-9])\.([0-9])")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_BARE_LINE_END = re.compile(rb"(?<!\r)\n|\r[^\n]")
_AUTHORITY = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+;=%-]+|\[[0-9A-Za-z.:%~_-]+\])(?::[0-9]{0,5})?")
_ABSOLUTE = re.compile(r"https?://([^/?]+)(.*)", re.IGNORECASE)
_PLAIN_KEYS = {"HTTP_CONTENT_TYPE": "CONTENT_TYPE", "HTTP_CONTENT_LENGTH": "CONTENT_LENGTH"}


class BadRequest(ValueError):
    """A request is not acceptable HTTP; `why` (ASCII) states the reason, `method` the request's method if it was read."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why
        self.method = ""


class RequestHead(NamedTuple):
    """
    One request without its body; `environ` holds the request's part of the WSGI environ.

    `length` is the body's size in bytes, None for a chunked one.
    `expects_continue` is True if the client waits for `100 Continue`, `keep_alive` if it may send another request.
    """

    method: str
    target: str
    minor: int
    environ: dict[str, Any]
    length: int | None
    expects_continue: bool
    keep_alive: bool


class ReceiveBuffer:
    """The bytes of one connection in order; `buffered` are those received and not yet consumed."""

    def __init__(self, wire: socket.socket) -> None:
        self.wire = wire
        self.buffered = b""

    def wait_for_request(self) -> bool:
        """Wait for the first byte of a request; return False if the client ends or stays idle instead."""
        while True:
            # An empty line before a request is skipped, by RFC 9112 2.2.
            while self.buffered.startswith(b"\r\n"):
                self.buffered = self.buffered[2:]
            if self.buffered not in (b"", b"\r"):
                return True
            try:
                got = self.wire.recv(RECEIVE_BYTES)
            except TimeoutError:
                return False
            if not got:
                return False
            self.buffered += got

    def receive(self) -> None:
        """Receive at least one byte; raise BadRequest at an end or a timeout, which is inside a request."""
        try:
            got = self.wire.recv(RECEIVE_BYTES)
        except TimeoutError:
            raise BadRequest("the rest of the request did not arrive in time") from None
        if not got:
            raise BadRequest("the connection ended inside a request")
        self.buffered += got

    def read_exactly(self, size: int) -> bytes:
        """Return exactly `size` bytes; for small sizes only, since they are stored in memory."""
        while len(self.buffered) < size:
            self.receive()
        taken, self.buffered = self.buffered[:size], self.buffered[size:]
        return taken

    def read_into(self, view: memoryview) -> int:
        """Fill a part of `view` and return its size, at least one byte."""
        if not self.buffered:
            self.receive()
        taken = self.buffered[: len(view)]
        view[: len(taken)] = taken
        self.buffered = self.buffered[len(taken) :]
        return len(taken)

    def read_line(self) -> bytes:
        """Return one line of a chunked body, without its line end."""
        while (end := self.buffered.find(b"\r\n", 0, LINE_MAX_BYTES + 2)) < 0:
            if len(self.buffered) >= LINE_MAX_BYTES + 2:
                raise BadRequest(
                    f"a line of the chunked body is longer than {LINE_MAX_BYTES} bytes, the mock's own bound"
                )
            if _BARE_LINE_END.search(self.buffered):
                raise BadRequest("a line of the chunked body does not end in CR LF")
            self.receive()
        line, self.buffered = self.buffered[:end], self.buffered[end + 2 :]
        if b"\n" in line or b"\r" in line:
            raise BadRequest("a line of the chunked body does not end in CR LF")
        return line


def read_head(inflow: ReceiveBuffer) -> RequestHead | None:
    """Return one request's head; None if the client ends or stays idle before its first byte."""
    if not inflow.wait_for_request():
        return None
    head = b""
    try:
        while (end := inflow.buffered.find(b"\r\n\r\n", 0, HEAD_MAX_BYTES + 4)) < 0:
            _check_beginning(inflow.buffered)
            inflow.receive()
        head, inflow.buffered = inflow.buffered[:end], inflow.buffered[end + 4 :]
        return _parse(head.decode("latin-1"))
    except BadRequest as refusal:
        # Also for an incomplete head: the response to HEAD has no body (RFC 9110 9.3.2).
        refusal.method = (head or inflow.buffered)[:LINE_MAX_BYTES].partition(b" ")[0].decode("latin-1")
        raise


def _check_beginning(held: bytes) -> None:
    """Refuse immediately what cannot become a head, rather than wait for its end."""
    if not _TOKEN.match(chr(held[0])):
        raise BadRequest("the request does not begin with a method; this server supports plain HTTP, not TLS")
    if held.find(b"\r\n", 0, LINE_MAX_BYTES + 2) < 0 and len(held) >= LINE_MAX_BYTES + 2:
        raise BadRequest(f"the request line is longer than {LINE_MAX_BYTES} bytes, the mock's own bound")
    if len(held) >= HEAD_MAX_BYTES + 4:
        raise BadRequest(f"the request's head is longer than {HEAD_MAX_BYTES} bytes, the mock's own bound")
    if _BARE_LINE_END.search(held):
        raise BadRequest("a line of the request's head does not end in CR LF")


def _parse(head: str) -> RequestHead:
    line, *fields = head.split("\r\n")
    if len(line) > LINE_MAX_BYTES:
        raise BadRequest(f"the request line is longer than {LINE_MAX_BYTES} bytes, the mock's own bound")
    match = _REQUEST_LINE.fullmatch(line)
    if match is None:
        raise BadRequest("the request line is not 'METHOD target HTTP/1.1'")
    method, target, major, minor_digit = match.groups()
    if major != "1":
        raise BadRequest(f"HTTP/{major}.{minor_digit} is not supported; expected HTTP/1.1")
    environ = _headers(fields)
    minor = min(int(minor_digit), 1)
    environ["SERVER_PROTOCOL"] = f"HTTP/1.{minor}"
    environ["REQUEST_METHOD"] = method
    environ["RAW_URI"] = environ["REQUEST_URI"] = target
    _check_host(environ, minor)
    _set_path(environ, method, target)
    if not is_authority(environ.get("HTTP_HOST", "")):
        raise BadRequest("Host is not a host name or an address with an optional port")
    expects = environ.get("HTTP_EXPECT", "").lower() if minor else ""
    if expects not in ("", "100-continue"):
        raise BadRequest("the only supported expectation is 100-continue")
    tokens = [token.strip() for token in environ.get("HTTP_CONNECTION", "").lower().split(",")]
    persists = "close" not in tokens and (minor == 1 or "keep-alive" in tokens)
    return RequestHead(method, target, minor, environ, _length(environ, minor), bool(expects), persists)


def _headers(fields: list[str]) -> dict[str, Any]:
    """Return the headers as WSGI has them; repeated ones are joined with a comma, cookies with a semicolon."""
    if len(fields) > HEADERS_MAX:
        raise BadRequest(f"the request has more than {HEADERS_MAX} headers, the mock's own bound")
    environ: dict[str, Any] = {}
    for field in fields:
        if len(field) > LINE_MAX_BYTES:
            raise BadRequest(f"a header is longer than {LINE_MAX_BYTES} bytes, the mock's own bound")
        if not field.isprintable() and _CONTROL.search(field):
            raise BadRequest("a header contains a control character")
        name, colon, value = field.partition(":")
        key = _environ_key(name)
        if not colon:
            raise BadRequest("a header has no colon")
        if not key:
            continue
        value = value.strip(" \t")
        if key in environ:
            value = environ[key] + ("; " if key == "HTTP_COOKIE" else ",") + value
        environ[key] = value
    return environ


@lru_cache(maxsize=512)
def _environ_key(name: str) -> str:
    """Return the key of a header in the environ; empty for a name with an underscore, which would equal one with a dash."""
    if not _TOKEN.fullmatch(name):
        raise BadRequest("a header's name is not a token")
    if "_" in name:
        return ""
    key = "HTTP_" + name.upper().replace("-", "_")
    return _PLAIN_KEYS.get(key, key)


def _check_host(environ: dict[str, Any], minor: int) -> None:
    host = environ.get("HTTP_HOST")
    if (host is None and minor == 1) or "," in (host or ""):
        raise BadRequest("the request needs exactly one Host header")


@lru_cache(maxsize=512)
def is_authority(host: str) -> bool:
    """Return True if this may be the value of a Host header: nothing, or a name or an address with an optional port."""
    if host and not _AUTHORITY.fullmatch(host):
        return False
    try:
        return urlsplit(f"//{host}").port is not False  # parses the address in brackets, and checks the port's range
    except ValueError:
        return False


def origin_form(target: str) -> tuple[str | None, str]:
    """Return the host of an absolute target, None if it has none, and its path with its query (RFC 9112 3.2)."""
    match = _ABSOLUTE.fullmatch(target)
    if match is None:
        return None, target
    host, rest = match.groups()
    return host, rest if rest.startswith("/") else "/" + rest


def _set_path(environ: dict[str, Any], method: str, target: str) -> None:
    """Split the target into path and query; an absolute one has its own host (RFC 9112 3.2.2)."""
    host, target = (None, target) if target[0] == "/" else origin_form(target)
    if host is not None:
        environ["HTTP_HOST"] = host
    elif target[0] != "/" and (target != "*" or method != "OPTIONS"):
        raise BadRequest("the request's target is neither a path nor an http url")
    path, _, environ["QUERY_STRING"] = target.partition("?")
    environ["PATH_INFO"] = unquote_to_bytes(path.encode("latin-1")).decode("latin-1") if "%" in path else path
    environ["SCRIPT_NAME"] = ""


def _length(environ: dict[str, Any], minor: int) -> int | None:
    length, coding = environ.get("CONTENT_LENGTH"), environ.get("HTTP_TRANSFER_ENCODING")
    if coding is not None:
        if length is not None or minor == 0:
            raise BadRequest("Transfer-Encoding excludes Content-Length and HTTP/1.0")
        if coding.lower() != "chunked":
            raise BadRequest("the only supported transfer coding is chunked")
        return None
    if length is None:
        return 0
    # The same length twice, in two headers or in one, is one length (RFC 9112 6.3).
    sizes = {size.strip(" \t") for size in length.split(",")}
    size = sizes.pop()
    if sizes or not re.fullmatch("[0-9]{1,18}", size):
        raise BadRequest("Content-Length is not one whole number")
    environ["CONTENT_LENGTH"] = size
    return int(size)


SKIPPED_MAX_BYTES = 64 * 1024  # of an unread body; beyond that closing costs less than reading

_TRAILER = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[^\x00-\x08\x0a-\x1f\x7f]*")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;.*)?")


class RequestBody(io.RawIOBase):
    """
    A request's body: counted, or chunked with its chunks joined and its trailers dropped.

    `failure` is the error that ended it early; each later read raises it again.
    `send_continue` is called once, before the wait for the first byte, and is None after that.
    """

    def __init__(
        self, inflow: ReceiveBuffer, length: int | None, max_bytes: int, invite: Callable[[], None] | None
    ) -> None:
        self._inflow = inflow
        self._chunked = length is None
        self._left = length or 0  # bytes left of the body, or of the current chunk
        self._begun = self._ended = False
        self._remaining_bytes = max_bytes
        self.send_continue = invite
        self.failure: BadRequest | OSError | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        if self.failure is not None:
            raise self.failure
        try:
            return self._read(memoryview(buffer).cast("B"))
        except (BadRequest, OSError) as failure:
            self.failure = failure
            raise

    def _read(self, view: memoryview) -> int:
        if self.send_continue is not None and not self._inflow.buffered:
            self.send_continue()
        self.send_continue = None
        if not self._left and self._chunked and not self._ended:
            self._next_chunk()
        if not self._left or not len(view):
            return 0
        got = self._inflow.read_into(view[: self._left])
        self._left -= got
        return got

    def _next_chunk(self) -> None:
        if self._begun and self._inflow.read_exactly(2) != b"\r\n":
            raise BadRequest("a chunk is longer than its size")
        self._begun = True
        match = _CHUNK_SIZE.fullmatch(self._inflow.read_line())
        if match is None:
            raise BadRequest("a chunk does not begin with its size")
        self._left = int(match[1], 16)
        self._remaining_bytes -= self._left
        if self._remaining_bytes < 0:
            raise BadRequest("the request's body is larger than its path allows, the mock's own bound")
        if not self._left:
            self._skip_trailers()
            self._ended = True

    def _skip_trailers(self) -> None:
        """Read and drop the trailers; a line that is not one may be the next request, from a client that ends bodies otherwise."""
        left_bytes = HEAD_MAX_BYTES
        while line := self._inflow.read_line():
            if not _TRAILER.fullmatch(line):
                raise BadRequest("a trailer of the chunked body is not a header")
            left_bytes -= len(line)
            if left_bytes < 0:
                raise BadRequest(f"the trailers are longer than {HEAD_MAX_BYTES} bytes, the mock's own bound")

    @property
    def can_discard(self) -> bool:
        """True if the rest may be read and dropped: the client sends it without a 100, and it is not too large."""
        return self.failure is None and self.send_continue is None and self._left <= SKIPPED_MAX_BYTES

    def discard(self) -> bool:
        """Read and drop the rest; return False if it is too large, and the connection has to end."""
        if not self.can_discard:
            return False
        left_bytes = SKIPPED_MAX_BYTES
        scrap = bytearray(16 * 1024)
        while left_bytes >= 0 and (got := self.readinto(scrap)):
            left_bytes -= got
        return left_bytes >= 0
