"""
Rules in Python: `sandbox.on("startCampaign").nth(1).drop("after")`. Each method ends in the document's own words.

A `When` says when, and puts a rule in force once it is told what to do; a `ScriptedRule` is what is then in force.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self

from mockserver.testing.rules.effects import JSON, Effects, Length, length

__all__ = ["JSON", "ActiveRule", "Length", "RuleBuilder", "length"]


class ActiveRule:
    """A rule in force. Made by `sandbox.on`, `at` and `after`; ends with `remove()` or with its sandbox."""

    def __init__(self, id: str, listed: Callable[[], Sequence[JSON]], remove: Callable[[str], None]) -> None:
        self.id = id
        self._listed = listed
        self._remove = remove

    def _entry(self) -> JSON:
        found = next((each for each in self._listed() if each["id"] == self.id), None)
        if found is None:
            raise ValueError(f"{self.id} is not in force any more")
        return found

    @property
    def matched(self) -> int:
        """How many calls it has matched."""
        return int(self._entry()["matched"])

    @property
    def fired(self) -> int:
        """How often it has fired."""
        return int(self._entry()["fired"])

    @property
    def no_target(self) -> str | None:
        """Why its last firing met nothing to act on, if it did not."""
        found: str | None = self._entry().get("noTarget")
        return found

    def remove(self) -> None:
        """End it."""
        self._remove(self.id)

    def __repr__(self) -> str:
        return f"<ScriptedRule {self.id}>"


class RuleBuilder(Effects[ActiveRule]):
    """
    When a rule fires; each method adds a condition, or says what happens and puts the rule in force.

    A method has the name of the document's word; one that is a keyword of Python ends in `_`.

    ValueError says what is wrong with it, and then nothing was put in force.
    """

    def __init__(self, put: Callable[[JSON], ActiveRule], trigger: Mapping[str, Any]) -> None:
        self._put = put
        self._entry = dict(trigger)

    def _with(self, **added: Any) -> Self:
        return type(self)(self._put, self._entry | added)

    def nth(self, number: int) -> Self:
        """Only the match of this number, from 1."""
        return self._with(nth=number)

    def times(self, count: int) -> Self:
        """End after so many firings."""
        return self._with(times=count)

    def every(self, number: int) -> Self:
        """Each match of this number."""
        return self._with(every=number)

    def skip(self, count: int) -> Self:
        """Leave the first so many matches alone."""
        return self._with(skip=count)

    def chance(self, chance: float) -> Self:
        """Fire with this chance, from 0 to 1, drawn from the sandbox's seed."""
        return self._with(chance=chance)

    def from_(self, start: Length) -> Self:
        """Only from then on, counted from now."""
        return self._with(**{"from": length(start)})

    def until(self, end: Length) -> Self:
        """Only before then, counted from now."""
        return self._with(until=length(end))

    def where(self, conditions: Mapping[str, Any] | None = None, **body: Any) -> Self:
        """Only calls with these values by path (`path.id`, `query.limit`, `header.x`, `body.name`); keywords mean the body."""
        wanted = {**(conditions or {}), **{f"body.{key}": value for key, value in body.items()}}
        return self._with(where={**self._entry.get("where", {}), **wanted})

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
        """Only while the world is so: `campaign="processing", sent=">=20"`."""
        given = {"campaign": campaign, "sent": sent, "failed": failed, "target": target}
        given |= {"session": session, "subscription": subscription}
        return self._with(**{"while": {key: value for key, value in given.items() if value is not None}})

    def when(self, when: Literal["before", "after"]) -> Self:
        """Effects on the world come before the operation, or after it as they do without this."""
        return self._with(when=when)

    def must_fire(self) -> Self:
        """A test in which it never fires, fails."""
        return self._with(mustFire=True)

    def do(self, effects: Mapping[str, Any]) -> ActiveRule:
        """Any effects together, in the words of scenario documents."""
        return self._put({**self._entry, "do": dict(effects)})
