"""
Requests of HTTP/1.1 (RFC 9112): the head and its bounds. `httptools` parses the headers.

1. A violation of the grammar or of a bound is a `BadRequest`.
2. This module reads the request line: the parser accepts invalid lines, and only the methods of its own table.
3. Bare line feeds, folded headers, two lengths and unknown codings are refused: parsers that interpret them differently
   read different requests.
4. No byte after the end of a request is consumed, so that pipelined requests follow one another.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import urlsplit

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

LINE_MAX_BYTES = 8 * 1024
HEAD_MAX_BYTES = 64 * 1024
HEADERS_MAX = 100
EMPTY_LINES_MAX = 8  # before a request; RFC 9112 2.2 wants at least one ignored

_REQUEST_LINE = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+ [!-~\x80-\xff]+ HTTP/[0-9]\.[0-9]")
_TOKEN_BYTES = frozenset(b"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_BARE_LINE_END = re.compile(rb"(?<!\r)\n|\r(?!\n|\Z)")  # the last byte may be the first half of a line end
_END = b"\r\n"
# A name, or an address in brackets, and a port.
_AUTHORITY = re.compile(
    r"(?:(?:[A-Za-z0-9._~!$&'()*+;=-]|%[0-9A-Fa-f]{2})+|(\[[0-9A-Za-z.:%~_-]+\]))(?::([0-9]{0,5}))?"
)
_PORT_MAX = 65_535
_ABSOLUTE = r"https?://([^/?]+)(.*)"
_PARSED_LINE = b"POST / HTTP/1.1"  # the parser gets it in place of each request line


class BadRequest(ValueError):
    """
    A request is not acceptable HTTP, or the server has no room for it.

    Attributes:
        why: the reason, in ASCII.
        is_own_failure: True if another server would have accepted the request.
    """

    def __init__(self, why: str, *, is_own_failure: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.is_own_failure = is_own_failure


class HeadSizes(NamedTuple):
    """
    The sizes of a head that is beyond the bounds of this module.

    Attributes:
        line_bytes: of the request line.
        header_bytes: of the longest header's line; 0 if the head is short.
        headers: their number.
    """

    line_bytes: int
    header_bytes: int
    headers: int

    @property
    def is_beyond(self) -> bool:
        """True if one of the sizes is beyond its bound."""
        lines_bytes = max(self.line_bytes, self.header_bytes)
        return lines_bytes > LINE_MAX_BYTES or self.headers > HEADERS_MAX


class RequestHead(NamedTuple):
    """
    One request without its body.

    Attributes:
        target: its path and query as received.
        minor: of the version, 0 or 1.
        headers: values by lower-case name; repeated ones are joined with a comma, cookies with a semicolon.
        length: the body's size in bytes, None for a chunked one.
        expects_continue: True if the client waits for `100 Continue`.
        keep_alive: True if the client may send another request.
        excess: the sizes of a head beyond the bounds.
    """

    method: str
    target: str
    minor: int
    headers: dict[str, str]
    length: int | None
    expects_continue: bool
    keep_alive: bool
    excess: HeadSizes | None = None


class _Headers:
    """Collects the headers of one request from the parser."""

    __slots__ = ("by_name", "count")

    def __init__(self) -> None:
        self.by_name: dict[str, str] = {}
        self.count = 0

    def on_header(self, raw_name: bytes, raw_value: bytes) -> None:
        self.count += 1
        name = _header_name(raw_name)
        if not name:
            return
        value = raw_value.decode("latin-1").strip(" \t")
        if name in self.by_name:
            value = self.by_name[name] + ("; " if name == "cookie" else ",") + value
        self.by_name[name] = value


def _header_name(raw: bytes) -> str:
    """Return the name in lower case; empty for one with an underscore, which in WSGI would equal one with a dash."""
    return "" if b"_" in raw else raw.decode("latin-1").lower()


class HeadReader:
    """
    Finds the heads of requests in the bytes of one connection, and refuses early what cannot become one.

    However the bytes arrive, each one is looked at a fixed number of times: a search begins where the last one ended.
    """

    def __init__(self) -> None:
        self._looked = 0  # bytes at the beginning that hold no end of a head and no bare line end
        self._empty_lines = 0  # before the request

    def end(self, received: bytearray) -> int:
        """
        Return the size of the head at the beginning of the bytes, with its empty line; 0 if it is not complete.

        It gets the same bytes again, with those that have arrived since, until the head is complete; empty lines before it
        are removed from them.

        Raises:
            BadRequest: the bytes are not the beginning of a request, or a head of more than `HEAD_MAX_BYTES`.
        """
        if not self._looked:
            self._skip_empty_lines(received)
            if not received or received == b"\r":
                return 0
        end = received.find(b"\r\n\r\n", max(self._looked - 3, 0), HEAD_MAX_BYTES + 4)
        if end < 0:
            self._check_beginning(received)
            if len(received) >= HEAD_MAX_BYTES + 4:
                raise BadRequest(f"the head of the request is longer than {HEAD_MAX_BYTES} bytes, the mock's own bound")
            return 0
        self._looked = self._empty_lines = 0
        return end + 4

    def _skip_empty_lines(self, received: bytearray) -> None:
        """Remove empty lines, which RFC 9112 2.2 has a server ignore, up to a bound."""
        skipped = 0
        while received.startswith(_END, skipped):
            skipped += len(_END)
            self._empty_lines += 1
            if self._empty_lines > EMPTY_LINES_MAX:
                raise BadRequest(f"more than {EMPTY_LINES_MAX} empty lines precede a request, the mock's own bound")
        if skipped:
            del received[:skipped]

    def _check_beginning(self, received: bytearray) -> None:
        """Refuse an incomplete head that no further bytes can make acceptable."""
        begin, size = self._looked, len(received)
        if not begin and received[0] not in _TOKEN_BYTES:
            raise BadRequest("the request does not begin with a method; this server supports plain HTTP, not TLS")
        if begin < LINE_MAX_BYTES + 2 <= size and received.find(b" ", 0, LINE_MAX_BYTES) < 0:
            raise BadRequest("the request line is not 'METHOD target HTTP/1.1'")
        if _BARE_LINE_END.search(received, max(begin - 1, 0)):
            raise BadRequest("a line of the request's head does not end in CR LF")
        self._looked = size


def method_of(received: bytearray) -> str:
    """Return the method at the beginning of these bytes, also of an incomplete head."""
    return received[:LINE_MAX_BYTES].partition(b" ")[0].decode("latin-1")


def parse_head(head: bytes) -> RequestHead:
    """Return the request of a head."""
    line_end = head.find(_END)
    match = _REQUEST_LINE.fullmatch(head, 0, line_end)
    if match is None:
        raise BadRequest("the request line is not 'METHOD target HTTP/1.1'")
    method, raw_target, version = match[0].decode("latin-1").split(" ")
    if version[5] != "1":
        raise BadRequest(f"{version} is not supported; expected HTTP/1.1")
    minor = 0 if version[7] == "0" else 1
    headers, excess = _headers_within_bounds(head, line_end)
    target = _target(headers, method, raw_target, minor)
    expects = headers.get("expect", "").lower() if minor else ""
    if expects not in ("", "100-continue"):
        raise BadRequest("the only supported expectation is 100-continue")
    tokens = [token.strip() for token in headers.get("connection", "").lower().split(",")]
    return RequestHead(
        method=method,
        target=target,
        minor=minor,
        headers=headers,
        length=_length(headers, minor),
        expects_continue=bool(expects),
        keep_alive="close" not in tokens and (minor == 1 or "keep-alive" in tokens),
        excess=excess,
    )


def _headers_within_bounds(head: bytes, line_end: int) -> tuple[dict[str, str], HeadSizes | None]:
    """Return the headers by name, and the sizes of the head if one is beyond its bound."""
    lines = head[line_end:]
    headers, fields = _headers(lines)
    if fields <= HEADERS_MAX and len(head) <= LINE_MAX_BYTES:
        return headers, None
    longest = max(map(len, lines.split(b"\r\n"))) if len(head) > LINE_MAX_BYTES else 0
    sizes = HeadSizes(line_end, longest, fields)
    return headers, sizes if sizes.is_beyond else None


def _headers(lines: bytes) -> tuple[dict[str, str], int]:
    """Return the headers by name, and the number of fields; the lines begin with the end of the request line."""
    headers = _Headers()
    try:
        HttpRequestParser(headers).feed_data(_PARSED_LINE + lines)
    except HttpParserUpgrade:
        pass  # the client asks for another protocol, which the server ignores
    except HttpParserError as failure:
        raise BadRequest(f"the request's headers are not HTTP/1.1: {failure}") from None
    return headers.by_name, headers.count


def _target(headers: dict[str, str], method: str, raw_target: str, minor: int) -> str:
    """Return the path and the query; an absolute target has its own host (RFC 9112 3.2.2)."""
    host = headers.get("host")
    if (host is None and minor == 1) or "," in (host or ""):
        raise BadRequest("the request needs exactly one Host header")
    own_host, target = (None, raw_target) if raw_target[0] == "/" else origin_form(raw_target)
    if own_host is not None:
        headers["host"] = host = own_host
    elif target[0] != "/" and (target != "*" or method != "OPTIONS"):
        raise BadRequest("the request's target is neither a path nor an http url")
    if host and not is_authority(host):
        raise BadRequest("Host is not a host name or an address with an optional port")
    return target


def _length(headers: dict[str, str], minor: int) -> int | None:
    """Return the size of the body; the parser accepts one whole number without a coding."""
    coding = headers.get("transfer-encoding")
    if coding is not None:
        if minor == 0:
            raise BadRequest("Transfer-Encoding excludes HTTP/1.0")
        if coding.lower() != "chunked":
            raise BadRequest("the only supported transfer coding is chunked")
        return None
    length = headers.get("content-length")
    return int(length) if length else 0


def is_authority(host: str) -> bool:
    """Return True if this may be the value of a Host header: nothing, or a name or an address with an optional port."""
    match = _AUTHORITY.fullmatch(host)
    if match is None:
        return not host
    address, port = match.groups()
    return int(port or 0) <= _PORT_MAX and (address is None or _is_address(address))


def _is_address(bracketed: str) -> bool:
    try:
        urlsplit(f"//{bracketed}")
    except ValueError:
        return False
    return True


def origin_form(target: str) -> tuple[str | None, str]:
    """Return the host of an absolute target, None if it has none, and its path with its query (RFC 9112 3.2)."""
    match = re.fullmatch(_ABSOLUTE, target, re.IGNORECASE)
    if match is None:
        return None, target
    host, rest = match.groups()
    return host, rest if rest.startswith("/") else "/" + rest
