"""
The verdict on each clause, by the checks of every subject.

A clause that was not judged was not met (no call concerns it), is not visible (the trace does not know what it needs, or the
document leaves it open), or is excused (what was seen is an option of a choice).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from mockserver.contract.clauses import read
from mockserver.judge.service import answers, campaigns, executions, records, requests, sessions
from mockserver.judge.service.evidence import tenants
from mockserver.judge.service.verdicts import Breach, ClauseCheck, Verdicts
from mockserver.trace.facts import why_lacking
from mockserver.trace.trace import Trace

Verdict = Literal["holds", "broken", "not observed"]
CHECKS: Final[Sequence[ClauseCheck]] = (
    *answers.CHECKS,
    *campaigns.CHECKS,
    *executions.CHECKS,
    *sessions.CHECKS,
    *requests.CHECKS,
    *records.CHECKS,
)
_ADVICE: Final = "it is advice to clients: see `mockserver judge --client`"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseResult:
    """
    Whether a service keeps a clause.

    Attributes:
        id: The clause's id.
        text: Its sentence.
        verdict: `not observed` if nothing was judged.
        why: Why it was not judged; empty otherwise.
        compared: The number of comparisons.
        breaches: What breaks it: single answers first, then contradictions.
    """

    id: str
    text: str
    verdict: Verdict
    why: str
    compared: int
    breaches: Sequence[Breach]


def judge_service(trace: Trace) -> tuple[ClauseResult, ...]:
    """Return the verdict on each clause, in the order of the document: of each answer by itself, and of what several show of records."""
    of_answers, of_records = answers.judge_answers(trace), judge_records(trace)
    results = []
    for clause in read():
        breaches = [row for row in (*of_answers.breaches, *of_records.breaches) if row.clause == clause.id]
        compared = of_answers.compared[clause.id] + of_records.compared[clause.id]
        verdict: Verdict = "holds" if compared else "not observed"
        results.append(
            ClauseResult(
                id=clause.id,
                text=clause.text,
                verdict="broken" if breaches else verdict,
                why="" if compared else _why_not(clause.id, trace, of_records),
                compared=compared,
                breaches=breaches,
            )
        )
    return tuple(results)


def judge_records(trace: Trace) -> Verdicts:
    """
    Return what the answers and events of a trace, compared with each other, prove about the service.

    A breach holds under every option of every choice, for every order of calls that the intervals of the calls allow. No text of
    a breach is private: names, descriptions and urls are not cited.
    """
    verdicts = Verdicts()
    for tenant in tenants(trace):
        for check in CHECKS:
            if check.judge is not None and check.scope == "tenant" and tenant.knows.issuperset(check.needs):
                verdicts.collect(check.judge(tenant))
    for check in CHECKS:
        if check.judge is not None and check.scope == "trace":
            verdicts.collect(check.judge(trace))
    return verdicts


def _why_not(id: str, trace: Trace, verdicts: Verdicts) -> str:
    if id in verdicts.excused:
        return f"excused: the choice {verdicts.excused[id]} allows what was seen"
    checks = [check for check in CHECKS if id in check.clauses]
    needs = {fact for check in checks for fact in check.needs}
    reasons = [why_lacking(needs - trace.knows), *(check.unshown for check in checks)]
    reasons.append(_ADVICE if id.startswith("advice.") else None)
    why = next(filter(None, reasons), None)
    return f"not visible: {why}" if why is not None else "not met: no call of the recording concerns it"
