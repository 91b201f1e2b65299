"""Reading numbers and dates out of text from outside: whatever the text holds, the answer is a value or None."""

from __future__ import annotations

import re
from datetime import datetime
from email.utils import parsedate_to_datetime

_WHOLE = re.compile("[0-9]{1,15}")  # exact as a double too; longer ones are no count, size or wait of anything


def whole_number(text: str) -> int | None:
    """Return the number that these ASCII digits write, at most fifteen; None for any other text."""
    return int(text) if _WHOLE.fullmatch(text) else None


def http_date(text: str) -> datetime | None:
    """Return the moment of an HTTP date, naive where it names no zone; None where the text is none."""
    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):  # the last for numbers beyond what a date can hold
        return None
