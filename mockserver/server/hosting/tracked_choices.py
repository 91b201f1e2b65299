"""The choices of a sandbox whose reads are noted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


class TrackedChoices(dict[str, Any]):
    """The choices in force; `on_read` gets the id of each choice that is read, also through a copy."""

    def __init__(self, choices: Mapping[str, Any], on_read: Callable[[str], None]) -> None:
        super().__init__(choices)
        self._on_read = on_read

    def __getitem__(self, choice: str) -> Any:
        self._on_read(choice)
        return super().__getitem__(choice)

    def copy(self) -> TrackedChoices:
        return TrackedChoices(self, self._on_read)
