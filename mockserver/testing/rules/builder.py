"""Rules in Python: `RuleBuilder` has the conditions and effects of a rule, and `ActiveRule` is one that is in force."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self

from mockserver.testing.rules.effects import JSON, Effects, Length, length

__tracebackhide__ = True  # pytest shows the line of the test that calls a method of this module
__all__ = ["JSON", "ActiveRule", "Length", "RuleBuilder", "length"]


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


class RuleBuilder(Effects[ActiveRule]):
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
        unfinished: dict[object, JSON],
        key: object = None,
    ) -> None:
        """
        Begin a rule.

        Args:
            put: Puts the rule in force.
            trigger: What the rule waits for, as in scenario documents.
            unfinished: Rules that must fire and have no effect yet; shared by the rules of a sandbox.
            key: That of this rule in `unfinished`; None for one that need not fire.
        """
        self._put = put
        self._entry = dict(trigger)
        self._unfinished = unfinished
        self._key = key

    def _and(self, **added: Any) -> Self:
        entry = self._entry | added
        if self._key in self._unfinished:
            self._unfinished[self._key] = entry
        return type(self)(self._put, entry, self._unfinished, self._key)

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

        A rule without an effect, which is not in force, fails its test too.
        """
        entry, key = self._entry | {"mustFire": True}, self._key or object()
        self._unfinished[key] = entry
        return type(self)(self._put, entry, self._unfinished, key)

    def do(self, effects: Mapping[str, Any]) -> ActiveRule:
        """
        Put the rule in force with several effects.

        Args:
            effects: Arguments by effect, as in scenario documents: `{"delay": "5s", "error": "INTERNAL_ERROR"}`.

        Raises:
            ScenarioError: The rule has errors, all of which the message contains.
        """
        self._unfinished.pop(self._key, None)
        return self._put({**self._entry, "do": dict(effects)})

    def __repr__(self) -> str:
        return f"<RuleBuilder {self._entry}, not in force until it has an effect>"
