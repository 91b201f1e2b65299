"""
The verdict on each clause: the one table of what judges it, and of what no trace of calls shows.

A clause that was not judged was not met (no call concerns it), is not visible (the trace does not know what it needs, or the
document leaves it open), or is excused (what was seen is an option of a choice).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from mockserver.contract.clauses import read
from mockserver.judge.service import answers, campaigns, executions, records, requests, sessions
from mockserver.judge.service.evidence import tenants
from mockserver.judge.service.verdicts import Breach, ClauseCheck, Verdicts
from mockserver.trace.facts import Fact, why_lacking
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
# What a trace would have to know to show that these clauses are broken; no check judges them.
UNSHOWN: Final[Mapping[Fact, Sequence[str]]] = {
    "other paths": ("base.prefix",),
    "owners of keys": ("auth.unknown", "auth.any-secret-key", "auth.denied"),
    "permissions": ("auth.developers-disabled",),
    "audiences": (
        "filters.groups-and", "filters.combinator", "filters.no-value", "filters.value2", "filters.dates", "filters.semantics",
        "audience.all", "audience.platform-free",
    ),
    "send failures": ("send.failures",),
    "targets": ("send.message",),
    "execution failures": ("send.failed",),
    "end users": (
        "session.funnel-step", "session.user-cancels", "session.funnel-checked-late", "session.phone-in-use", "session.return",
    ),
    "endpoints": ("events.subscribed",),
    "every delivery": ("events.nothing-lost",),
    "files": ("media.audio-single", "media.empty", "media.too-many", "media.too-large", "media.format"),
}  # fmt: skip
# Why no trace shows that these clauses are broken: the document decides it.
UNDECIDED: Final[Mapping[str, Sequence[str]]] = {
    "the document leaves it open": (
        "base.invalid-request", "base.input", "auth.public-elsewhere", "auth.precedence", "templates.status",
    ),
    "the service may have calls that the document does not contain": ("base.unknown-path",),
    "the filter schema of the service is the authority, and its shape is not documented": (
        "filters.fields", "filters.platform-values", "filters.invalid",
    ),
    "the API does not show which placeholders are automatic": ("templates.automatic",),
    "a variable may be one that no text uses": ("templates.varn",),
    "only calls that the document does not contain could show it": ("templates.read-only",),
    "the volume of a platform is not documented": ("start.size",),
    "the document does not limit what is still sent after a cancel": ("cancel.queued",),
}  # fmt: skip
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


def judge_service(shown: Trace, plain: Trace | None = None) -> tuple[ClauseResult, ...]:
    """
    Return the verdict on each clause, in the order of the document: of each answer by itself, and of the histories of records.

    Args:
        shown: A trace whose texts may be cited.
        plain: The same trace as it was read, if `shown` has stand-ins.
    """
    of_answers, of_records = answers.judge_answers(shown, plain or shown), judge_records(plain or shown)
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
                why="" if compared else _why_not(clause.id, shown, of_records),
                compared=compared,
                breaches=breaches,
            )
        )
    return tuple(results)


def judge_records(trace: Trace) -> Verdicts:
    """
    Return what the histories of a trace's records prove about the service.

    A breach holds under every option of every choice, for every order of calls that the intervals of the calls allow. The trace is
    the one as it was read: stand-ins of two short names may be equal. No text of a breach is private: names, descriptions and urls
    are not cited.
    """
    verdicts = Verdicts()
    for tenant in tenants(trace):
        for check in CHECKS:
            if check.scope == "tenant" and check.needs <= tenant.knows:
                verdicts.collect(check.judge(tenant))
    for check in CHECKS:
        if check.scope == "recording":
            verdicts.collect(check.judge(trace))
    return verdicts


def _why_not(id: str, trace: Trace, verdicts: Verdicts) -> str:
    if id in verdicts.excused:
        return f"excused: the choice {verdicts.excused[id]} allows what was seen"
    needs = {fact for check in CHECKS if id in check.clauses for fact in check.needs}
    needs |= {fact for fact, clauses in UNSHOWN.items() if id in clauses}
    reasons = [why_lacking(needs - trace.knows)]
    reasons += [reason for reason, clauses in UNDECIDED.items() if id in clauses]
    reasons.append(_ADVICE if id.startswith("advice.") else None)
    why = next(filter(None, reasons), None)
    return f"not visible: {why}" if why is not None else "not met: no call of the recording concerns it"
