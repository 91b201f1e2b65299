"""
Phone numbers in E.164: read from texts with a country code, or as they are dialled in Brazil.

Of a number with a country code the length is enough, since tests use invented numbers.
"""

from __future__ import annotations

import re
from typing import Final

EXAMPLE: Final = "11 99876-5432"
EXPECTED: Final = (
    f"a phone number as it is dialled in Brazil, such as {EXAMPLE}, or one with its country code, such as +55 {EXAMPLE}"
)
_WRITTEN: Final = re.compile(r"\s*\+?[0-9\s().\-/]+", re.ASCII)
# Of Brazil, of North America, such as `+1 201 555-0123`, and of any other country: an area code with a plus is none of them.
_INTERNATIONAL: Final = re.compile(r"\+(?:55[1-9][0-9]{9,10}|1[2-9][0-9]{9}|(?!55|1)[1-9][0-9]{6,14})")
# Of an area, a mobile or another number; before it the digits of a call to another area by some carrier, or the country's.
_DIALLED: Final = re.compile(r"(?:0(?:[1-9][0-9])?|55)?([1-9]{2}(?:9[0-9]{8}|[2-5][0-9]{7}))")
_BRAZILIAN: Final = re.compile(r"\+55([1-9][0-9])([0-9]{4,5})([0-9]{4})")


def normalize_phone(text: str) -> str | None:
    """Return the number as `+` and its digits, or None if it cannot be one."""
    if _WRITTEN.fullmatch(text) is None:
        return None
    digits = re.sub(r"[^0-9+]", "", text)
    if _INTERNATIONAL.fullmatch(digits):
        return digits
    dialled = _DIALLED.fullmatch(digits)
    return f"+55{dialled[1]}" if dialled else None


def readable(phone: str) -> str:
    """Return a Brazilian number in E.164 as a person reads it, such as `+55 11 91180-1108`; any other text unchanged."""
    parts = _BRAZILIAN.fullmatch(phone)
    return f"+55 {parts[1]} {parts[2]}-{parts[3]}" if parts else phone
