"""What is kept of a run that a client ends as failed, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from mockserver._json import JSON, View

if TYPE_CHECKING:
    from mockserver.report.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedRun:
    """
    The run of a failed test, with keys redacted in all but `secrets`.

    Attributes:
        sandbox_id: Of its sandbox.
        base_url: Of its sandbox, as the client has addressed it.
        name: Of the test.
        failure: The message of the test; empty without one.
        verdict: The line about a run without problems.
        problems: The worst first.
        summary: The first lines of its report.
        report: The lines after them.
        journal: The exchanges of its journal, as the control plane returns them.
        document: Repeats it.
        har: Its calls and deliveries.
        secrets: The keys and secrets of its sandbox.
    """

    sandbox_id: str
    base_url: str
    name: str
    failure: str
    verdict: str
    problems: Sequence[Problem]
    summary: Sequence[str]
    report: Sequence[str]
    journal: Sequence[View]
    document: JSON
    har: View
    secrets: Sequence[str]


class KeptFiles(NamedTuple):
    """The paths of the files of a failed run, None for one that is not written; `lines` are those of the report about them."""

    replay: str | None
    har: str | None
    trace: str | None
    report: str | None
    lines: Sequence[str]


class FailureFolder(Protocol):
    """Where the files of failed runs are kept."""

    def failure_of(self, sandbox_id: str, name: str, words: str) -> tuple[str, str]:
        """Return the name of a sandbox's test and the words of its failure, those of an earlier call in place of empty ones."""

    def keep(self, run: FailedRun) -> KeptFiles:
        """Write the files of a run; they replace those that its sandbox has under this name. Never an error of its own."""
