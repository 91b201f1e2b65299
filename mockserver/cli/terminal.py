"""How far a run is, for a person at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows how far a run is, in one line of the terminal, which is cleared at the end."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    yield lambda text: print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
    print("\r\x1b[K", end="", file=sys.stderr, flush=True)
