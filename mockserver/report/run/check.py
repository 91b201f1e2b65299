"""What fails a test at its end although all its assertions hold: rules, assertions in receivers, and conduct on demand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, get_args

from mockserver._json import View
from mockserver.core.state.outbox import RECEIVER_RAISED
from mockserver.judge.check import Finding
from mockserver.report.run.causes.receivers import receiver_exceptions
from mockserver.report.run.exchanges import Exchange
from mockserver.report.run.rules import render_idle_rules, render_unfired_rules

Kind = Literal["rule-never-fired", "rule-without-effect", "receiver-assertion", "conduct"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SENTENCES: Final[Mapping[Kind, str]] = MappingProxyType(
    {
        "rule-never-fired": "a rule that must fire never fired",
        "rule-without-effect": "a rule that must fire had no effect",
        "receiver-assertion": "an assertion in a webhook receiver failed",
        "conduct": "the client broke a rule for clients (`mockserver clauses --conduct` lists them)",
    }
)
_ASSERTION = f"{RECEIVER_RAISED} AssertionError"
_CALLS_SHOWN = 5


class CheckFailure(NamedTuple):
    """
    One reason for which a test fails at its end.

    Attributes:
        message: its lines, without the sentence of its kind.
        exchanges: the numbers of the calls that it is about.
    """

    kind: Kind
    message: str
    exchanges: tuple[int, ...] = ()


def of_rules(rules: Iterable[View], exchanges: Sequence[Exchange]) -> list[CheckFailure]:
    """Return the failures of the rules that must fire, in their order: those that never fired come first."""
    wanted = [rule for rule in rules if rule.get("mustFire")]
    unfired = [rule for rule in wanted if not rule["fired"]]
    # Of several firings only the last one is recorded: the others may have had an effect.
    idle = [rule for rule in wanted if rule["fired"] == 1 and "noTarget" in rule]
    lines: list[tuple[Kind, View, list[str]]] = [
        *(("rule-never-fired", rule, render_unfired_rules([rule], exchanges)) for rule in unfired),
        *(("rule-without-effect", rule, render_idle_rules([rule])) for rule in idle),
    ]
    return [CheckFailure(kind, "\n".join(of_rule), _calls_of(rule, exchanges)) for kind, rule, of_rule in lines]


def of_receivers(events: Iterable[View]) -> list[CheckFailure]:
    """Return the assertions that receivers in the mock's process have raised, which the service sees as a 500."""
    return [
        CheckFailure("receiver-assertion", f"  {line}")
        for line in receiver_exceptions(events)
        if line.startswith(_ASSERTION)
    ]


def of_conduct(findings: Iterable[Finding]) -> list[CheckFailure]:
    """Return the findings on the client's conduct as failures."""
    return [
        CheckFailure("conduct", f"  {finding.rule}: {finding.message}; {finding.advice}", tuple(finding.exchanges))
        for finding in findings
    ]


def _calls_of(rule: View, exchanges: Sequence[Exchange]) -> tuple[int, ...]:
    """Return the newest calls of the rule's operation."""
    return tuple(call.n for call in exchanges if call.operation == rule.get("on"))[-_CALLS_SHOWN:]
