"""What a sandbox is made from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from mockserver.scenario import library
from mockserver.scenario.documents import Document, check
from mockserver.scenario.profiles import joined


class Recipe(NamedTuple):
    """What a sandbox is made from; a document named by `scenario` comes first, then choices, clock and given."""

    scenario: str | Mapping[str, Any] | None = None
    seed: int | None = None
    choices: Mapping[str, object] | None = None
    clock: Mapping[str, Any] | None = None
    given: Mapping[str, Any] | None = None

    def __repr__(self) -> str:  # a document may hold keys
        return f"Recipe(seed={self.seed!r})"


def document_of(recipe: Recipe) -> Document:
    """The recipe's scenario with its own choices and clock, which win over the scenario's; nothing of it is checked yet."""
    named = library.document(recipe.scenario) if isinstance(recipe.scenario, str) else recipe.scenario or {}
    if not isinstance(named, Mapping):
        check(named)
    scenario = named if isinstance(named, Document) else Document(named)
    choices, own = scenario.get("choices", {}), recipe.choices or {}
    joint = joined(choices, own) if isinstance(choices, Mapping) else choices  # what is no object is refused as it is
    return scenario.with_settings(joint, recipe.clock, own)
