"""
The rules of a sandbox: how often each matched and fired, and which calls and snapshots they hold.

Everything here is state: a checkpoint copies it. The tables are never shared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mockserver.contract.limits import FIRINGS_MAX
from mockserver.core.instants import Instant, format_exact
from mockserver.core.state.calls import Call
from mockserver.core.state.copying import with_own_tables
from mockserver.core.state.matching import ABSENT, matches, value_at
from mockserver.core.state.rules import DeferredCall, Rule


class MatchContext(NamedTuple):
    """What rules are matched against: the seed of their chances, the instant, and the evaluation of `while`."""

    seed: int
    now: Instant
    holds: Callable[[Rule], bool]


class Snapshot(NamedTuple):
    """The tenants after `transitions` transitions, at `at`; no code writes to it."""

    transitions: int
    at: Instant
    tenants: Mapping[str, Any]


class Firing(NamedTuple):
    """
    One effect on the state that a rule had: the call at which it fired, None for an instant, progress or delivery.

    `sends` has, for each execution whose sends it changed, how many of all its sends fail then.
    """

    at: Instant
    exchange: int | None
    effect: str
    sends: Mapping[str, tuple[int, int]]


class RuleSet:
    """
    The active rules and their counts.

    Lifetime: the sandbox's.
    """

    def __init__(self) -> None:
        self.rules: dict[str, Rule] = {}
        self.no_target: dict[str, str] = {}  # by rule id: why the last firing had no record to act on
        self.firings: dict[str, tuple[Firing, ...]] = {}  # by rule id: the newest effects on the state
        self.reached_progress: frozenset[tuple[str, str]] = frozenset()  # (rule, execution) whose progress was reached
        self.deferred_calls: dict[str, DeferredCall] = {}
        self.storage: Mapping[str, Any] = {}  # the argument of `fail-media` in force
        self.keeps_snapshots = False  # a rule shows the state before the last change
        self.latest_snapshot: Snapshot | None = None
        self.previous_snapshot: Snapshot | None = None
        self._matched: Counter[str] = Counter()  # by rule id
        self._fired: Counter[str] = Counter()

    def copy(self) -> RuleSet:
        """Return a rule set with its own tables over the same frozen rules."""
        return with_own_tables(self)

    def add(self, rule: Rule) -> None:
        """Add a rule; its counts begin at zero."""
        self.rules[rule.id] = rule
        self.keeps_snapshots = self.keeps_snapshots or bool(rule.wire_faults and rule.wire_faults.stale)

    def remove(self, rule_id: str) -> bool:
        """Remove a rule; return False if there is no such rule."""
        if rule_id not in self.rules:
            return False
        del self.rules[rule_id]
        self.no_target.pop(rule_id, None)
        self.firings.pop(rule_id, None)
        return True

    def clear(self) -> None:
        """Remove all rules; deferred calls still run."""
        for rule_id in list(self.rules):
            self.remove(rule_id)
        self.storage = {}

    def matched(self, rule: Rule) -> int:
        """Return the number of calls that the rule has matched since it was applied."""
        return self._matched[rule.id]

    def fired(self, rule: Rule) -> int:
        """Return how often the rule has fired."""
        return self._fired[rule.id]

    def record_fired(self, rule: Rule) -> None:
        """Record the firing of a rule that waited for an instant or for progress."""
        self._matched[rule.id] += 1
        self._fired[rule.id] += 1

    def record_effect(self, rule: Rule, firing: Firing) -> None:
        """Record an effect of a rule on the state; of one that fires without end, the newest are kept."""
        self.firings[rule.id] = (*self.firings.get(rule.id, ()), firing)[-FIRINGS_MAX:]

    def match_call(self, operation: str, call: Call, body: Callable[[], Any], context: MatchContext) -> list[Rule]:
        """Count the call, and return the rules that fire at it in the order in which they were applied."""
        fired: list[Rule] = []
        for rule in self.rules.values():
            if operation not in rule.operations:
                continue
            if all(matches(value_at(call, body, path), wanted) for path, wanted in rule.where.items()):
                self.try_fire(rule, context, fired)
        return fired

    def match_delivery(self, event: str, attempt: int, context: MatchContext) -> list[Rule]:
        """Count an attempt to deliver an event of this kind, and return the rules that fire at it, in order."""
        fired: list[Rule] = []
        values = {"event": event, "attempt": attempt}
        for rule in self.rules.values():
            if rule.deliveries and all(matches(values.get(key, ABSENT), wanted) for key, wanted in rule.where.items()):
                self.try_fire(rule, context, fired)
        return fired

    def try_fire(self, rule: Rule, context: MatchContext, into: list[Rule]) -> None:
        """Count a match if the rule's condition holds, and fire the rule if its numbers, bounds and chance select the match."""
        if rule.condition and not context.holds(rule):
            return
        self._matched[rule.id] += 1
        matched = self._matched[rule.id]
        ended = rule.times is not None and self._fired[rule.id] >= rule.times
        selected = not ended and rule.selects(matched) and rule.is_active_at(context.now)
        if selected and rule.passes_chance(context.seed, matched):
            self._fired[rule.id] += 1
            into.append(rule)


def describe_rules(rule_set: RuleSet) -> list[Mapping[str, Any]]:
    """
    Return each rule as in its document, with its id, scenario and counts.

    Its effects on the state follow as `did`, and the reason why the last one had no target, if there are any.
    """
    return [
        {
            "id": rule.id,
            "scenario": rule.scenario,
            **rule.source,
            "matched": rule_set.matched(rule),
            "fired": rule_set.fired(rule),
        }
        | ({"did": [*map(_describe_firing, rule_set.firings[rule.id])]} if rule.id in rule_set.firings else {})
        | ({"noTarget": rule_set.no_target[rule.id]} if rule.id in rule_set.no_target else {})
        for rule in rule_set.rules.values()
    ]


def _describe_firing(firing: Firing) -> Mapping[str, Any]:
    sends = [{"execution": id, "failing": failing, "of": total} for id, (failing, total) in firing.sends.items()]
    return {
        "at": format_exact(firing.at),
        "exchange": firing.exchange,
        "effect": firing.effect,
        **({"sends": sends} if sends else {}),
    }
