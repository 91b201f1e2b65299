"""Findings on a client as problems: equal ones once, and how much was judged."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from mockserver._json import JSON
from mockserver.contract.clauses import sentence_of
from mockserver.judge.check import Finding
from mockserver.judge.client.rules import RULES
from mockserver.report.problem import CallLine, Problem

_NOISE: Final = 3


def problem_of(finding: Finding, lines: Mapping[int, CallLine]) -> Problem:
    """Return a finding as a problem with the lines of its calls, by their numbers; a call without a line is left out."""
    return Problem(
        headline=finding.message,
        rank="advice" if finding.severity == _NOISE else "cause",
        calls=[lines[number] for number in finding.exchanges if number in lines],
        advice=finding.advice,
        sentence=sentence_of(finding.clause),
        ids=[finding.rule, finding.clause],
    )


def judged_rules(not_assessed: Iterable[str]) -> set[str]:
    """Return the rules that were judged: all but those that were not assessed."""
    return RULES.keys() - set(not_assessed)


def judged_text(judged: Collection[str], broken: Iterable[str]) -> str:
    """Return how many rules were judged and broken, each rule once: `38 of 49 rules judged, none broken`."""
    return f"{len(judged)} of {len(RULES)} rules judged, {len(set(broken)) or 'none'} broken"


def as_row(finding: Finding) -> JSON:
    """Return a finding as the JSON object that reports have of it."""
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "message": finding.message,
        "exchanges": list(finding.exchanges),
        "clause": finding.clause,
        "advice": finding.advice,
    }
