"""The public interface that `docs/reference` has, and that of this checkout."""

from __future__ import annotations

import re
from typing import Final

from mockserver.version import VERSION
from tests.public_interface import names, python_names
from tests.public_interface.comparison import Interface

NAMES: Final = python_names.ROOT / "docs" / "reference" / "public-interface.txt"
STUB: Final = NAMES.with_suffix(".pyi")
_HEAD: Final = "version "


def committed() -> Interface:
    """Return the interface that `docs/reference` has."""
    head, *lines = NAMES.read_text(encoding="utf-8").splitlines()
    return Interface(head.removeprefix(_HEAD), tuple(lines), STUB.read_text(encoding="utf-8"))


def current() -> Interface:
    """Return the interface of this checkout."""
    return Interface(VERSION, names.lines(), python_names.stub())


def is_released(version: str) -> bool:
    """Return True if the changelog has a day for a version."""
    changelog = (python_names.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    return re.search(rf"^## {re.escape(version)} - \d", changelog, re.MULTILINE) is not None


def write(interface: Interface) -> None:
    """Write an interface to `docs/reference`."""
    text = "\n".join([f"{_HEAD}{interface.version}", *interface.names])
    NAMES.write_text(f"{text}\n", encoding="utf-8", newline="\n")
    STUB.write_text(interface.stub, encoding="utf-8", newline="\n")
