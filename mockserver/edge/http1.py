"""
The head of each request of a connection, read as HTTP/1.1 asks (RFC 9112).

1. Whatever breaks the grammar or a bound is a `Refusal` with its HTTP status; a socket's own error stays an OSError.
2. Nothing is guessed: bare line feeds, folded headers, two lengths or an unknown coding are refused, since two readers
   that guess differently see two different requests.
3. Nothing past the end of a request is taken from the connection, so pipelined requests follow one another.
"""

from __future__ import annotations

import re
import socket
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes, urlsplit

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


class Refusal(ValueError):
    """A request is not acceptable HTTP; `why` (ASCII) states the reason, `method` the request's method if it was read."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why
        self.method = ""


class Head(NamedTuple):
    """
    One request without its body; `environ` holds the request's part of the WSGI environ.

    `length` is the body's size in bytes, None for a chunked one.
    `expects` says that the client waits for `100 Continue`, `persists` that it means to send another request.
    """

    method: str
    target: str
    minor: int
    environ: dict[str, Any]
    length: int | None
    expects: bool
    persists: bool


class Inflow:
    """The bytes of one connection in order; `held` are those received and not yet taken."""

    def __init__(self, wire: socket.socket) -> None:
        self.wire = wire
        self.held = b""

    def begun(self) -> bool:
        """Wait for the first byte of a request; False when the client ends or stays idle instead."""
        while True:
            # An empty line before a request is skipped, as RFC 9112 2.2 asks.
            while self.held.startswith(b"\r\n"):
                self.held = self.held[2:]
            if self.held not in (b"", b"\r"):
                return True
            try:
                got = self.wire.recv(RECEIVE_BYTES)
            except TimeoutError:
                return False
            if not got:
                return False
            self.held += got

    def more(self) -> None:
        """Receive at least one byte more; an end or a pause here is inside a request, and refused."""
        try:
            got = self.wire.recv(RECEIVE_BYTES)
        except TimeoutError:
            raise Refusal("the rest of the request did not come in time") from None
        if not got:
            raise Refusal("the connection ended inside a request")
        self.held += got

    def take(self, size: int) -> bytes:
        """Take exactly `size` bytes; for small sizes only, since they are gathered in memory."""
        while len(self.held) < size:
            self.more()
        taken, self.held = self.held[:size], self.held[size:]
        return taken

    def into(self, view: memoryview) -> int:
        """Fill some of `view`, and say how many bytes; at least one."""
        if not self.held:
            self.more()
        taken = self.held[: len(view)]
        view[: len(taken)] = taken
        self.held = self.held[len(taken) :]
        return len(taken)

    def line(self) -> bytes:
        """Take one line of a chunked body, without its line end."""
        while (end := self.held.find(b"\r\n", 0, LINE_MAX_BYTES + 2)) < 0:
            if len(self.held) >= LINE_MAX_BYTES + 2:
                raise Refusal(f"a line of the chunked body is longer than {LINE_MAX_BYTES} bytes, the mock's own bound")
            if _BARE_LINE_END.search(self.held):
                raise Refusal("a line of the chunked body does not end in CR LF")
            self.more()
        line, self.held = self.held[:end], self.held[end + 2 :]
        if b"\n" in line or b"\r" in line:
            raise Refusal("a line of the chunked body does not end in CR LF")
        return line


def read_head(inflow: Inflow) -> Head | None:
    """Read one request's head; None when the client ends or stays idle before it begins one."""
    if not inflow.begun():
        return None
    head = b""
    try:
        while (end := inflow.held.find(b"\r\n\r\n", 0, HEAD_MAX_BYTES + 4)) < 0:
            _check_beginning(inflow.held)
            inflow.more()
        head, inflow.held = inflow.held[:end], inflow.held[end + 4 :]
        return _parse(head.decode("latin-1"))
    except Refusal as refusal:
        # Also of a head that cannot be read to its end: the answer to HEAD has no body (RFC 9110 9.3.2).
        refusal.method = (head or inflow.held)[:LINE_MAX_BYTES].partition(b" ")[0].decode("latin-1")
        raise


def _check_beginning(held: bytes) -> None:
    """Refuse at once what cannot become a head, rather than wait for the end of it."""
    if not _TOKEN.match(chr(held[0])):
        raise Refusal("the request does not begin with a method; this server speaks plain HTTP, not TLS")
    if held.find(b"\r\n", 0, LINE_MAX_BYTES + 2) < 0 and len(held) >= LINE_MAX_BYTES + 2:
        raise Refusal(f"the request line is longer than {LINE_MAX_BYTES} bytes, the mock's own bound")
    if len(held) >= HEAD_MAX_BYTES + 4:
        raise Refusal(f"the request's head is longer than {HEAD_MAX_BYTES} bytes, the mock's own bound")
    if _BARE_LINE_END.search(held):
        raise Refusal("a line of the request's head does not end in CR LF")


