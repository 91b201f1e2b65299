"""A coverage as a page of one HTML file: the operations that were called, then everything else."""

from __future__ import annotations

from mockserver.contract.clauses import sentence_of
from mockserver.judge.coverage.coverage import Coverage
from mockserver.judge.coverage.dimensions import MEANINGS
from mockserver.report.coverage_text import USED, CoveragePart, operations_named, parts, total
from mockserver.report.pages import render_file


def render(coverage: Coverage) -> str:
    """Return the page."""
    used = operations_named(USED, coverage)
    whole = parts(coverage, None)
    called = [] if used is None else parts(coverage, used)
    return render_file(
        "coverage.html",
        operations=used or (),
        called=called,
        called_total=total(called),
        rest=[_without(part, called) for part in whole],
        whole=whole,
        total=coverage.count(),
        meanings=MEANINGS,
        sentence_of=sentence_of,
    )


def _without(part: CoveragePart, shown: list[CoveragePart]) -> CoveragePart:
    """Return a part without what another one of its dimension has."""
    items = {item for other in shown if other.name == part.name for item in (*other.covered, *other.missing)}
    return CoveragePart(
        name=part.name,
        covered=tuple(item for item in part.covered if item not in items),
        missing=tuple(item for item in part.missing if item not in items),
    )
