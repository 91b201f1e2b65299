"""The failure of a test as a report reads it, in whatever language the test is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_STOPPED = re.compile(r"time(d )?[ -]?out", re.IGNORECASE)


class Failure(NamedTuple):
    """
    The failure of a test.

    Attributes:
        words: The message of a test in another language, or the one line of `pytest.fail`; else empty.
        is_stop: True if Ctrl-C or a timeout ended the test.
        own_lines: A message that contains its cause, such as an invariant that does not hold; else empty.
        expected: The expectation on calls that does not hold; else None.
        extra: Lines about the last of too many calls.
        nearest: The number of the call with the fewest differences from the expected one; None if there is none.
        raised: The exception and its place, for one that is not a failed assertion; else None.
    """

    words: str = ""
    is_stop: bool = False
    own_lines: Sequence[str] = ()
    expected: str | None = None
    extra: Sequence[str] = ()
    nearest: int | None = None
    raised: str | None = None


def in_words(message: str) -> Failure:
    """Return the failure of a test in another language, by its message."""
    return Failure(message, is_stop=_STOPPED.search(message) is not None)
