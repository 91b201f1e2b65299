"""Effects that a test applies immediately."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mockserver import Sandbox
    from mockserver.testing.rules.builder import ActiveRule


def apply_now(sandbox: Sandbox, effect: str, arguments: Any = None) -> ActiveRule:
    """Apply the effect now, by a rule for this instant of the clock; returns the rule."""
    rule = sandbox.at(0).do({effect: {} if arguments is None else arguments})
    sandbox.advance(0)
    assert 1 == rule.fired
    return rule


def counts(sandbox: Sandbox, ids: tuple[str, str]) -> tuple[str, int, int]:
    """Status, sent and failed messages of an execution."""
    read = sandbox.call("GET", f"/v1/campaigns/{ids[0]}/executions/{ids[1]}").json()
    return read["status"], read["sentCount"], read["failedCount"]
