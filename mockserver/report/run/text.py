"""The whole report as lines: the most likely cause, then the sections."""

from __future__ import annotations

from typing import NamedTuple

from mockserver.core.redaction import Redactor
from mockserver.report.run.diagnosis import diagnose
from mockserver.report.run.failure import Failure
from mockserver.report.run.render import render_sections
from mockserver.report.run.snapshot import SandboxSnapshot


class Report(NamedTuple):
    """
    A report as lines.

    Attributes:
        summary: One to three lines with the most likely cause.
        sections: The lines after it: settings, everything that happened, events, rules that never fired.
    """

    summary: list[str]
    sections: list[str]


def report(snapshot: SandboxSnapshot, failure: Failure | None) -> Report:
    """
    Return the report of a sandbox.

    Args:
        snapshot: The views of the sandbox.
        failure: The failure of its test; without one the first line names the last refused or faulted call, if there is one.
    """
    diagnosis = diagnose(snapshot, failure)
    nearest = failure.nearest if failure is not None else None
    sections = render_sections(snapshot, diagnosis.cited, nearest)
    others = [line for line in sections if line not in diagnosis.lines]
    hide = Redactor(())  # the words of a failure may quote an address; the views have no secret that the sandbox knows
    return Report([*map(hide.text, diagnosis.lines)], [*map(hide.text, others)])
