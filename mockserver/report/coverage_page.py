"""A coverage as a page of one HTML file."""

from __future__ import annotations

from typing import NamedTuple

from mockserver.contract.clauses import Sentence, sentence_of
from mockserver.judge.coverage.coverage import Count, Coverage
from mockserver.judge.coverage.dimensions import DIMENSIONS, MEANINGS, Dimension
from mockserver.report.coverage_remedies import Remedy, remedy
from mockserver.report.pages import render_file


class Gap(NamedTuple):
    """An item that is not covered, what closes it, and the sentence of a clause."""

    item: str
    remedy: Remedy
    sentence: Sentence | None


class Section(NamedTuple):
    """A dimension on the page."""

    name: Dimension
    meaning: str
    share: Count
    covered: tuple[str, ...]
    gaps: tuple[Gap, ...]


def render(coverage: Coverage, title: str = "Coverage of the contract") -> str:
    """
    Return the page.

    Args:
        coverage: What it shows.
        title: Its heading.
    """
    sections = [
        Section(
            name=name,
            meaning=MEANINGS[name],
            share=coverage.count(name),
            covered=coverage.covered(name),
            gaps=tuple(Gap(item, remedy(name, item), sentence_of(item)) for item in coverage.missing(name)),
        )
        for name in DIMENSIONS
    ]
    return render_file("coverage.html", title=title, sections=sections, total=coverage.count())
