"""An entry of a recording before it is known to which service it belongs, as every format is read to; and the error of reading."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mockserver.contract.text import brief
from mockserver.core.instants import EARLIEST, LATEST, MILLISECOND, Instant, parse

_LONGEST_MS = 10**10  # 115 days; no exchange takes longer


class RecordingError(ValueError):
    """A file that is not a recording, or a recording without what was asked for; its text is one line."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """
    One request and its answer; headers and bodies are as those of an `Exchange`.

    Attributes:
        method: As recorded.
        url: Absolute, or from `/` on if the format has no addresses.
        source: As of an exchange.
        request_headers: By lower-case name.
        request_body: b"" if there was none, None if the recorder left it out.
        status: None if no answer arrived.
        response_headers: As those of the request.
        response_body: As that of the request.
        sent_at: When it was sent, rounded down to a millisecond; None if the format has no times.
        ended_at: When the answer was there, rounded up.
        is_ordered: Whether the file's order is that of the calls, which did not overlap.
        is_cached: Whether the answer is from a cache of the recorder.
        problem: Why the entry cannot be read; None if it can.
    """

    method: str
    url: str
    source: str = ""
    request_headers: Mapping[str, str] = field(default_factory=dict)
    request_body: bytes | None = None
    status: int | None = None
    response_headers: Mapping[str, str] = field(default_factory=dict)
    response_body: bytes | None = None
    sent_at: Instant | None = None
    ended_at: Instant | None = None
    is_ordered: bool = False
    is_cached: bool = False
    problem: str | None = None


def unreadable(request: Any, url_member: str, problem: RecordingError) -> Entry:
    """Return an entry that cannot be read, with as much of its request as shows whose it is."""
    members = request if isinstance(request, Mapping) else {}
    method, url = members.get("method"), members.get(url_member)
    return Entry(
        method=method.upper() if isinstance(method, str) else "",
        url=url if isinstance(url, str) else "",
        problem=str(problem),
    )


def joined(pairs: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """Return headers by lower-case name; of several with one name, joined by a comma."""
    headers: dict[str, str] = {}
    for written, value in pairs:
        name = written.lower()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def start_instant(written: Any, place: str) -> Instant:
    """Return an instant; raise RecordingError for a text that is not one."""
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


def interval(start: Instant, duration_ms: Any, place: str) -> tuple[Instant, Instant]:
    """Return start and end, rounded outwards to milliseconds; a duration that is unknown (null, negative) is 0."""
    if duration_ms is None or isinstance(duration_ms, bool):
        duration_ms = 0
    if not isinstance(duration_ms, int | float) or not duration_ms < _LONGEST_MS:
        raise RecordingError(f"{place}: got the time {_short(duration_ms)}; expected milliseconds, such as 12.5")
    end = start + max(0, round(duration_ms * MILLISECOND))
    return start - start % MILLISECOND, end + -end % MILLISECOND


def _short(value: Any) -> str:
    return brief(repr(value), 60)


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
