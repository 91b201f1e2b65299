"""
Keeping pytest's assertion rewriting off this package.

pytest rewrites every module of a distribution that brings a plugin; of this one that is some two hundred, none of which
has an assertion for a test to read, and where no bytecode may be kept it is paid for at each start.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

_PACKAGE = f"{__name__.partition('.')[0]}."


class NoRewriteFinder:
    """A finder that leads to the modules of this package as they were compiled; it knows no others."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        return PathFinder.find_spec(name, path, target) if name.startswith(_PACKAGE) else None


def load_as_written() -> None:
    """From now on modules of this package are found here first; a second time changes nothing."""
    if NoRewriteFinder not in sys.meta_path:
        sys.meta_path.insert(0, NoRewriteFinder)
