"""Rules that must fire: why one never did, and why another had no effect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mockserver._json import View
from mockserver.contract.effects.descriptions import describe_rule
from mockserver.report.run.exchanges import Exchange, differences, format_differences, format_line


def render_unfired_rules(rules: Iterable[View], exchanges: Sequence[Exchange]) -> list[str]:
    """Return the rules that never fired: the condition of each, its number of matches, and the nearest call."""
    return [
        line
        for rule in rules
        for line in (f"{_format_rule(rule)}; {matched(rule['matched'])}", *_nearest_call(rule, exchanges))
    ]


def render_idle_rules(rules: Iterable[View]) -> list[str]:
    """Return the rules that fired once and had nothing to act on: the condition of each, and the reason."""
    return [f"{_format_rule(rule)}; fired once: {rule['noTarget']}" for rule in rules]


def _format_rule(rule: View) -> str:
    source = f" (scenario {rule['scenario']})" if rule["scenario"] else ""
    return f"  {rule['id']}{source} {describe_rule(rule)}"


def _nearest_call(rule: View, exchanges: Sequence[Exchange]) -> list[str]:
    """Return the call of the rule's operation with the fewest differences, if its `where` matched none."""
    if rule["matched"] or not rule.get("where"):
        return []
    compared = [(differences(call, rule["where"]), call) for call in exchanges if call.operation == rule["on"]]
    rows, nearest = min(compared, key=lambda pair: (len(pair[0]), -pair[1].n), default=((), None))
    if nearest is None or not rows:
        return []
    return [f"    nearest is {format_line(nearest)}:{format_differences(rows)[0][1:]}"]


def matched(count: int) -> str:
    """Return how often the condition of a rule was met."""
    few = {0: "nothing matched", 1: "matched once"}
    return few.get(count, f"matched {count} times")
