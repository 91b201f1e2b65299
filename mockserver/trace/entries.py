"""An entry of a recording before it is known to which service it belongs, as every format is read to; and the error of reading."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from mockserver.core.instants import EARLIEST, LATEST, MILLISECOND, Instant, parse

_LONGEST_MS = 10**10  # 115 days; no exchange takes longer


class RecordingError(ValueError):
    """A file that is not a recording, or a recording without what was asked for; its text is one line."""


class Entry(NamedTuple):
    """
    One request and its response.

    Attributes:
        place: Where it is, for an error: `recording.har, entry 3`.
        method: As recorded.
        url: Absolute, or from `/` on if the format has no addresses.
        request_headers: Pairs as recorded.
        request_body: None if the recorder left it out.
        started: Milliseconds since 1970, rounded down; None if the format has no times.
        ended: Likewise, rounded up.
        status: None if no answer arrived.
        response_headers: Pairs as recorded.
        response_body: None if the recorder left it out.
        is_cached: Whether the answer is from a cache of the recorder.
        is_ordered: Whether the file's order is that of the calls, which did not overlap.
        problem: Why the entry cannot be read, which matters only if its address is the API's; None if it can.
    """

    place: str
    method: str
    url: str
    request_headers: Iterable[tuple[str, str]]
    request_body: bytes | None
    started: int | None
    ended: int | None
    status: int | None
    response_headers: Iterable[tuple[str, str]]
    response_body: bytes | None
    is_cached: bool = False
    is_ordered: bool = False
    problem: str | None = None


def unreadable(place: str, request: Any, url: Any, problem: RecordingError) -> Entry:
    """Return an entry that cannot be read, with as much of its request as shows whose it is."""
    method = request.get("method") if isinstance(request, Mapping) else None
    return Entry(
        place=place,
        method=method.upper() if isinstance(method, str) else "",
        url=url if isinstance(url, str) else "",
        request_headers=(),
        request_body=None,
        started=None,
        ended=None,
        status=None,
        response_headers=(),
        response_body=None,
        problem=str(problem),
    )


def start_instant(written: Any, place: str) -> Instant:
    """Return the microseconds of an instant; raise RecordingError for a text that is not one."""
    parsed = parse(written) if isinstance(written, str) else None
    if parsed is None or not EARLIEST <= parsed[0] <= LATEST:
        expected = "a date and time of ISO 8601, such as 2026-03-01T12:00:00.000Z"
        raise RecordingError(f"{place}: got the start {_short(written)}; expected {expected}")
    return parsed[0]


def answer_status(written: Any, place: str) -> int | None:
    """Return a status; None for one that recorders write if no answer arrived: none, null, 0 or a negative number."""
    if written is None:
        return None
    is_whole = isinstance(written, int | float) and not isinstance(written, bool) and written % 1 == 0
    if not is_whole or not (written <= 0 or 100 <= written <= 999):
        raise RecordingError(
            f"{place}: got the status {_short(written)}; expected a number such as 200, or 0 without an answer"
        )
    return int(written) if written > 0 else None


def interval(start: Instant, duration_ms: Any, place: str) -> tuple[int, int]:
    """Return start and end in whole milliseconds, rounded outwards; a duration that is unknown (null, negative) is 0."""
    if duration_ms is None or isinstance(duration_ms, bool):
        duration_ms = 0
    if not isinstance(duration_ms, int | float) or not duration_ms < _LONGEST_MS:
        raise RecordingError(f"{place}: got the time {_short(duration_ms)}; expected milliseconds, such as 12.5")
    span_us = max(0, round(duration_ms * MILLISECOND))
    return start // MILLISECOND, -(-(start + span_us) // MILLISECOND)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def decompressed(body: bytes, headers: Mapping[str, str]) -> bytes | None:
    """Return a body without its Content-Encoding, as it is if it has none or has been decoded; None if it cannot be decoded."""
    encoding = headers.get("content-encoding", "").strip().lower()
    try:
        if encoding in ("gzip", "x-gzip") and body.startswith(b"\x1f\x8b"):
            return gzip.decompress(body)
        if encoding == "deflate" and body[:1] not in b"{[":
            return zlib.decompress(body)
    except (OSError, EOFError, zlib.error):
        return None
    return body
