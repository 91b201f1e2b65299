"""Lines of a report about rules: what each that fired has caused, and why another never fired."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from mockserver._json import View
from mockserver.contract.effects import DELIVERY, EFFECTS
from mockserver.report.run.exchanges import Exchange, differences, format_differences, format_line
from mockserver.report.run.snapshot import SandboxSnapshot
from mockserver.scenario.rule_parser import describe_rule

_CAUSED_SHOWN = 3  # of what one rule has caused


def fired_rules(snapshot: SandboxSnapshot, explained: int | None) -> list[str]:
    """
    Return a line for each rule that fired: the rule, the calls, and what it caused; the latest first.

    Args:
        explained: the number of a call that another line explains; a rule that changed no more than that call has no line.
    """
    lines = [_fired_rule(snapshot, rule, explained) for rule in snapshot.rules if rule["fired"]]
    return [line for _, line in sorted(filter(None, lines), key=itemgetter(0), reverse=True)]


def is_shown_by_rule(snapshot: SandboxSnapshot, call: Exchange[Any, Any]) -> bool:
    """Return True if the line of the rule that changed a call says what became of it."""
    rules = [rule for rule in snapshot.rules if call.fault and rule["id"] == call.fault["rule"]]
    return any(rule["fired"] and _fired_rule(snapshot, rule, call.n) for rule in rules)


def _fired_rule(snapshot: SandboxSnapshot, rule: View, explained: int | None) -> tuple[int, str] | None:
    """Return the latest call of a rule that fired, with its line; None if another line says all of it."""
    wire = [call for call in snapshot.exchanges if call.fault and call.fault["rule"] == rule["id"]]
    did = rule.get("did", ())
    if rule.get("on") != DELIVERY and not did and {call.n for call in wire} <= {explained}:
        return None
    numbers = sorted({*(call.n for call in wire), *(one["exchange"] for one in did if one["exchange"])})
    caused = list(dict.fromkeys([*_caused_in_state(snapshot, rule), *map(_caused_on_wire, wire)]))
    effect = "; ".join(caused[-_CAUSED_SHOWN:] or _meanings(rule))
    line = f"rule {rule['id']} ({describe_rule(rule)}) fired{_how_often(rule['fired'], numbers)}"
    return max(numbers, default=0), f"{line}: {effect}" if effect else line


def _meanings(rule: View) -> list[str]:
    """Return what the effects without arguments do."""
    return [EFFECTS[name].meaning for name, argument in rule["do"].items() if argument == {} and name in EFFECTS]


def _how_often(fired: int, calls: Sequence[int]) -> str:
    """Return how often a rule fired, unless once per call, and the latest calls at which it did."""
    is_cut = len(calls) > _CAUSED_SHOWN
    times = f" {fired} times" if is_cut or fired > max(1, len(calls)) else ""
    shown = ", ".join(f"#{n}" for n in calls[-_CAUSED_SHOWN:])
    return f"{times}{', the last' if is_cut else ''} at {shown}" if calls else times


def _caused_in_state(snapshot: SandboxSnapshot, rule: View) -> Iterator[str]:
    for firing in rule.get("did", ()):
        for sends in firing.get("sends", ()):
            if sends["failing"]:
                yield f"{sends['failing']} of {sends['of']} sends of {sends['execution']} fail"
    for change in snapshot.transitions:
        if change["cause"].get("rule") == rule["id"]:
            yield format_change(change)


def _caused_on_wire(call: Exchange[Any, Any]) -> str:
    effect, received = outcome(call)
    return f"{call.operation or call.path} {effect}, {received}"


def outcome(call: Exchange[Any, Any]) -> tuple[str, str]:
    """Return whether the operation of a call that a rule changed took effect, and what its client got, in words."""
    effect = "took effect" if call.applied else "did not take effect"
    received = "the client got no answer" if call.status is None else f"the client got {call.status}"
    changed = [EFFECTS[name].meaning for name in call.fault["effects"] if name in EFFECTS] if call.fault else []
    meaning = f": {'; '.join(changed)}" if changed and call.status is not None and call.status < 400 else ""
    return effect, f"{received}{meaning}"


def format_change(change: View) -> str:
    """Return a change of a record's state."""
    former = f"{change['from']} -> " if change["from"] else ""
    return f"{change['kind']} {change['id']}: {former}{change['to']}"


def idle_rules(rules: Iterable[View]) -> list[str]:
    """Return a line for each rule of the test itself that never fired."""
    return [
        f"rule {rule['id']} ({describe_rule(rule)}) never fired: {_matched(rule['matched'])}"
        for rule in rules
        if not rule["fired"] and rule["scenario"] is None
    ]


def render_unfired_rules(rules: Iterable[View], exchanges: Sequence[Exchange[Any, Any]]) -> list[str]:
    """Return the rules that never fired: the condition of each, its number of matches, and the nearest call."""
    return [
        line
        for rule in rules
        for line in (f"{_format_rule(rule)}; {_matched(rule['matched'])}", *_nearest_call(rule, exchanges))
    ]


def render_idle_rules(rules: Iterable[View]) -> list[str]:
    """Return the rules that fired once and had nothing to act on: the condition of each, and the reason."""
    return [f"{_format_rule(rule)}; fired once: {rule['noTarget']}" for rule in rules]


def _format_rule(rule: View) -> str:
    source = f" (scenario {rule['scenario']})" if rule["scenario"] else ""
    return f"  {rule['id']}{source} {describe_rule(rule)}"


def _nearest_call(rule: View, exchanges: Sequence[Exchange[Any, Any]]) -> list[str]:
    """Return the call of the rule's operation with the fewest differences, if its `where` matched none."""
    if rule["matched"] or not rule.get("where"):
        return []
    compared = [(differences(call, rule["where"]), call) for call in exchanges if call.operation == rule["on"]]
    rows, nearest = min(compared, key=lambda pair: (len(pair[0]), -pair[1].n), default=((), None))
    if nearest is None or not rows:
        return []
    return [f"    nearest is {format_line(nearest)}:{format_differences(rows)[0][1:]}"]


def _matched(count: int) -> str:
    few = {0: "nothing matched", 1: "matched once"}
    return few.get(count, f"matched {count} times")
