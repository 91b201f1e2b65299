"""A command of the control plane as a line of text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mockserver.contract.text import brief
from mockserver.scenario.rule_parser import describe_rule


def format_command(name: str, arguments: Mapping[str, Any]) -> str:
    """Return a command in one line."""
    rules = _rules(name, arguments)
    if rules is not None:
        return "; ".join(f"rule {describe_rule(rule)}" for rule in rules)
    text = ", ".join(
        f"{key} {value if isinstance(value, str) else json.dumps(value, default=float)}"
        for key, value in arguments.items()
    )
    return f"{name.replace('_', ' ')} {brief(text, 90)}".rstrip()


def _rules(name: str, arguments: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
    """Return the rules of a command that does nothing but add them; a document from outside may have anything in their place."""
    if name == "add_rules":
        rules = arguments.get("rules", [arguments])
    else:
        rules = arguments["script"] if set(arguments) == {"script"} else None
    are_rules = isinstance(rules, list) and all(isinstance(rule, Mapping) and "do" in rule for rule in rules)
    return rules if are_rules and all({"on", "at", "after"} & {*rule} for rule in rules) else None
