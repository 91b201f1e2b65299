"""Printed lines, compared by their parts: the facts that each must contain, whatever the words between them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest


def lacking(lines: Iterable[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return each line that does not contain the parts of its row in their order; there are as many rows as lines."""
    pairs = zip_longest(lines, rows)
    return [f"{line!r} for {row}" for line, row in pairs if line is None or row is None or not _has(line, row)]


def _has(line: str, parts: Sequence[str]) -> bool:
    return re.search(".*".join(map(re.escape, parts)), line) is not None