def _parse(head: str) -> Head:
    line, *fields = head.split("\r\n")
    if len(line) > LINE_MAX_BYTES:
        raise Refusal(f"the request line is longer than {LINE_MAX_BYTES} bytes, the mock's own bound")
    match = _REQUEST_LINE.fullmatch(line)
    if match is None:
        raise Refusal("the request line is not 'METHOD target HTTP/1.1'")
    method, target, major, minor_digit = match.groups()
    if major != "1":
        raise Refusal(f"HTTP/{major}.{minor_digit} is not spoken here, HTTP/1.1 is")
    environ = _headers(fields)
    minor = min(int(minor_digit), 1)
    environ["SERVER_PROTOCOL"] = f"HTTP/1.{minor}"
    environ["REQUEST_METHOD"] = method
    environ["RAW_URI"] = environ["REQUEST_URI"] = target
    _check_host(environ, minor)
    _locate(environ, method, target)
    if not is_authority(environ.get("HTTP_HOST", "")):
        raise Refusal("Host is not a host name or an address with an optional port")
    expects = environ.get("HTTP_EXPECT", "").lower() if minor else ""
    if expects not in ("", "100-continue"):
        raise Refusal("the only expectation met here is 100-continue")
    tokens = [token.strip() for token in environ.get("HTTP_CONNECTION", "").lower().split(",")]
    persists = "close" not in tokens and (minor == 1 or "keep-alive" in tokens)
    return Head(method, target, minor, environ, _length(environ, minor), bool(expects), persists)


def _headers(fields: list[str]) -> dict[str, Any]:
    """The headers as WSGI wants them; repeated ones are joined with a comma, cookies with a semicolon."""
    if len(fields) > HEADERS_MAX:
        raise Refusal(f"the request has more than {HEADERS_MAX} headers, the mock's own bound")
    environ: dict[str, Any] = {}
    for field in fields:
        if len(field) > LINE_MAX_BYTES:
            raise Refusal(f"a header is longer than {LINE_MAX_BYTES} bytes, the mock's own bound")
        if not field.isprintable() and _CONTROL.search(field):
            raise Refusal("a header holds a control character")
        name, colon, value = field.partition(":")
        key = _environ_key(name)
        if not colon:
            raise Refusal("a header has no colon")
        if not key:
            continue
        value = value.strip(" \t")
        if key in environ:
            value = environ[key] + ("; " if key == "HTTP_COOKIE" else ",") + value
        environ[key] = value
    return environ


@lru_cache(maxsize=512)
def _environ_key(name: str) -> str:
    """The key of a header in the environ; empty for a name with an underscore, which would pass for its dashed twin."""
    if not _TOKEN.fullmatch(name):
        raise Refusal("a header's name is not a token")
    if "_" in name:
        return ""
    key = "HTTP_" + name.upper().replace("-", "_")
    return _PLAIN_KEYS.get(key, key)


def _check_host(environ: dict[str, Any], minor: int) -> None:
    host = environ.get("HTTP_HOST")
    if (host is None and minor == 1) or "," in (host or ""):
        raise Refusal("the request needs exactly one Host header")


@lru_cache(maxsize=512)
def is_authority(host: str) -> bool:
    """Return True if this may be the value of a Host header: nothing, or a name or an address with an optional port."""
    if host and not _AUTHORITY.fullmatch(host):
        return False
    try:
        return urlsplit(f"//{host}").port is not False  # reads the address in brackets and the port's range too
    except ValueError:
        return False


def origin_form(target: str) -> tuple[str | None, str]:
    """Return the host of an absolute target, None if it has none, and its path with its query (RFC 9112 3.2)."""
    match = _ABSOLUTE.fullmatch(target)
    if match is None:
        return None, target
    host, rest = match.groups()
    return host, rest if rest.startswith("/") else "/" + rest


def _locate(environ: dict[str, Any], method: str, target: str) -> None:
    """Split the target into path and query; an absolute one brings its own host (RFC 9112 3.2.2)."""
    host, target = (None, target) if target[0] == "/" else origin_form(target)
    if host is not None:
        environ["HTTP_HOST"] = host
    elif target[0] != "/" and (target != "*" or method != "OPTIONS"):
        raise Refusal("the request's target is neither a path nor an http url")
    path, _, environ["QUERY_STRING"] = target.partition("?")
    environ["PATH_INFO"] = unquote_to_bytes(path.encode("latin-1")).decode("latin-1") if "%" in path else path
    environ["SCRIPT_NAME"] = ""


def _length(environ: dict[str, Any], minor: int) -> int | None:
    length, coding = environ.get("CONTENT_LENGTH"), environ.get("HTTP_TRANSFER_ENCODING")
    if coding is not None:
        if length is not None or minor == 0:
            raise Refusal("Transfer-Encoding goes neither with Content-Length nor with HTTP/1.0")
        if coding.lower() != "chunked":
            raise Refusal("the only transfer coding understood here is chunked")
        return None
    if length is None:
        return 0
    # A length said twice alike, in two headers or in one, is one length (RFC 9112 6.3).
    sizes = {size.strip(" \t") for size in length.split(",")}
    size = sizes.pop()
    if sizes or not re.fullmatch("[0-9]{1,18}", size):
        raise Refusal("Content-Length is not one whole number")
    environ["CONTENT_LENGTH"] = size
    return int(size)
