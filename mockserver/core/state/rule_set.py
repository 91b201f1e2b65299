"""
The rules of a sandbox: how often each matched and fired, and which calls and snapshots they hold.

1. A rule that depends on counts alone is stored under the number of the call at which it fires next: a call is looked
   up once, however many rules there are. A rule whose first condition is a literal is stored under that value.
2. Everything here is state: a checkpoint copies it. The tables are never shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from mockserver.contract.endpoints import OPERATIONS
from mockserver.contract.limits import FIRINGS_MAX
from mockserver.core.instants import Instant, format_exact
from mockserver.core.state.calls import Call
from mockserver.core.state.matching import ABSENT, is_literal, matches, value_at
from mockserver.core.state.rules import DeferredCall, Rule

ANY = "*"
_MATCHED, _FIRED = 0, 1


class StorageFaults(NamedTuple):
    """Which uploaded files storage fails: a share of them, every nth, or those of some names."""

    ratio: float | None = None
    every: int | None = None
    names: tuple[str, ...] = ()


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

    __slots__ = (
        "_by_call_number",
        "_by_value",
        "_calls",
        "_since",
        "_tallies",
        "_unindexed",
        "deferred_calls",
        "firings",
        "keeps_snapshots",
        "latest_snapshot",
        "no_target",
        "previous_snapshot",
        "reached_progress",
        "rules",
        "storage",
    )  # fmt: skip

    def __init__(self) -> None:
        self.rules: dict[str, Rule] = {}
        self.no_target: dict[str, str] = {}  # by rule id: why the last firing had no record to act on
        self.firings: dict[str, tuple[Firing, ...]] = {}  # by rule id: the newest effects on the state
        self.reached_progress: frozenset[tuple[str, str]] = frozenset()  # (rule, execution) whose progress was reached
        self.deferred_calls: dict[str, DeferredCall] = {}
        self.storage: StorageFaults | None = None
        self.keeps_snapshots = False  # a rule shows the state before the last change
        self.latest_snapshot: Snapshot | None = None
        self.previous_snapshot: Snapshot | None = None
        self._calls: dict[str, int] = {}  # by operation, and of all
        self._since: dict[str, int] = {}  # by plain rule: the count of its calls when it was applied
        self._tallies: dict[str, tuple[int, int]] = {}
        self._by_call_number: dict[tuple[str, int], tuple[Rule, ...]] = {}
        self._by_value: dict[tuple[str, str], dict[Any, tuple[Rule, ...]]] = {}
        self._unindexed: dict[str, tuple[Rule, ...]] = {}

    def copy(self) -> RuleSet:
        """Return a rule set with its own tables over the same frozen rules."""
        copy = RuleSet()
        if not self.rules and not self._calls:
            return copy
        for name in self.__slots__:
            value = getattr(self, name)
            setattr(copy, name, value.copy() if isinstance(value, dict) else value)
        copy._by_value = {key: table.copy() for key, table in self._by_value.items()}
        return copy

    def add(self, rule: Rule) -> None:
        """Add a rule; its counts begin at zero."""
        self.rules[rule.id] = rule
        self.keeps_snapshots = self.keeps_snapshots or bool(rule.wire_faults and rule.wire_faults.stale)
        self._tallies[rule.id] = (0, 0)
        if not rule.operations:
            return
        name = _name(rule)
        if rule.is_count_only:
            self._since[rule.id] = self._calls.get(name, 0)
            self._schedule_next(rule, 0)
            return
        path, wanted = next(iter(rule.where.items()), ("", None))
        if path and is_literal(wanted):
            table = self._by_value.setdefault((name, path), {})
            table[_key(wanted)] = (*table.get(_key(wanted), ()), rule)
        else:
            self._unindexed[name] = (*self._unindexed.get(name, ()), rule)

    def remove(self, rule_id: str) -> bool:
        """Remove a rule; return False if there is no such rule."""
        if rule_id not in self.rules:
            return False
        del self.rules[rule_id]
        self.no_target.pop(rule_id, None)
        self.firings.pop(rule_id, None)
        tables: list[dict[Any, tuple[Rule, ...]]] = [self._by_call_number, self._unindexed, *self._by_value.values()]
        for table in tables:
            for key, rules in list(table.items()):
                table[key] = tuple(rule for rule in rules if rule.id != rule_id)
                if not table[key]:
                    del table[key]
        self._by_value = {key: table for key, table in self._by_value.items() if table}
        return True

    def clear(self) -> None:
        """Remove all rules; deferred calls still run."""
        for rule_id in list(self.rules):
            self.remove(rule_id)
        self.storage = None

    def matched(self, rule: Rule) -> int:
        """Return the number of calls that the rule has matched since it was applied."""
        if rule.operations and rule.is_count_only:
            return self._calls.get(_name(rule), 0) - self._since[rule.id]
        return self._tallies[rule.id][_MATCHED]

    def fired(self, rule: Rule) -> int:
        """Return how often the rule has fired."""
        return self._tallies[rule.id][_FIRED]

    def record_fired(self, rule: Rule) -> None:
        """Record the firing of a rule that waited for an instant or for progress."""
        matched, fired = self._tallies[rule.id]
        self._tallies[rule.id] = (matched + 1, fired + 1)

    def record_effect(self, rule: Rule, firing: Firing) -> None:
        """Record an effect of a rule on the state; of one that fires without end, the newest are kept."""
        self.firings[rule.id] = (*self.firings.get(rule.id, ()), firing)[-FIRINGS_MAX:]

    def match_call(self, operation: str, call: Call, body: Callable[[], Any], context: MatchContext) -> list[Rule]:
        """Count the call, and return the rules that fire at it in the order in which they were applied."""
        fired: list[Rule] = []
        for name in (operation, ANY):
            count = self._calls[name] = self._calls.get(name, 0) + 1
            for rule in self._by_call_number.pop((name, count), ()):
                self._fire(rule, fired)
                self._schedule_next(rule, count - self._since[rule.id])
        for rule in self._candidates(operation, call, body):
            if all(matches(value_at(call, body, path), wanted) for path, wanted in rule.where.items()):
                self.try_fire(rule, context, fired)
        return sorted(fired, key=lambda rule: rule.seq) if len(fired) > 1 else fired

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
        matched, fired = self._tallies[rule.id]
        matched += 1
        self._tallies[rule.id] = (matched, fired)
        ended = rule.times is not None and fired >= rule.times
        if (
            not ended
            and rule.selects(matched)
            and rule.is_active_at(context.now)
            and rule.passes_chance(context.seed, matched)
        ):
            self._fire(rule, into)

    def _fire(self, rule: Rule, into: list[Rule]) -> None:
        matched, fired = self._tallies[rule.id]
        self._tallies[rule.id] = (matched, fired + 1)
        into.append(rule)

    def _candidates(self, operation: str, call: Call, body: Callable[[], Any]) -> Iterable[Rule]:
        """Yield the rules of this operation whose conditions the call may fulfil."""
        yield from self._unindexed.get(operation, ())
        yield from self._unindexed.get(ANY, ())
        for (name, path), table in self._by_value.items():
            actual = value_at(call, body, path) if name in (operation, ANY) else ABSENT
            if actual is not ABSENT and is_literal(actual):
                yield from table.get(_key(actual), ())

    def _schedule_next(self, rule: Rule, match: int) -> None:
        """Store the rule under the number of the call at which it fires next, if there is one."""
        if rule.times is not None and self.fired(rule) >= rule.times:
            return
        selected = rule.next_selected(match)
        if selected is not None:
            key = (_name(rule), self._since[rule.id] + selected)
            self._by_call_number[key] = (*self._by_call_number.get(key, ()), rule)


def _name(rule: Rule) -> str:
    return ANY if len(rule.operations) == len(OPERATIONS) else rule.operations[0]


def _key(value: Any) -> tuple[bool, Any]:
    """Return a key for the value that differs for `true` and 1."""
    return isinstance(value, bool), value


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
