"""
Exemption of this package from pytest's assertion rewriting.

pytest rewrites every module of a distribution that contains a plugin. No module of this package has assertions for a
test to read, and where no bytecode may be cached, every start pays for the rewriting. Measured with cold caches, three
runs each by turns: a suite of one test takes 1.9 s of processor time with this finder and 2.2 s without it, 0.3 s more.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

_PACKAGE = f"{__name__.partition('.')[0]}."


class NoRewriteFinder:
    """Finder of this package's modules that loads them without rewriting; it finds no other modules."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the spec that Python's own path finder returns, or None for a module of another package."""
        return PathFinder.find_spec(name, path, target) if name.startswith(_PACKAGE) else None


def load_as_written() -> None:
    """Install the finder before all others; a second call changes nothing."""
    if NoRewriteFinder not in sys.meta_path:
        sys.meta_path.insert(0, NoRewriteFinder)
