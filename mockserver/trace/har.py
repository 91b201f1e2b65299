"""
HAR 1.2, as Chromium, Firefox, Playwright, mitmproxy, Charles and Postman's tools write it.

They differ in what they leave out: bodies of requests (`postData`), bodies of answers (`content.text`), the time of an
aborted entry. The entries of a sandbox's own HAR are in the order of its calls (`_mockserver`). Pseudo headers of HTTP/2 (`:path`) are no headers.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mockserver._json import JSON
from mockserver.contract.text import whole_number
from mockserver.trace.entries import Entry, RecordingError, answer_status, interval, joined, start_instant, unreadable

_BODILESS = ("GET", "HEAD", "OPTIONS")
_NOT_FROM_SERVICE = ("_fromCache", "_fromDiskCache", "_fromMemoryCache", "_fetchedViaServiceWorker")


def entries(rows: Iterable[Any], file: Path) -> Iterator[Entry]:
    """Yield the entries of a HAR, `log.entries`."""
    for number, row in enumerate(rows, 1):
        try:
            entry = _entry(row, f"{file.name}, entry {number}")
        except RecordingError as problem:
            entry = unreadable(row.get("request") if isinstance(row, dict) else None, "url", problem)
        yield entry


def _entry(row: Any, place: str) -> Entry:
    request, response = _object(row, "request", place), _object(row, "response", place)
    url, method = request.get("url"), request.get("method")
    if not isinstance(url, str) or not isinstance(method, str):
        raise RecordingError(f"{place}: got a request without method and url; expected those of HAR 1.2")
    method = method.upper()
    sent_at, ended_at = interval(start_instant(row.get("startedDateTime"), place), row.get("time"), place)
    status = answer_status(response.get("status"), place)
    request_headers, response_headers = _headers(request), _headers(response)
    posted = request.get("postData")
    if isinstance(posted, dict) and isinstance(posted.get("mimeType"), str) and posted["mimeType"]:
        request_headers = {"content-type": posted["mimeType"], **request_headers}  # an export may have no headers
    response_body: bytes | None = b""
    if status is not None:
        response_body = _response_body(response, status, method, response_headers)
    return Entry(
        method=method,
        url=url,
        request_headers=request_headers,
        request_body=_request_body(request, method, request_headers),
        status=status,
        response_headers=response_headers,
        response_body=response_body,
        sent_at=sent_at,
        ended_at=ended_at,
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


def _headers(message: JSON) -> Mapping[str, str]:
    rows = message.get("headers")
    named = [row for row in rows if isinstance(row, dict) and row.get("name")] if isinstance(rows, list) else []
    pairs = [(str(row["name"]), row.get("value")) for row in named]
    return joined((name, str(value)) for name, value in pairs if value is not None and not name.startswith(":"))


def _request_body(request: JSON, method: str, headers: Mapping[str, str]) -> bytes | None:
    content = _content(request.get("postData"))
    if content:
        return content
    length = whole_number(headers.get("content-length", ""))
    size = request.get("bodySize")
    if length == 0 or (length is None and (size == 0 or method in _BODILESS)):
        return b""
    # Of a form with files Playwright writes the size 0, and the length alone shows it.
    was_sent = length is not None or (isinstance(size, int | float) and size > 0) or "content-type" in headers
    return None if was_sent else b""


def _response_body(response: JSON, status: int, method: str, headers: Mapping[str, str]) -> bytes | None:
    recorded = response.get("content")
    content = _content(recorded)
    if content or method == "HEAD" or status in (204, 304):
        return content or b""
    length = whole_number(headers.get("content-length", ""))
    size = recorded.get("size") if isinstance(recorded, dict) else None
    is_empty = length == 0 or (content == b"" and size == 0 and length is None)
    return b"" if is_empty else None


def _content(part: Any) -> bytes | None:
    """Return the bytes of a body; None if the part has none."""
    if not isinstance(part, dict):
        return None
    text = part.get("text")
    if not isinstance(text, str):
        return None
    if "base64" in (part.get("encoding"), part.get("_encoding")):
        try:
            return base64.b64decode(text)
        except ValueError:
            return None
    return text.encode("utf-8", "surrogatepass")
