"""What a sandbox is made from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from mockserver.scenario import library
from mockserver.scenario.documents import check, plain
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


def document_of(recipe: Recipe) -> dict[str, Any]:
    """The recipe's scenario with its own choices and clock, which win over the scenario's."""
    scenario = recipe.scenario
    document = dict(library.document(scenario) if isinstance(scenario, str) else check(plain(scenario or {})))
    if recipe.choices:
        document["choices"] = joined(document.get("choices", {}), recipe.choices)
    if recipe.clock:
        document["clock"] = recipe.clock
    return document
