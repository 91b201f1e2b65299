"""What the client's conduct shows: the findings of the judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mockserver.judge.check import Check, Finding
from mockserver.judge.client.rules import RULES
from mockserver.report.findings import problem_of
from mockserver.report.problem import Problem
from mockserver.report.run import words
from mockserver.report.run.causes.receivers import receiver_exceptions
from mockserver.report.run.failure import Failure
from mockserver.report.run.snapshot import SandboxSnapshot


def findings(snapshot: SandboxSnapshot, failure: Failure | None) -> Iterator[Problem]:
    """Yield the findings on the client, those about calls that a rule has changed first: they say more than the rule does."""
    faulted = {call.n for call in snapshot.exchanges if call.fault}
    is_broken = bool(receiver_exceptions(snapshot.events))
    rows = [row for row in snapshot.findings if not (is_broken and _is_of_receiver(RULES[row.rule]))]
    alike: dict[tuple[str, str], list[Finding]] = {}
    for row in sorted(rows, key=lambda row: (faulted.isdisjoint(row.exchanges), row.severity, len(row.exchanges))):
        alike.setdefault((row.rule, words.VARYING.sub("", row.message)), []).append(row)
    for equal in alike.values():
        yield _problem(snapshot, equal)


def _problem(snapshot: SandboxSnapshot, equal: Sequence[Finding]) -> Problem:
    more = f"; and {len(equal) - 1} more like it" if len(equal) > 1 else ""
    calls = words.lines_of(snapshot.exchanges, [number for each in equal for number in each.exchanges])
    problem = problem_of(equal[0], {call.number: call for call in calls})
    repeated = words.repeated(snapshot.exchanges, [call.number for call in calls])
    advice = f"{problem.advice} {repeated}".strip()
    return replace(
        problem, headline=f"{words.named(problem.headline, snapshot.names)}{more}", calls=calls, advice=advice
    )


def _is_of_receiver(rule: Check) -> bool:
    """Return True if a receiver that raised may be why a rule was broken: by its answers, or by what did not follow."""
    return "deliveries" in rule.needs or rule.of_end
