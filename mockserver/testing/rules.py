"""Putting rules in force, listing and ending them."""

from __future__ import annotations

from typing import Literal

from mockserver.contract.endpoints import Operation
from mockserver.edge import scripts
from mockserver.testing.holding import JSON, Holding
from mockserver.testing.scripting import Length, ScriptedRule, When, length


class Rules(Holding):
    """A sandbox's script."""

    def on(self, operation: Operation | Literal["*", "delivery"] | str) -> When:
        """A rule for calls of this operation (an id, `METHOD /path`, or `*`), or for attempts to deliver an event."""
        return When(self._put_in_force, {"on": operation})

    def at(self, after: Length) -> When:
        """A rule for an instant, so long from now on the sandbox's clock."""
        return When(self._put_in_force, {"at": length(after)})

    def after(self, *, sent: int) -> When:
        """A rule for each execution, when it has sent so many."""
        return When(self._put_in_force, {"after": {"sent": sent}})

    def _put_in_force(self, entry: JSON) -> ScriptedRule:
        (rule_id,) = self._command(scripts.apply_scenario, script=[entry])["rules"]
        return ScriptedRule(rule_id, lambda: self.rules, self.remove_rules)

    @property
    def rules(self) -> list[JSON]:
        """The rules in force, in order, with how often each matched and fired."""
        found: list[JSON] = self._command(scripts.list_rules)["rules"]
        return found

    def remove_rules(self, rule_id: str | None = None) -> None:
        """End a rule, or all."""
        self._command(scripts.remove_rules, **({} if rule_id is None else {"id": rule_id}))
