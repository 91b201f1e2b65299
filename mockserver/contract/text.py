"""
Text from outside: the nearest name, printable forms, and parsers of numbers, dates and JSON that never raise.

The cost of the search for the nearest name has a bound, whatever was received and however many names there are:

1. Of few names, one that differs in letter case alone is the nearest, else the most alike by `difflib`, else one that
   begins with the text; for a text of up to three letters one that is one edit away.
2. Of many (a tenant's chats, say) none is: the search would read them all.
3. A text that is too long to be a misspelt name has no nearest.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Any

NAME_MAX_CHARS = 100
COMPARED_MAX = 250
_ALPHABET = string.ascii_letters + string.digits + "_-."


LIKENESS = 0.6  # of two spellings of one name; two names of this project by chance are below it
_SHORT_CHARS = 3


def closest_match(received: object, known: Iterable[str], *, likeness: float = LIKENESS) -> str | None:
    """
    Return the valid name that is most like the received one, or that begins with it, or None if none is near.

    Args:
        received: The received name; any other value counts as its text.
        known: The valid names; of more than `COMPARED_MAX` none is returned.
        likeness: How alike the two have to be, from 0 to 1.
    """
    name = received if isinstance(received, str) else str(received).strip("[]'")
    if len(name) > NAME_MAX_CHARS:
        return None
    names = list(islice(known, COMPARED_MAX + 1))
    if len(names) > COMPARED_MAX:
        return None
    short = [text for text in map(str, names) if len(text) <= NAME_MAX_CHARS]
    same = next((text for text in short if text.casefold() == name.casefold()), None)
    if same is not None or len(name) <= _SHORT_CHARS:  # of so few letters, half are alike by chance: `on`, `none`
        return same or next((edited for edited in _edits(name) if edited in short), None)
    near = next(iter(get_close_matches(name, short, n=1, cutoff=likeness)), None)
    return near or next((text for text in short if text.startswith(name)), None)


def closest_match_hint(received: object, known: Iterable[str], *, likeness: float = LIKENESS) -> str:
    """Return the end of a message, `; did you mean 'NAME'?`, or nothing if no known name is near the one received."""
    return did_you_mean(closest_match(received, known, likeness=likeness))


def did_you_mean(name: str | None) -> str:
    """Return the end of a message that proposes this name, or nothing for None."""
    return f"; did you mean {name!r}?" if name else ""


def _edits(name: str) -> Iterator[str]:
    """Yield the names that are one edit away, also in letter case; a neighbouring pair swapped is one edit."""
    yield from (name.strip(), name.lower())
    for place in range(len(name) + 1):
        before, after = name[:place], name[place:]
        if after:
            yield before + after[1:]
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]
        for char in _ALPHABET:
            yield before + char + after
            if after:
                yield before + char + after[1:]


def printable(text: str, keep: str = "") -> str:
    """
    Return the text with a backslash escape for each character that a terminal would interpret or not show.

    Args:
        text: Any text, also one with control characters.
        keep: Characters that stay as they are.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in keep else char.encode("unicode_escape").decode() for char in text
    )


def brief(text: str, limit_chars: int) -> str:
    """Return the text, or its beginning and `...` if it is longer than `limit_chars` characters."""
    return text if len(text) <= limit_chars else text[: limit_chars - 3] + "..."


def camel_case(name: str) -> str:
    """Return a snake_case name in the form of a member of a JSON object."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def pointer_step(key: object) -> str:
    """Return a key as one step of a JSON Pointer."""
    return "/" + str(key).replace("~", "~0").replace("/", "~1")


def pointer_keys(pointer: str) -> list[str]:
    """Return the keys of a JSON Pointer."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def json_value(text: str | bytes, fallback: Any = None) -> Any:
    """Return the JSON value of a text, or `fallback` if it is not JSON, is nested too deeply or is not UTF-8."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return fallback


_DOUBLES_EXACT_BELOW = 2**53


def number(written: str) -> int | float | Decimal:
    """
    Return the value of a JSON number: an int if it is whole, a Decimal if the nearest double would be a wrong integer.

    A number beyond every double is infinite; any other text than a number raises ValueError.
    """
    rounded = float(written)
    if not rounded.is_integer():  # a fraction, or infinity
        return rounded
    try:
        exact = Decimal(written)
    except InvalidOperation:  # an exponent that not even a Decimal has: below every double
        return rounded
    return int(exact) if exact == exact.to_integral_value() else exact


def as_written(value: Any) -> Any:
    """Return a double from 2**53 on as the integer that its shortest text is, so that both compare alike; else the value."""
    is_large = isinstance(value, float) and abs(value) >= _DOUBLES_EXACT_BELOW
    return number(repr(value)) if is_large else value


_ASCTIME = "[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2} [0-9]{4}"
_WHOLE = re.compile("[0-9]{1,15}")  # exact as a double; no count, size or wait is longer


def whole_number(text: str) -> int | None:
    """Return the number of at most fifteen ASCII digits, or None for any other text."""
    return int(text) if _WHOLE.fullmatch(text) else None


def http_date(text: str) -> datetime | None:
    """
    Return the moment of an HTTP date, or None for any other text.

    Of the three formats (RFC 9110, 5.6.7) that of asctime names no zone and is in UTC; any other text without one has none.
    """
    try:
        moment = parsedate_to_datetime(text)
        return moment.replace(tzinfo=UTC) if re.fullmatch(_ASCTIME, text) else moment
    except (ValueError, TypeError, OverflowError):  # OverflowError: numbers beyond the range of a date
        return None


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, such as `1 call`, `2 calls` and `3 deliveries`."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun[:-1]}ies" if noun.endswith("y") else f"{count} {noun}s"
