"""The failure of a test as a report reads it, in whatever language the test is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_PLACE = re.compile(r"(?<![:/\w.\\-])[\w./\\-]+\.[A-Za-z]\w*:[1-9]\d*\b")
_STOPPED = re.compile(r"time(d )?[ -]?out", re.IGNORECASE)


class Failure(NamedTuple):
    """
    The failure of a test.

    Attributes:
        words: The message of a test in another language, or the one line of `pytest.fail`; else empty.
        is_stop: True if Ctrl-C or a timeout ended the test.
        own_lines: A message that contains its cause, such as an invariant that does not hold; else empty.
        expected: The expectation on calls that does not hold; else None.
        extra: Lines about the last of too many calls, or about the nearest of too few.
        nearest: The number of the call with the fewest differences from the expected one; None if there is none.
        raised: The exception, for one that is not a failed assertion; else None.
        asserted: The first line of a failed assertion's message; else None.
        is_unresolved: True if a client looked up the name of calls in process, which has no address.
        place: File, line and source of the failure, and of the line of the test that led there; empty if it is not known.
    """

    words: str = ""
    is_stop: bool = False
    own_lines: Sequence[str] = ()
    expected: str | None = None
    extra: Sequence[str] = ()
    nearest: int | None = None
    raised: str | None = None
    asserted: str | None = None
    is_unresolved: bool = False
    place: str = ""

    @property
    def line(self) -> str:
        """The failure in one line, empty if its own lines say it."""
        at = f" at {self.place}" if self.place else ""
        if self.words:
            return f"the test failed{at}: {self.words.strip().splitlines()[0]}"
        if self.raised is not None:
            return f"The test raised {self.raised}{at}"
        return f"The test failed{at}: {self.asserted}" if self.asserted is not None else ""


def in_words(message: str) -> Failure:
    """Return the failure of a test in another language, by its message and the first file and line in it."""
    place = _PLACE.search(message)
    return Failure(message, is_stop=_STOPPED.search(message) is not None, place=place[0] if place else "")
