"""What commands write for a person at a terminal: lines that fit its width, and how far a run is."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TextIO

_COLUMNS_MIN: Final = 60
_INDENT: Final = 4  # of the further lines of one without columns, beyond its own
_GAP: Final = re.compile(r".*\S {2,}(?=\S)")  # up to the last column of a line
_PASTED: Final = "curl -"  # a command: in two lines a shell takes it for two


def columns(out: TextIO) -> int | None:
    """Return the width of the terminal to which a stream writes, at least 60; None for a file or a pipe."""
    if not out.isatty():
        return None
    import shutil  # late: it takes 3 ms, for a terminal alone

    return max(shutil.get_terminal_size().columns, _COLUMNS_MIN)


def fit(text: str, out: TextIO) -> str:
    """
    Return lines as they are written to a stream: wrapped with a hanging indent at a terminal, else unchanged.

    A word is not broken, and a command to paste stays in one line.
    """
    width = columns(out)
    if width is None:
        return text
    return "\n".join(_wrapped(line, width) for line in text.split("\n"))


def _wrapped(line: str, width: int) -> str:
    if len(line) <= width or _PASTED in line:
        return line
    most = width * 3 // 5  # of an indent
    gap = _GAP.match(line[:most])
    words = line.lstrip()
    own_indent = len(line) - len(words)
    indent = gap.end() if gap else min(own_indent + _INDENT, most)
    return textwrap.fill(
        words,
        width,
        initial_indent=" " * own_indent,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows how far a run is, in one line of the terminal, which is cleared at the end."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    yield lambda text: print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
    print("\r\x1b[K", end="", file=sys.stderr, flush=True)
