"""How long a 429 tells its client to wait: Retry-After in seconds, or as an HTTP date."""

from __future__ import annotations

import re

from mockserver.contract.reading import whole_number
from mockserver.core.instants import SECOND, Span, parse
from mockserver.core.journal import Exchange

_WAIT_MAX_SECONDS = 999_999_999
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_HTTP_DATE = re.compile(r"\w{3}, (\d\d) (\w{3}) (\d{4}) (\d\d:\d\d:\d\d) GMT", re.ASCII)


def told_wait(exchange: Exchange) -> Span | None:
    """The wait that the answer's Retry-After asks for; None where it has none that can be read."""
    written = next((value for name, value in exchange.headers if name.lower() == "retry-after"), "").strip()
    seconds = whole_number(written)
    if seconds is not None:
        return min(seconds, _WAIT_MAX_SECONDS) * SECOND
    found = _HTTP_DATE.fullmatch(written)
    if found is None or found[2] not in _MONTHS:
        return None
    day, month, year, time_of_day = found.groups()
    read = parse(f"{year}-{_MONTHS.index(month) + 1:02d}-{day}T{time_of_day}Z")
    return max(0, read[0] - exchange.at) if read is not None else None
