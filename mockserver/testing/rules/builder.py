"""Rules in Python: `RuleBuilder` has the conditions and effects of a rule, and `ActiveRule` is one that is in force."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self

from mockserver._json import JSON
from mockserver.contract.durations import Length, length
from mockserver.contract.effects.deliveries import DeliveryMethods
from mockserver.contract.effects.state import StateMethods
from mockserver.contract.effects.wire import WireMethods
from mockserver.scenario.rule_parser import BOUNDED

__tracebackhide__ = True  # pytest shows the line of the test that calls a method of this module
_METHODS = {"from": "from_", "while": "while_", "mustFire": "must_fire"}
_BY_KEYWORD = ("after", "while")


class OwnRules(NamedTuple):
    """
    The rules that the Python code of a test has begun.

    Attributes:
        unfinished: Those without an effect, which are not in force, by any key.
        expected: The ids of those with a bounded count, which must fire in a test that passes.
    """

    unfinished: dict[object, JSON]
    expected: set[str]

    def expect(self, rule_id: str, entry: JSON) -> None:
        """Add a rule if its count is bounded, and no example of Hypothesis makes it."""
        hypothesis = sys.modules.get("hypothesis")
        is_of_example = hypothesis is not None and hypothesis.currently_in_test_context()
        if not BOUNDED.isdisjoint(entry) and not is_of_example:
            self.expected.add(rule_id)

    def unfired(self, rules: Iterable[JSON]) -> list[JSON]:
        """Return the expected rules in force that have not fired."""
        return [rule for rule in rules if rule["id"] in self.expected and not rule["fired"]]


def python_line(rule: Mapping[str, Any], *, may_fire: bool = False) -> str:
    """
    Return the line of Python that puts a rule of a document in force.

    Args:
        rule: As in documents.
        may_fire: True for a rule that need not fire.
    """
    line = "mockserver"
    for name, value in rule.items():
        method = _METHODS.get(name, name)
        line += ".may_fire()" if may_fire and name == "do" else ""
        if value is True:
            arguments = ""
        elif name in _BY_KEYWORD:
            arguments = ", ".join(f"{key}={_python(member)}" for key, member in value.items())
        else:
            arguments = _python(value)
        line += f".{method}({arguments})"
    return line


def _python(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_python(name)}: {_python(member)}" for name, member in value.items()) + "}"
    return repr(value)


class ActiveRule:
    """
    A rule in force. Created by the effects of `Sandbox.on`, `at` and `after`.

    Lifetime: until `remove()`, a reset, or the end of its sandbox.

    Attributes:
        id: The rule's id, such as `rule_1`.
    """

    def __init__(self, id: str, listed: Callable[[], Sequence[JSON]], remove: Callable[[str], None]) -> None:
        self.id = id
        self._listed = listed
        self._remove = remove

    def _entry(self) -> JSON:
        entry = next((rule for rule in self._listed() if rule["id"] == self.id), None)
        if entry is None:
            raise ValueError(f"got {self.id}, which is no longer in force; expected a rule of `sandbox.rules`")
        return entry

    @property
    def matched(self) -> int:
        """The number of calls, deliveries or instants that it has matched."""
        return int(self._entry()["matched"])

    @property
    def fired(self) -> int:
        """The number of times that it has fired."""
        return int(self._entry()["fired"])

    @property
    def no_target(self) -> str | None:
        """The reason why its last firing had nothing to act on; None if it had something."""
        reason: str | None = self._entry().get("noTarget")
        return reason

    def remove(self) -> None:
        """End the rule; ValueError if it has ended."""
        self._remove(self.id)

    def __repr__(self) -> str:
        return f"<ActiveRule {self.id}>"


class RuleBuilder(WireMethods[ActiveRule], StateMethods[ActiveRule], DeliveryMethods[ActiveRule]):
    """
    A rule that is not in force yet, from `Sandbox.on`, `at` or `after`.

    A condition returns a new builder; an effect, or `do` for several effects, puts the rule in force and returns an
    `ActiveRule`. The names are those of scenario documents; one that is a keyword of Python ends in `_`. An effect raises
    ValueError or ScenarioError if the rule has an error, and then it is not in force.

    Example:
        >>> rule = sandbox.on("startCampaign").where({"path.id": "campaign_1"}).nth(2).error("INTERNAL_ERROR")
        >>> rule.fired
        0
    """

    def __init__(
        self,
        put: Callable[[JSON], ActiveRule],
        trigger: Mapping[str, Any],
        own: OwnRules,
        key: object = None,
        *,
        may_fire: bool = False,
    ) -> None:
        """
        Begin a rule.

        Args:
            put: Puts the rule in force.
            trigger: What the rule waits for, as in scenario documents.
            own: The rules of the sandbox that Python code has begun.
            key: That of this rule in `own.unfinished`; None for a new one.
            may_fire: True for a rule that need not fire.
        """
        self._put = put
        self._entry = dict(trigger)
        self._own = own
        self._key = object() if key is None else key
        self._may_fire = may_fire
        if key is None or key in own.unfinished:
            own.unfinished[self._key] = self._entry

    def _and(self, **added: Any) -> Self:
        return type(self)(self._put, self._entry | added, self._own, self._key, may_fire=self._may_fire)

    def nth(self, number: int) -> Self:
        """
        Fire only for one match.

        Args:
            number: The number of the match, from 1.
        """
        return self._and(nth=number)

    def times(self, count: int) -> Self:
        """
        End the rule after some firings.

        Args:
            count: The number of firings, at least 1.
        """
        return self._and(times=count)

    def every(self, number: int) -> Self:
        """
        Fire only for each nth match.

        Args:
            number: 2 for the second, the fourth, the sixth match.
        """
        return self._and(every=number)

    def skip(self, count: int) -> Self:
        """
        Ignore the first matches.

        Args:
            count: The number of matches to ignore.
        """
        return self._and(skip=count)

    def chance(self, chance: float) -> Self:
        """
        Fire at random, as the sandbox's seed determines.

        Args:
            chance: The probability of each match, from 0 to 1.
        """
        return self._and(chance=chance)

    def from_(self, start: Length) -> Self:
        """
        Fire only from an instant on.

        Args:
            start: The time until then on the sandbox's clock, from now: `"20m"`, seconds, or a timedelta.
        """
        return self._and(**{"from": length(start)})

    def until(self, end: Length) -> Self:
        """
        Fire only before an instant.

        Args:
            end: The time until then on the sandbox's clock, from now: `"20m"`, seconds, or a timedelta.
        """
        return self._and(until=length(end))

    def where(self, conditions: Mapping[str, Any] | None = None, **body: Any) -> Self:
        """
        Match only calls with these values.

        Args:
            conditions: Expected values by path: `path.id`, `query.limit`, `header.x`, `body.name`; of a delivery `event` and
                `attempt`. A text may begin with `>=`, `<=`, `>`, `<`, `!=` or `~` (contains).
            **body: Expected members of the body.
        """
        expected = {**(conditions or {}), **{f"body.{key}": value for key, value in body.items()}}
        return self._and(where={**self._entry.get("where", {}), **expected})

    def while_(
        self,
        *,
        campaign: str | None = None,
        sent: int | str | None = None,
        failed: int | str | None = None,
        target: int | str | None = None,
        session: str | None = None,
        subscription: str | None = None,
    ) -> Self:
        """
        Fire only in a state of the record that the call concerns, or of any record.

        Args:
            campaign: The campaign's status.
            sent: The number of messages that its execution has sent: a number, or a comparison such as `">=20"`.
            failed: The number of messages that have failed, likewise.
            target: The number of targets, likewise.
            session: The connection session's status.
            subscription: The tenant's subscription.

        Example:
            >>> rule = sandbox.on("readCampaign").while_(campaign="processing", sent=">=20").stale()
        """
        conditions = {"campaign": campaign, "sent": sent, "failed": failed, "target": target}
        conditions |= {"session": session, "subscription": subscription}
        return self._and(**{"while": {key: value for key, value in conditions.items() if value is not None}})

    def when(self, when: Literal["before", "after"]) -> Self:
        """
        Set when effects on the state happen.

        Args:
            when: "before" or "after" the operation; without this condition they happen after it.
        """
        return self._and(when=when)

    def must_fire(self) -> Self:
        """
        Let a test fail in which the rule never fires, or fires once and has nothing to act on.

        A rule with `nth` or `times`, or of `at` or `after`, that is made while the test function runs must fire without this;
        one that a fixture has made before need not.
        """
        return self._and(mustFire=True)

    def may_fire(self) -> Self:
        """Let a test pass in which the rule never fires, although its count is bounded and the test function makes it."""
        return type(self)(self._put, self._entry, self._own, self._key, may_fire=True)

    def do(self, effects: Mapping[str, Any]) -> ActiveRule:
        """
        Put the rule in force with several effects.

        Args:
            effects: Arguments by effect, as in scenario documents: `{"delay": "5s", "error": "INTERNAL_ERROR"}`.

        Raises:
            ScenarioError: The rule has errors, all of which the message contains.
        """
        self._own.unfinished.pop(self._key, None)
        entry = {**self._entry, "do": dict(effects)}
        rule = self._put(entry)
        if self._may_fire:
            self._own.expected.discard(rule.id)
        else:
            self._own.expect(rule.id, entry)
        return rule

    def __repr__(self) -> str:
        return f"<RuleBuilder {self._entry}, not in force until it has an effect>"
