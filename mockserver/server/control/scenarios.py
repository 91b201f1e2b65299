"""Commands on scenarios and rules: apply a document, list the library, list and end rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from mockserver.contract.effects.descriptions import describe_rule
from mockserver.core.redaction import to_json_text
from mockserver.scenario import library
from mockserver.scenario.apply import apply
from mockserver.scenario.documents import to_plain
from mockserver.scenario.problems import ScenarioError
from mockserver.scenario.rule_parser import BOUNDED
from mockserver.server.control import views
from mockserver.server.errors import ControlError, refused_document, unknown_id
from mockserver.server.hosting.host import HostedSandbox
from mockserver.wire.response import redactor

if TYPE_CHECKING:
    from mockserver.server.control import answers

Arguments = Mapping[str, Any]


def apply_scenario(hosted: HostedSandbox, args: Arguments) -> answers.AppliedScenario:
    """Apply a document, or the one of the library with this name."""
    try:
        by_name = "name" in args
        if by_name and not (isinstance(args["name"], str) and len(args) == 1):
            others = next((f" with {key}" for key in args if key != "name"), "")
            expected = "the name of a library scenario alone, or a document, which has no name"
            raise ControlError(
                "MOCK_BAD_SCENARIO", f"name: got {to_json_text(args['name'])}{others}; expected {expected}"
            )
        applied = apply(hosted.sandbox, library.document(args["name"]) if by_name else args).as_json()
        shown = {**applied, "scenario": redactor(hosted.sandbox).value(applied["scenario"])}
        return cast("answers.AppliedScenario", shown)
    except ScenarioError as refusal:
        if by_name:
            refusal = ScenarioError(problem._replace(path="/name") for problem in refusal.problems)
        raise refused_document(refusal, "nothing of it was applied") from None


def add_rules(hosted: HostedSandbox, args: Arguments) -> answers.RuleList:
    """
    Add one rule, or those of a list, and return them.

    As in a test of pytest, one that can fire a bounded number of times must fire (see `read_check`), unless it says
    otherwise.
    """
    several = args.get("rules")
    is_list = isinstance(several, list)
    given = several if isinstance(several, list) else [args]
    script = [
        rule
        if not isinstance(rule, dict) or BOUNDED.isdisjoint(rule)
        else {**rule, "mustFire": rule.get("mustFire", True)}
        for rule in given
    ]
    try:
        added = apply(hosted.sandbox, {"script": script}).rules
    except ScenarioError as refusal:
        former = "/script" if is_list else "/script/0"
        problems = (problem._replace(path=problem.path.removeprefix(former)) for problem in refusal.problems)
        raise refused_document(ScenarioError(problems), "no rule was added") from None
    return {"rules": [rule for rule in views.rules(hosted.sandbox) if rule["id"] in added]}


def list_scenarios(hosted: HostedSandbox, args: Arguments) -> answers.ScenarioList:
    documents = [library.document(name) for name in library.paths()]
    return {
        "scenarios": [
            {"name": row["scenario"], "summary": row.get("summary", ""), "clauses": row.get("clauses", [])}
            for row in documents
        ]
    }


def read_scenario(hosted: HostedSandbox, args: Arguments) -> answers.ScenarioInFull:
    """Return the document of a library scenario, with a sentence for each of its rules."""
    try:
        document = library.document(args["name"])
    except ScenarioError as refusal:
        raise ControlError("MOCK_NOT_FOUND", f"scenario: {refusal.problems[0]}", refusal.problems) from None
    return {"document": to_plain(document), "rules": [describe_rule(rule) for rule in document.get("script", ())]}


def list_rules(hosted: HostedSandbox, args: Arguments) -> answers.RuleList:
    """Return the rules in force with their counts."""
    return {"rules": views.rules(hosted.sandbox)}


def remove_rules(hosted: HostedSandbox, args: Arguments) -> None:
    """End one rule, or all."""
    rules = hosted.sandbox.rule_set
    if "id" not in args:
        rules.clear()
    elif not rules.remove(args["id"]):
        raise unknown_id("rule", args["id"], rules.rules)
