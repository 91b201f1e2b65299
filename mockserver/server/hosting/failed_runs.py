"""What is kept of a run that a client ends as failed, and where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from mockserver._json import JSON


class FailedRun(NamedTuple):
    """
    The run of a failed test, with keys redacted in all but `secrets`.

    Attributes:
        sandbox_id: of its sandbox.
        base_url: of its sandbox, as the client has addressed it.
        name: of the test.
        summary: the first lines of its report.
        report: the lines after them.
        journal: the exchanges of its journal, as the control plane returns them.
        document: repeats it.
        har: its calls and deliveries.
        secrets: the keys and secrets of its sandbox.
    """

    sandbox_id: str
    base_url: str
    name: str
    summary: Sequence[str]
    report: Sequence[str]
    journal: Sequence[Mapping[str, Any]]
    document: JSON
    har: Mapping[str, Any]
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
