"""The problems of a run in a sandbox: a list of small functions, each of which yields one kind, in one order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from mockserver.contract.clauses import sentence_of
from mockserver.report.problem import RANKS, CallLine, Problem
from mockserver.report.run.exchanges import Exchange
from mockserver.report.run.failure import Failure
from mockserver.report.run.snapshot import SandboxSnapshot

Call = Exchange[Any, Any]
Cause = Callable[[SandboxSnapshot, Failure | None], Iterator[Problem]]


def problems(snapshot: SandboxSnapshot, failure: Failure | None) -> list[Problem]:
    """Return the problems of a run, the worst first; those of one rank in the order in which they began."""
    found = [problem for cause in _CAUSES for problem in cause(snapshot, failure)]
    return sorted(found, key=lambda problem: (RANKS.index(problem.rank), problem.first))


def verdict(snapshot: SandboxSnapshot, found: Sequence[Problem], *, calls: int | None = None) -> str:
    """
    Return the line above the problems: how many there are in how many calls, and the first one.

    `calls` is the number of calls of the run if the snapshot has only some of them.
    """
    counted = _counted(len(snapshot.exchanges) if calls is None else calls, "call")
    if not found:
        return f"No problem in {counted}: no refusal, no fault that fired, no finding on the client."
    place = f" at #{found[0].first}" if found[0].first else ""
    return f"{_counted(len(found), 'problem')} in {counted}; the first{place}: {found[0].headline}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' if count != 1 else ''}"


def _findings(snapshot: SandboxSnapshot, failure: Failure | None) -> Iterator[Problem]:
    lines = {call.n: _line(call) for call in snapshot.exchanges}
    for finding in snapshot.findings:
        yield Problem(
            headline=finding.message,
            rank="cause" if finding.severity < 3 else "advice",
            calls=[lines[number] for number in finding.exchanges if number in lines],
            advice=finding.advice,
            sentence=sentence_of(finding.clause),
            ids=[finding.rule, finding.clause],
        )


def _refusals(snapshot: SandboxSnapshot, failure: Failure | None) -> Iterator[Problem]:
    groups: dict[tuple[object, ...], list[Call]] = {}
    for call in snapshot.exchanges:
        if call.status is not None and call.status >= 400 and not call.fault:
            groups.setdefault((call.operation, call.code, call.reason), []).append(call)
    for calls in groups.values():
        clause, _, words = (calls[0].reason or "").partition(" ")
        yield Problem(
            headline=words or f"{calls[0].operation or calls[0].path} was refused",
            rank="refusal",
            calls=[_line(call) for call in calls],
            sentence=sentence_of(clause.rstrip(":")),
            ids=[clause.rstrip(":")],
        )


def _line(call: Call) -> CallLine:
    result = "no answer" if call.status is None else f"{call.status}{f' {call.code}' if call.code else ''}"
    return CallLine(number=call.n, text=f"{call.operation or call.method} {call.path} -> {result}")


_CAUSES: Final[tuple[Cause, ...]] = (_findings, _refusals)
