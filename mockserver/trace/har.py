"""
HAR 1.2, as Chromium, Firefox, Playwright, mitmproxy, Charles and Postman's tools write it.

They differ in what they leave out: bodies of requests (`postData`), bodies of answers (`content.text`), the time of an
aborted entry. The entries of a sandbox's own HAR are in the order of its calls (`_mockserver`). Pseudo headers of HTTP/2 (`:path`) are no headers. Playwright may store a body in a file of its own (`_file`).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from mockserver._json import JSON
from mockserver.contract.text import whole_number
from mockserver.trace.entries import Entry, RecordingError, answer_status, interval, start_instant, unreadable

OpenFile = Callable[[str], bytes | None]  # the content of a file of this name next to the recording; None without one
_BODILESS = ("GET", "HEAD", "OPTIONS")
_NOT_FROM_SERVICE = ("_fromCache", "_fromDiskCache", "_fromMemoryCache", "_fetchedViaServiceWorker")


def entries(rows: Iterable[Any], name: str, open_file: OpenFile) -> Iterator[Entry]:
    """
    Yield the entries of a HAR.

    Args:
        rows: `log.entries`.
        name: The file's name, for errors.
        open_file: Reads a body that is a file of its own.
    """
    for number, row in enumerate(rows, 1):
        place = f"{name}, entry {number}"
        try:
            entry = _entry(row, place, open_file)
        except RecordingError as problem:
            request = row.get("request") if isinstance(row, dict) else None
            url = request.get("url") if isinstance(request, dict) else None
            entry = unreadable(place, request, url, problem)
        yield entry


def _entry(row: Any, place: str, open_file: OpenFile) -> Entry:
    request, response = _object(row, "request", place), _object(row, "response", place)
    url, method = request.get("url"), request.get("method")
    if not isinstance(url, str) or not isinstance(method, str):
        raise RecordingError(f"{place}: got a request without method and url; expected those of HAR 1.2")
    method = method.upper()
    start = start_instant(row.get("startedDateTime"), place)
    started, ended = interval(start, _duration(row), place)
    request_headers, response_headers = _with_type(_headers(request), request), _headers(response)
    status = answer_status(response.get("status"), place)
    response_body: bytes | None = b""
    if status is not None:
        response_body = _response_body(response, status, method, response_headers, open_file)
    return Entry(
        place=place,
        method=method,
        url=url,
        request_headers=request_headers,
        request_body=_request_body(request, method, request_headers, open_file),
        started=started,
        ended=ended,
        status=status,
        response_headers=response_headers,
        response_body=response_body,
        is_ordered=_has_order_of_calls(row.get("_mockserver")),
        is_cached=status == 304 or any(row.get(key) or response.get(key) for key in _NOT_FROM_SERVICE),
    )


def _has_order_of_calls(note: Any) -> bool:
    """Return True for an entry of a sandbox's own HAR, unless its client gave it up before it arrived."""
    return isinstance(note, dict) and "arrivedAt" not in note


def _object(row: Any, key: str, place: str) -> JSON:
    value = row.get(key) if isinstance(row, dict) else None
    if not isinstance(value, dict):
        raise RecordingError(f"{place}: got no {key}; expected an entry of HAR 1.2")
    return value


def _duration(row: JSON) -> Any:
    """Return the milliseconds of an entry: its time, or the sum of its phases if it has none."""
    time = row.get("time")
    timings = row.get("timings")
    if time is None and isinstance(timings, dict):
        phases = [
            value for key, value in timings.items() if key in ("blocked", "dns", "connect", "send", "wait", "receive")
        ]
        return sum(value for value in phases if isinstance(value, int | float) and value > 0)
    return time


def _headers(message: JSON) -> list[tuple[str, str]]:
    rows = message.get("headers")
    pairs = (
        ((row.get("name"), row.get("value")) for row in rows if isinstance(row, dict)) if isinstance(rows, list) else ()
    )
    return [
        (str(name).lower(), str(value)) for name, value in pairs if name and value is not None and str(name)[0] != ":"
    ]


def _with_type(headers: list[tuple[str, str]], request: JSON) -> list[tuple[str, str]]:
    """Return the headers of a request with the type of its body, which an export without headers has in `postData` alone."""
    posted = request.get("postData")
    kind = posted.get("mimeType") if isinstance(posted, dict) else None
    is_missing = isinstance(kind, str) and kind and "content-type" not in dict(headers)
    return [*headers, ("content-type", str(kind))] if is_missing else headers


def _request_body(request: JSON, method: str, headers: list[tuple[str, str]], open_file: OpenFile) -> bytes | None:
    posted = request.get("postData")
    content = _content(posted, open_file) if isinstance(posted, dict) else None
    if content:
        return content
    length = whole_number(dict(headers).get("content-length", ""))
    size = request.get("bodySize")
    is_empty = size == 0 or method in _BODILESS  # of a form with files Playwright writes the size 0
    if length == 0 or (not length and is_empty):
        return b""
    is_sent = bool(length) or (isinstance(size, int | float) and size > 0) or "content-type" in dict(headers)
    return None if is_sent else b""


def _response_body(
    response: JSON, status: int, method: str, headers: list[tuple[str, str]], open_file: OpenFile
) -> bytes | None:
    recorded = response.get("content")
    content = _content(recorded, open_file) if isinstance(recorded, dict) else None
    if content or method == "HEAD" or status in (204, 304):
        return content or b""
    size = recorded.get("size") if isinstance(recorded, dict) else None
    length = whole_number(dict(headers).get("content-length", ""))
    if length == 0 or (content == b"" and size == 0 and length is None):
        return b""
    return None


def _content(part: JSON, open_file: OpenFile) -> bytes | None:
    """Return the bytes of a body; None if the part has none."""
    if isinstance(part.get("_file"), str):
        return open_file(part["_file"])
    text = part.get("text")
    if not isinstance(text, str):
        return None
    if "base64" in (part.get("encoding"), part.get("_encoding")):
        try:
            return base64.b64decode(text)
        except (binascii.Error, ValueError):
            return None
    return text.encode("utf-8", "surrogatepass")
