"""
The verdict on each clause, by the checks of every subject.

A clause that was not judged was not met (no call concerns it), is not visible (the trace does not know what it needs, or the
document leaves it open), or is excused (what was seen is an option of a choice).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from mockserver.contract.clauses import read
from mockserver.judge.service import answers, campaigns, executions, records, requests, sessions
from mockserver.judge.service.evidence import tenants
from mockserver.judge.service.verdicts import Breach, ClauseCheck, Scope, Verdicts
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
# The traces that the checks of a scope get.
_PARTS: Final[Mapping[Scope, Callable[[Trace], Iterable[Trace]]]] = {
    "answers": lambda trace: [answers.words_of_the_service(trace)],
    "tenant": tenants,
    "trace": lambda trace: [trace],
}
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
    verdicts = judge_scopes(trace, *_PARTS)
    results = []
    for clause in read():
        breaches = [row for row in verdicts.breaches if row.clause == clause.id]
        compared = verdicts.compared[clause.id]
        verdict: Verdict = "holds" if compared else "not observed"
        results.append(
            ClauseResult(
                id=clause.id,
                text=clause.text,
                verdict="broken" if breaches else verdict,
                why="" if compared else _why_not(clause.id, trace, verdicts),
                compared=compared,
                breaches=breaches,
            )
        )
    return tuple(results)


def judge_scopes(trace: Trace, *scopes: Scope) -> Verdicts:
    """
    Return what the checks of some scopes find in a trace.

    A breach of two values holds under every option of every choice, for every order of calls that the intervals of the calls
    allow. No text of it is private: names, descriptions and urls are not cited.
    """
    verdicts = Verdicts()
    for scope in scopes:
        for part in _PARTS[scope](trace):
            for check in CHECKS:
                if check.judge is not None and check.scope == scope and part.knows.issuperset(check.needs):
                    verdicts.collect(check.judge(part))
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
