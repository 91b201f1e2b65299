"""The whole report as lines: the verdict, the first problems, then the sections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mockserver.core.redaction import Redactor
from mockserver.report.problem import Problem, brief_lines
from mockserver.report.run import words
from mockserver.report.run.failure import Failure
from mockserver.report.run.problems import problems, verdict
from mockserver.report.run.sections import render_sections
from mockserver.report.run.snapshot import SandboxSnapshot

_PROBLEMS_SHOWN: Final = 3
_CITED: Final = 3  # of the calls of a problem, and the last one: the history has them in full
_READS_HINT: Final = "a test that needs more such reads sets mockserver_poll_limit, a number or off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """
    A report.

    Attributes:
        problems: The worst first.
        summary: The verdict, then the first problems, each in one to three lines.
        sections: The lines after them: settings, everything that happened, events, rules that never fired.
    """

    problems: list[Problem]
    summary: list[str]
    sections: list[str]


def report(snapshot: SandboxSnapshot, failure: Failure | None) -> Report:
    """
    Return the report of a sandbox.

    Args:
        snapshot: The views of the sandbox.
        failure: The failure of its test; without one the first line says how many problems there are.
    """
    found = problems(snapshot, failure)
    shown = found[:_PROBLEMS_SHOWN]
    summary = [*_verdict(snapshot, failure, found)]
    for problem in shown:
        summary += brief_lines(problem)
    nearest = failure.nearest if failure is not None else None
    cited = {call.number for problem in shown for call in (*problem.calls[:_CITED], *problem.calls[-1:])}
    hide = Redactor(())  # the words of a failure may quote an address; the views have no secret that the sandbox knows
    sections = render_sections(snapshot, cited, nearest)
    return Report(problems=found, summary=[*map(hide.text, summary)], sections=[*map(hide.text, sections)])


def _verdict(snapshot: SandboxSnapshot, failure: Failure | None, found: list[Problem]) -> list[str]:
    """Return how the test failed; without a failure how many problems there are."""
    if snapshot.run_ended is not None:
        return [f"The test was ended: {words.named(snapshot.run_ended, snapshot.names)}", f"  {_READS_HINT}"]
    if failure is None:
        return [verdict(found, calls=len(snapshot.exchanges), dropped=snapshot.dropped_calls)]
    if failure.expected is not None:
        place = failure.place.partition(" ")[0]
        return [f"{failure.expected}{f' ({place})' if place else ''}"]
    return [*failure.own_lines] or [failure.line] if failure.line or failure.own_lines else []
