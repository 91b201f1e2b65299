"""The choices of a sandbox that record which of them are read."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from mockserver.contract.choices import DEFAULTS

_DEFAULTS: Final = dict(DEFAULTS)  # copied faster than a proxy


class TrackedChoices(dict[str, Any]):
    """The choices in force; the set `read` gets the id of each choice that is read, also through a copy."""

    def __init__(self, choices: Mapping[str, Any] = DEFAULTS, read: set[str] | None = None) -> None:
        if choices is DEFAULTS:
            choices = _DEFAULTS
        # Another proxy of a dict copies itself faster than `dict` reads it.
        super().__init__(choices.copy() if isinstance(choices, MappingProxyType) else choices)
        self.read = read if read is not None else set()

    def __getitem__(self, choice: str) -> Any:
        self.read.add(choice)
        return super().__getitem__(choice)

    def copy(self) -> TrackedChoices:
        return TrackedChoices(dict(self), self.read)
