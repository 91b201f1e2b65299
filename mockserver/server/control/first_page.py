"""What the first page of a sandbox shows: its problems, and what happened last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from mockserver.report.problem import Problem
from mockserver.report.run.history import folded, rows_of
from mockserver.report.run.problems import problems, readings, verdict
from mockserver.server.control import reports
from mockserver.server.hosting.host import HostedSnapshot

_NEWEST: Final = 100  # calls, changes and commands among which the rows are
_ROWS: Final = 25  # of what happened last, once equal ones are folded


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPage:
    """
    What the first page shows of a sandbox.

    Attributes:
        verdict: The line above the problems.
        is_bad: There are problems.
        problems: Of the whole run, the worst first; without one what the latest call shows.
        rows: What happened last, as lines, oldest first.
    """

    verdict: str
    is_bad: bool
    problems: Sequence[Problem]
    rows: Sequence[str]


def read_first_page(snapshot: HostedSnapshot) -> FirstPage:
    """Return what the first page shows."""
    seen = reports.report_snapshot(snapshot, snapshot.hosted.base_url)
    found = problems(seen, None)
    latest = replace(
        seen,
        exchanges=seen.exchanges[-_NEWEST:],
        transitions=seen.transitions[-_NEWEST:],
        steps=seen.steps[-_NEWEST:],
    )
    rows = list(folded(rows_of(latest)))[-_ROWS:]
    return FirstPage(
        verdict=verdict(found, calls=len(seen.exchanges), dropped=seen.dropped_calls),
        is_bad=bool(found),
        problems=found or readings(seen, None),
        rows=[row.lines[0].strip() for row in rows],
    )
