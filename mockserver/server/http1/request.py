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
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

LINE_MAX_BYTES = 8 * 1024
HEAD_MAX_BYTES = 64 * 1024
HEADERS_MAX = 100

_REQUEST_LINE = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+ [!-~\x80-\xff]+ HTTP/[0-9]\.[0-9]")
_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_BARE_LINE_END = re.compile(rb"(?<!\r)\n|\r[^\n]")
_AUTHORITY = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+;=%-]+|\[[0-9A-Za-z.:%~_-]+\])(?::[0-9]{0,5})?")
_ABSOLUTE = re.compile(r"https?://([^/?]+)(.*)", re.IGNORECASE)
_PARSED_LINE = b"POST / HTTP/1.1"  # the parser gets it in place of each request line


class BadRequest(ValueError):
    """A request is not acceptable HTTP; `why` (ASCII) states the reason, `method` the request's method if it was read."""

    def __init__(self, why: str, method: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.method = method


class RequestHead(NamedTuple):
    """
    One request without its body.

    Attributes:
        raw_target: as received; `target` is its path and query.
        minor: of the version, 0 or 1.
        headers: values by lower-case name; repeated ones are joined with a comma, cookies with a semicolon.
        length: the body's size in bytes, None for a chunked one.
        expects_continue: True if the client waits for `100 Continue`.
        keep_alive: True if the client may send another request.
    """

    method: str
    raw_target: str
    target: str
    minor: int
    headers: dict[str, str]
    length: int | None
    expects_continue: bool
    keep_alive: bool


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


@lru_cache(maxsize=512)
def _header_name(raw: bytes) -> str:
    """Return the name in lower case; empty for one with an underscore, which in WSGI would equal one with a dash."""
    return "" if b"_" in raw else raw.decode("latin-1").lower()


def head_end(received: bytes) -> int:
    """Return the size of the head at the beginning of these bytes with its empty line; 0 if it is not complete."""
    end = received.find(b"\r\n\r\n", 0, HEAD_MAX_BYTES + 4)
    if end >= 0:
        return end + 4
    if not _TOKEN.match(received):
        raise _refused("the request does not begin with a method; this server supports plain HTTP, not TLS", received)
    if len(received) >= LINE_MAX_BYTES + 2 and received.find(b"\r\n", 0, LINE_MAX_BYTES + 2) < 0:
        raise _refused(f"the request line is longer than {LINE_MAX_BYTES} bytes, the mock's own bound", received)
    if len(received) >= HEAD_MAX_BYTES + 4:
        raise _refused(f"the request's head is longer than {HEAD_MAX_BYTES} bytes, the mock's own bound", received)
    if _BARE_LINE_END.search(received):
        raise _refused("a line of the request's head does not end in CR LF", received)
    return 0


def _refused(why: str, received: bytes) -> BadRequest:
    """Return the refusal with its method, also of an incomplete head: the response to HEAD has no body (RFC 9110 9.3.2)."""
    return BadRequest(why, method_of(received))


def method_of(received: bytes) -> str:
    """Return the method at the beginning of these bytes."""
    return received[:LINE_MAX_BYTES].partition(b" ")[0].decode("latin-1")


def parse_head(head: bytes) -> RequestHead:
    """Return the request of a complete head."""
    try:
        return _parsed(head)
    except BadRequest as refusal:
        refusal.method = method_of(head)
        raise


def _parsed(head: bytes) -> RequestHead:
    line_end = head.find(b"\r\n")
    if line_end > LINE_MAX_BYTES:
        raise BadRequest(f"the request line is longer than {LINE_MAX_BYTES} bytes, the mock's own bound")
    match = _REQUEST_LINE.fullmatch(head, 0, line_end)
    if match is None:
        raise BadRequest("the request line is not 'METHOD target HTTP/1.1'")
    method, raw_target, version = match[0].decode("latin-1").split(" ")
    if version[5] != "1":
        raise BadRequest(f"{version} is not supported; expected HTTP/1.1")
    minor = 0 if version[7] == "0" else 1
    headers = _headers(head, line_end)
    target = _target(headers, method, raw_target, minor)
    expects = headers.get("expect", "").lower() if minor else ""
    if expects not in ("", "100-continue"):
        raise BadRequest("the only supported expectation is 100-continue")
    connection = headers.get("connection", "").lower()
    keep_alive = minor == 1
    if connection:
        tokens = [token.strip() for token in connection.split(",")]
        keep_alive = "close" not in tokens and (minor == 1 or "keep-alive" in tokens)
    return RequestHead(method, raw_target, target, minor, headers, _length(headers, minor), bool(expects), keep_alive)


def _headers(head: bytes, line_end: int) -> dict[str, str]:
    if len(head) > LINE_MAX_BYTES and max(map(len, head.split(b"\r\n"))) > LINE_MAX_BYTES:
        raise BadRequest(f"a header is longer than {LINE_MAX_BYTES} bytes, the mock's own bound")
    headers = _Headers()
    try:
        HttpRequestParser(headers).feed_data(_PARSED_LINE + head[line_end:])
    except HttpParserUpgrade:
        pass  # the client asks for another protocol, which the server ignores
    except HttpParserError as failure:
        raise BadRequest(f"the request's headers are not HTTP/1.1: {failure}") from None
    if headers.count > HEADERS_MAX:
        raise BadRequest(f"the request has more than {HEADERS_MAX} headers, the mock's own bound")
    return headers.by_name


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
