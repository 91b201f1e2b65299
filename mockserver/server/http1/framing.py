"""Framing of responses by RFC 9112: the head, the part of the body that is sent, and the end of the connection."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from typing import NamedTuple

from mockserver.server.http1.messages import Response
from mockserver.server.http1.reason_phrases import reason_phrase

_LENGTH = re.compile("[0-9]{1,15}")
_STATUS_MIN, _STATUS_MAX = 200, 999


class Framed(NamedTuple):
    """
    The beginning of a response.

    Attributes:
        data: the head, with the body if that is whole.
        left_bytes: of the body in pieces, which follow.
        persists: True if the connection may carry another request after the response.
    """

    data: bytes
    left_bytes: int
    persists: bool


def frame(response: Response, method: str = "", minor: int = 1, persists: bool = False) -> Framed:
    """
    Return the bytes of the response to a request; the defaults are for bytes that are not a request.

    Args:
        method: of the request.
        minor: of its version, 0 or 1.
        persists: True if the connection may carry another request.

    Raises:
        ValueError: the status, a header or the length is invalid.
    """
    status, headers, body = response.status, response.headers, response.body
    is_empty = status in (204, 304)
    whole_bytes = len(body) if isinstance(body, bytes) and not is_empty else None
    head, length, closes = _beginning(status, headers, whole_bytes)
    if length is None and not is_empty:
        raise ValueError("got a body in pieces without Content-Length; expected one")
    has_body = not is_empty and method != "HEAD"
    sent, left_bytes, is_short = _body_part(body, length) if has_body else (b"", 0, False)
    persists = persists and not (closes or is_short)
    if not persists:
        head += b"Connection: close\r\n"
    elif minor == 0:
        head += b"Connection: keep-alive\r\n"
    return Framed(head + b"\r\n" + sent, left_bytes, persists)


def _body_part(body: bytes | AsyncIterator[bytes], length: int | None) -> tuple[bytes, int, bool]:
    """Return the part of a body that follows its head, the bytes that come in pieces, and True if the body ends too early."""
    if not isinstance(body, bytes):
        return b"", length or 0, False
    sent = body[:length]  # bytes beyond it would be read as the beginning of the next response
    return sent, 0, length is not None and len(sent) < length


def _beginning(status: int, headers: tuple[tuple[str, str], ...], length: int | None) -> tuple[bytes, int | None, bool]:
    """Return the status line with the headers, the body's length, and True if a header closes the connection."""
    if not _STATUS_MIN <= status <= _STATUS_MAX:
        raise ValueError(f"got status {status}; expected that of a final response, {_STATUS_MIN} to {_STATUS_MAX}")
    lines = [f"HTTP/1.1 {status} {reason_phrase(status)}"]
    is_dated = is_sized = closes = False
    for name, value in headers:
        key = name.lower()
        if key == "connection" or key == "transfer-encoding":
            closes = closes or (key == "connection" and value.lower() == "close")
            continue
        if key == "content-length":
            if status == 204:
                continue
            if not _LENGTH.fullmatch(value):
                raise ValueError(f"got Content-Length {value!r}; expected 1 to 15 digits")
            length, is_sized = int(value), True
        is_dated = is_dated or key == "date"
        lines.append(f"{name}: {value}")
    if not is_dated:
        lines.append(f"Date: {_date(int(time.time()))}")
    if length is not None and not is_sized:
        lines.append(f"Content-Length: {length}")
    head = "\r\n".join(lines)
    if head.count("\n") != len(lines) - 1 or head.count("\r") != len(lines) - 1:
        raise ValueError("a header of the response contains a line end")
    return head.encode("latin-1") + b"\r\n", length, closes


# Of the years 1 and 9999. A clock can be beyond: the last microseconds of 9999 are rounded up.
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799


def _date(second: int) -> str:
    from email.utils import formatdate  # late: it is slow to import, and most responses have a `Date` already

    return formatdate(min(max(_FIRST_SECOND, second), _LAST_SECOND), usegmt=True)
