"""What a report says about a sandbox, in lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mockserver.edge.narrator import describe


def unfired(rules: Iterable[Mapping[str, Any]]) -> list[str]:
    """The rules that never fired: what each waited for, and how often that came."""
    return [f"  {rule['id']} ({_origin(rule)}) {describe(rule)}; matched {rule['matched']} times" for rule in rules]


def _origin(rule: Mapping[str, Any]) -> str:
    return f"scenario {rule['scenario']}" if rule["scenario"] else "no scenario"
