"""
The problems of a run in a sandbox: a list of small functions, each of which yields one kind.

`_CAUSES` are read in this order, and sorted by their rank. What a client made of its answers explains a failure only where nothing was refused and no
rule fired, so `_READINGS` are read after them, of a failed run without such a problem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import inf
from typing import Final

from mockserver.report.problem import Problem
from mockserver.report.run.causes import absent, answers, clocks, conduct, expected, faults, receivers, refused
from mockserver.report.run.failure import Failure
from mockserver.report.run.snapshot import SandboxSnapshot
from mockserver.report.run.words import counted

Cause = Callable[[SandboxSnapshot, Failure | None], Iterator[Problem]]

_CAUSES: Final[tuple[Cause, ...]] = (
    expected.expected_calls,
    clocks.waits,
    absent.unresolved,
    receivers.raised,
    conduct.findings,
    faults.fired_rules,
    faults.delayed_calls,
    refused.refusals,
    receivers.refusing,
    absent.no_calls,
    answers.ignored_name,
    faults.unapproved_templates,
    faults.without_effect,
    clocks.apart,
    receivers.for_nobody,
)
_READINGS: Final[tuple[Cause, ...]] = (
    clocks.pending_session,
    answers.changed_since,
    answers.audience,
    answers.sends,
    clocks.due,
    answers.last_answer,
)


def problems(snapshot: SandboxSnapshot, failure: Failure | None) -> list[Problem]:
    """Return the problems of a run, the worst first."""
    if failure is not None and failure.own_lines and not failure.is_stop:
        return list(refused.refusals(snapshot, failure))[:1]
    found = sorted(_of(_CAUSES, snapshot, failure), key=_place)
    if failure is None:
        return list(_each_call_once(found))
    found += faults.idle_rules(snapshot, failure)
    ranks = {problem.rank for problem in found}
    if ranks <= {"advice"}:
        return [*_each_call_once(found), *readings(snapshot, failure), *refused.expected_refusals(snapshot, failure)]
    if ranks <= {"fault", "advice"}:
        found += clocks.held(snapshot, failure)
    return list(_each_call_once([*found, *refused.expected_refusals(snapshot, failure)]))


def readings(snapshot: SandboxSnapshot, failure: Failure | None) -> list[Problem]:
    """Return what the client made of its answers, but for the refusals that it may have expected."""
    expected = refused.expected_numbers(snapshot)
    calls = [call for call in snapshot.exchanges if call.n not in expected]
    found = _of(_READINGS, replace(snapshot, exchanges=calls), failure) if calls else []
    return [problem for place, problem in enumerate(found) if problem not in found[:place]]


def _place(problem: Problem) -> tuple[int, float]:
    """Return the place of a problem: causes first, advice last, between them what failed, in the order in which it began."""
    if problem.rank in ("refusal", "fault"):
        return 1, problem.first or inf
    return (0 if problem.rank == "cause" else 2), 0


def _each_call_once(found: Iterable[Problem]) -> Iterator[Problem]:
    """Yield problems without those whose calls one before them explains."""
    explained: set[int] = set()
    for problem in found:
        numbers = {call.number for call in problem.calls}
        if numbers and numbers <= explained and not _says_more(problem):
            continue
        yield problem
        explained |= numbers


def _says_more(problem: Problem) -> bool:
    """Return True for a cause, and for a rule that the lines of its calls do not name."""
    return problem.rank == "cause" or (
        problem.rank == "fault" and not all("[" in call.result for call in problem.calls)
    )


def _of(causes: Sequence[Cause], snapshot: SandboxSnapshot, failure: Failure | None) -> list[Problem]:
    return [problem for cause in causes for problem in cause(snapshot, failure)]


def verdict(found: Sequence[Problem], *, calls: int, dropped: int = 0) -> str:
    """
    Return the line above the problems: how many there are in how many calls, and where the worst one begins.

    Args:
        found: The problems, the worst first.
        calls: The number of the calls that the journal has.
        dropped: The number of the earlier ones that it has no longer.
    """
    total = f"the newest {calls:,} of {calls + dropped:,} calls" if dropped else counted(calls, "call")
    if not found:
        return f"No problem in {total}: no refusal, no fault that fired, no finding on the client"
    worst = "the worst at" if len(found) > 1 else "at"
    place = f"; {worst} #{found[0].first}" if found[0].first else ""
    return f"{counted(len(found), 'problem')} in {total}{place}"
