"""
Text from outside: the nearest name, printable forms, and readings of numbers and dates that never raise.

The search for the name that a misspelt one most likely means.

Its cost has a bound, whatever was received and however many names there are:

1. Of few names, one that differs in letter case alone is the nearest, else the most alike by `difflib`.
2. Of many (a tenant's chats, say), only a name that is one edit away is found: the edits are looked up, not the names read.
3. A text that is too long to be a misspelt name has no nearest.

Texts of a stranger, made safe to print.

Reading numbers and dates out of text from outside: whatever the text holds, the answer is a value or None.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from difflib import get_close_matches
from email.utils import parsedate_to_datetime
from typing import Any

NAME_MAX_CHARS = 100
COMPARED_MAX = 250
_ALPHABET = string.ascii_letters + string.digits + "_-."


def nearest(received: object, known: Iterable[str], *, likeness: float = 0.5) -> str | None:
    """Return the known name that is most like the one received, or None if none is; `likeness` is from 0 to 1."""
    name = str(received)
    if len(name) > NAME_MAX_CHARS:
        return None
    names: Any = known if hasattr(known, "__len__") else list(known)
    if len(names) > COMPARED_MAX:
        names = names if isinstance(names, Mapping | AbstractSet) or hasattr(names, "get") else frozenset(names)
        return next((edited for edited in _edits(name) if edited in names), None)
    short = [text for text in map(str, names) if len(text) <= NAME_MAX_CHARS]
    same = next((text for text in short if text.casefold() == name.casefold()), None)
    return same or next(iter(get_close_matches(name, short, n=1, cutoff=likeness)), None)


def nearest_hint(received: object, known: Iterable[str], *, likeness: float = 0.5) -> str:
    """End a sentence with the known name that is nearest to the one received, or with nothing if none is near."""
    name = nearest(received, known, likeness=likeness)
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
    """The text with a backslash escape for each character that a terminal would act on or not show, but for those in `keep`."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in keep else char.encode("unicode_escape").decode() for char in text
    )


def camel_case(name: str) -> str:
    """Return a snake_case name as the member of a JSON object that stands for it."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


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
