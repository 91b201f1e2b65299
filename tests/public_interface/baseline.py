"""The public interface of the last release, as `docs/reference` has it, and that of this checkout."""

from __future__ import annotations

from typing import Final

from mockserver.version import VERSION
from tests.public_interface import names, python_names
from tests.public_interface.comparison import Interface

NAMES: Final = python_names.ROOT / "docs" / "reference" / "public-interface.txt"
STUB: Final = NAMES.with_suffix(".pyi")
_HEAD: Final = "version "


def committed() -> Interface:
    """Return the interface of the last release."""
    head, *lines = NAMES.read_text(encoding="utf-8").splitlines()
    return Interface(head.removeprefix(_HEAD), tuple(lines), STUB.read_text(encoding="utf-8"))


def current() -> Interface:
    """Return the interface of this checkout."""
    return Interface(VERSION, names.lines(), python_names.stub())


def write(interface: Interface) -> None:
    """Make an interface that of the last release."""
    text = "\n".join([f"{_HEAD}{interface.version}", *interface.names])
    NAMES.write_text(f"{text}\n", encoding="utf-8", newline="\n")
    STUB.write_text(interface.stub, encoding="utf-8", newline="\n")
