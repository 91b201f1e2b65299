"""Commands on scenarios and rules: apply a document, list the library, list and end rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mockserver.scenario import library
from mockserver.scenario.apply import apply
from mockserver.scenario.documents import to_plain
from mockserver.scenario.problems import ScenarioError
from mockserver.scenario.rule_parser import describe_rule
from mockserver.server.api.response import redactor
from mockserver.server.control import views
from mockserver.server.errors import ControlError, refused_document
from mockserver.server.hosting.host import HostedSandbox

JSON = dict[str, Any]
Arguments = Mapping[str, Any]


def apply_scenario(hosted: HostedSandbox, args: Arguments) -> JSON:
    """Apply a document, or the one of the library with this name."""
    try:
        by_name = set(args) == {"name"}
        if by_name and not isinstance(args["name"], str):
            raise ControlError(
                400, "MOCK_BAD_SCENARIO", f"name: got {args['name']!r}; expected the name of a library scenario"
            )
        applied = apply(hosted.sandbox, library.document(args["name"]) if by_name else args).as_json()
        return {**applied, "scenario": redactor(hosted.sandbox).value(applied["scenario"])}
    except ScenarioError as refusal:
        raise refused_document(refusal, "nothing of it was applied") from None


def list_scenarios(hosted: HostedSandbox, args: Arguments) -> JSON:
    documents = [library.document(name) for name in library.paths()]
    return {
        "scenarios": [
            {"name": row["scenario"], "summary": row.get("summary", ""), "clauses": row.get("clauses", [])}
            for row in documents
        ]
    }


def read_scenario(hosted: HostedSandbox, args: Arguments) -> JSON:
    """Return the document of a library scenario, with a sentence for each of its rules."""
    try:
        document = library.document(args["name"])
    except ScenarioError as refusal:
        raise ControlError(404, "MOCK_NOT_FOUND", f"scenario: {refusal.problems[0]}", refusal.problems) from None
    return {"document": to_plain(document), "rules": [describe_rule(rule) for rule in document.get("script", ())]}


def list_rules(hosted: HostedSandbox, args: Arguments) -> JSON:
    """Return the rules in force with their counts."""
    return {"rules": views.rules(hosted.sandbox)}


def remove_rules(hosted: HostedSandbox, args: Arguments) -> None:
    """End one rule, or all."""
    rules = hosted.sandbox.rule_set
    if "id" not in args:
        rules.clear()
    elif not rules.remove(args["id"]):
        known = ", ".join(rules.rules) or "none"
        raise ControlError(404, "MOCK_NOT_FOUND", f"rule: got {args['id']!r}; expected {known}")
