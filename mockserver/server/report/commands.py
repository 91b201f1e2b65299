"""A command of the control plane as a line of text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mockserver.contract.text import brief
from mockserver.scenario.rule_parser import describe_rule


def format_command(name: str, arguments: Mapping[str, Any]) -> str:
    """Return a command in one line."""
    if set(arguments) == {"script"}:
        return "; ".join(f"rule {describe_rule(rule)}" for rule in arguments["script"])
    text = ", ".join(
        f"{key} {value if isinstance(value, str) else json.dumps(value, default=float)}"
        for key, value in arguments.items()
    )
    return f"{name.replace('_', ' ')} {brief(text, 90)}".rstrip()
