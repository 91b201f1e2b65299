"""The format of durations, everywhere: `20m`, `1h30m`, `3500ms`, or a number of seconds."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

_NUMBER = r"\d{1,12}(?:\.\d{1,9})?"
_PLAIN = rf"(?:(?P<d>{_NUMBER})d)?(?:(?P<h>{_NUMBER})h)?(?:(?P<m>{_NUMBER})m(?!s))?(?:(?P<s>{_NUMBER})s)?(?:(?P<ms>{_NUMBER})ms)?"
# The texts that `parse_duration` takes, as a pattern of JSON Schema, whose groups have no names.
PATTERN: Final = f"^(?=.*[0-9]){re.sub(r'[?]P<[a-z]+>', '?:', _PLAIN)}$".replace(r"\d", "[0-9]")
_MICROSECONDS = {"d": 86_400_000_000, "h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "ms": 1_000}
MAX_SECONDS: Final = 10**12


Length = str | float | timedelta  # of Python callers


def length(value: Length) -> str | float:
    """Return a length of time in the format of documents."""
    return value.total_seconds() if isinstance(value, timedelta) else value


def parse_duration(written: object) -> int | None:
    """
    Return the duration in whole microseconds, or None if the value is not one, is negative, or exceeds thirty thousand
    years.
    """
    if isinstance(written, bool):
        return None
    if isinstance(written, int | float):
        return round(written * _MICROSECONDS["s"]) if 0 <= written <= MAX_SECONDS else None
    if not isinstance(written, str):
        return None
    match = re.fullmatch(_PLAIN, written, re.ASCII)
    parts = {unit: count for unit, count in match.groupdict().items() if count} if match else {}
    return sum(round(float(count) * _MICROSECONDS[unit]) for unit, count in parts.items()) if parts else None


def duration_text(microseconds: int) -> str:
    """Return the duration for messages: `0.588 ms`, `250 ms`, `2.1 s`."""
    if abs(microseconds) < 1_000_000:
        return f"{microseconds / 1000:g} ms" if microseconds else "0 s"
    return f"{round(microseconds / 1_000_000, 3):.10g} s"
