"""What is kept of a run that a client reports as failed, and where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from mockserver._json import View

if TYPE_CHECKING:
    from mockserver.report.trace_page import TracedRun


class KeptFiles(NamedTuple):
    """The paths of the files of a failed run, None for one that is not written; `lines` are those of the report about them."""

    replay: str | None
    har: str | None
    trace: str | None
    report: str | None
    lines: Sequence[str]


class FailureFolder(Protocol):
    """Where the files of failed runs are kept."""

    def note_failure(self, sandbox_id: str) -> None:
        """Take note that the test of a sandbox has failed."""

    def keep(self, run: TracedRun, har: View) -> KeptFiles:
        """Write the files of a run; they replace those that its sandbox has under this name. Never an error of its own."""
