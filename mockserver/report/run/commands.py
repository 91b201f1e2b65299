"""A command of the control plane as a line of text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mockserver.contract.effects.descriptions import describe_rule
from mockserver.contract.text import brief
from mockserver.report.run.exchanges import brief_json

_LINE_CHARS, _VALUE_CHARS = 110, 40  # of the arguments of a command, and of one at least


def format_command(name: str, arguments: Mapping[str, Any]) -> str:
    """Return a command in one line."""
    rules = _rules(name, arguments)
    if rules is not None:
        return "; ".join(f"rule {describe_rule(rule)}" for rule in rules)
    room = max(_LINE_CHARS // max(1, len(arguments)), _VALUE_CHARS)
    text = ", ".join(
        f"{key} {brief(value, room) if isinstance(value, str) else brief_json(value, room)}"
        for key, value in arguments.items()
    )
    return f"{name.replace('_', ' ')} {text}".rstrip()


def _rules(name: str, arguments: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
    """Return the rules of a command that does nothing but add them; a document from outside may have anything in their place."""
    if name == "add_rules":
        rules = arguments.get("rules", [arguments])
    else:
        rules = arguments["script"] if set(arguments) == {"script"} else None
    are_rules = isinstance(rules, list) and all(isinstance(rule, Mapping) and "do" in rule for rule in rules)
    return rules if are_rules and all({"on", "at", "after"} & {*rule} for rule in rules) else None
