"""Commands on scenarios and rules: apply a document, list the library, list rules and end them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mockserver.edge import views
from mockserver.edge.hosting import Hosted
from mockserver.edge.refusals import ControlError
from mockserver.edge.replies import redactor
from mockserver.scenario import library
from mockserver.scenario.apply import apply
from mockserver.scenario.documents import ScenarioError

JSON = dict[str, Any]
Arguments = Mapping[str, Any]


def apply_scenario(hosted: Hosted, args: Arguments) -> JSON:
    """Apply a document, or the library's of this name."""
    try:
        by_name = set(args) == {"name"}
        if by_name and not isinstance(args["name"], str):
            raise ControlError(
                400, "MOCK_BAD_SCENARIO", f"name came as {args['name']!r}; wanted the name of a library scenario"
            )
        applied = apply(hosted.sandbox, library.document(args["name"]) if by_name else args).as_json()
        return {**applied, "scenario": redactor(hosted.sandbox).value(applied["scenario"])}
    except ScenarioError as refusal:
        raise ControlError(
            400, "MOCK_BAD_SCENARIO", "the document is refused; nothing of it was applied", refusal.problems
        ) from None


def list_scenarios(hosted: Hosted, args: Arguments) -> JSON:
    documents = [library.document(name) for name in library.paths()]
    return {
        "scenarios": [
            {"name": each["scenario"], "summary": each.get("summary", ""), "clauses": each.get("clauses", [])}
            for each in documents
        ]
    }


def list_rules(hosted: Hosted, args: Arguments) -> JSON:
    """The rules in force with their counts."""
    return {"rules": views.rules(hosted.sandbox)}


def remove_rules(hosted: Hosted, args: Arguments) -> None:
    """End one rule, or all."""
    script = hosted.sandbox.script
    if "id" not in args:
        script.clear()
    elif not script.remove(args["id"]):
        known = ", ".join(script.rules) or "none"
        raise ControlError(404, "MOCK_NOT_FOUND", f"no rule {args['id']!r}; there is {known}")
