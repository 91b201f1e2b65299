"""Choices that remember which of them were read, for whoever wants to know what a run depends on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mockserver.contract.choices import DEFAULTS


class Witness(dict[str, Any]):
    """The choices in force; `read` grows by the id of each that is read, also by those who copy them."""

    def __init__(self, choices: Mapping[str, Any] = DEFAULTS, read: set[str] | None = None) -> None:
        super().__init__(choices)
        self.read = read if read is not None else set()

    def __getitem__(self, choice: str) -> Any:
        self.read.add(choice)
        return super().__getitem__(choice)

    def copy(self) -> Witness:
        return Witness(dict(self), self.read)
