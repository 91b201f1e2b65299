"""
Judge a client by a trace: run the judges of the rules that the trace can show.

A judge yields proofs, nothing, or the reason why this trace does not show its rule. Exchanges that overlap prove no order: a
proof that cites such is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from mockserver.core.instants import MILLISECOND
from mockserver.judge.check import Check, Finding, Judge, NotAssessable, NotAssessed, Proof
from mockserver.judge.client.rules import RULES
from mockserver.trace.exchange import Exchange
from mockserver.trace.facts import why_lacking
from mockserver.trace.trace import Trace

_OTHER_RUN: Final = (
    "one run does not show it: explore its choices, by `mockserver_server.explore` or `mockserver explore`"
)
_OVERLAP: Final = "the calls that would prove it overlap"
_OVERLAP_MAX: Final = MILLISECOND  # that two calls in a row may show because both of their ends are rounded


class ConductResult(NamedTuple):
    """The findings, the most severe first, and what was not assessed, in the order of the rules."""

    findings: tuple[Finding, ...]
    not_assessed: tuple[NotAssessed, ...]


def judge(trace: Trace) -> ConductResult:
    """
    Return what the client did against the document's advice, the most severe first, and what the trace does not show.

    Lock: as of the trace.
    """
    findings: list[Finding] = []
    not_assessed: list[NotAssessed] = []
    for rule in RULES.values():
        why = _obstacle(trace, rule)
        if why is None and rule.judge is not None:
            proofs, why = _verdict(trace, rule.judge)
            findings += [finding(rule.id, proof.message, proof.exchanges) for proof in proofs]
        if why is not None:
            not_assessed.append(NotAssessed(rule.id, why))
    findings.sort(key=lambda each: (each.severity, each.exchanges))
    return ConductResult(tuple(findings), tuple(not_assessed))


def finding(rule: str, message: str, exchanges: Iterable[int] = ()) -> Finding:
    """Return a finding with the severity, clause and advice of its rule; KeyError for an unknown rule."""
    row = RULES[rule]
    return Finding(
        rule=rule,
        severity=row.severity,
        message=message,
        exchanges=tuple(exchanges),
        clause=row.clause,
        advice=row.advice,
    )


def _obstacle(trace: Trace, rule: Check) -> str | None:
    """Return why a trace cannot show a rule, or None."""
    if rule.judge is None:
        return _OTHER_RUN
    return why_lacking({*rule.needs} - trace.knows)


def _verdict(trace: Trace, judge: Judge) -> tuple[list[Proof], str | None]:
    """Return the proofs of a judge, or why it has no verdict."""
    proofs: list[Proof] = []
    reasons: list[str] = []
    for verdict in judge(trace):
        if isinstance(verdict, NotAssessable):
            reasons.append(verdict.why)
        else:
            proofs.append(verdict)
    in_order = [proof for proof in proofs if _has_order(trace, proof.exchanges)]
    if in_order:
        return in_order, None
    if proofs:
        return [], _OVERLAP
    return [], reasons[0] if reasons else None


def _has_order(trace: Trace, cited: Sequence[int]) -> bool:
    """Return True if each of these calls had its answer before the next one was sent, but for the rounding of times."""
    calls = filter(None, map(trace.by_number, sorted(cited)))
    return not any(_overlap(first, second) for first, second in pairwise(calls))


def _overlap(first: Exchange, second: Exchange) -> bool:
    if first.status is None or first.is_ordered or not (first.is_timed and second.is_timed):
        return False
    return first.ended_at > second.sent_at + _OVERLAP_MAX
