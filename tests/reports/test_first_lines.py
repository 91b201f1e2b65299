"""The first three lines of each place that explains a failure name the cause of the ten usual bugs of clients."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.harness.rows import each_row
from tests.reports import recorder
from tests.reports.run import run_cases

LINES = 3
# A case, and words or values of which one names its cause.
BUGS = {
    "wrong_key": ("expected a key of this sandbox",),
    "fault_is_not_retried": ("no answer",),
    "double_start": ("started again",),
    "endless_poll": ("read 7 more times", "which is final"),
    "late_event": ("delivery",),
    "wrong_filter": ("vip",),
    "expired_session": ("expired at",),
    "upload_of_another_type": ("application/x-msdownload",),
    "rate_limit": ("429",),
    "wrong_page": ("'page'",),
}
_BLOCKS = frozenset(
    ("p", "li", "dt", "dd", "h1", "h2", "h3", "h4", "tr", "pre", "summary", "blockquote", "footer", "div")
)
_UNSEEN = frozenset(("script", "style", "template"))


class VisibleText(HTMLParser):
    """The lines that a page shows in its first sections; of a closed `details`, the summary alone."""

    def __init__(self) -> None:
        super().__init__()
        self.sections: list[list[str]] = []
        self._inside: list[str] = []
        self._folds: list[bool] = []  # of each `details` around the text, whether it is closed

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "main":
            self.sections.clear()  # what is above it is the same on each page
        if tag in ("section", "main"):
            self.sections.append([])
        if tag == "details":
            self._folds.append("open" not in dict(attrs))
        if tag in _UNSEEN or tag == "summary":
            self._inside.append(tag)
        self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == "details" and self._folds:
            self._folds.pop()
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()
        self._break(tag)

    def handle_data(self, data: str) -> None:
        is_folded = any(self._folds) and "summary" not in self._inside
        if self.sections and not is_folded and _UNSEEN.isdisjoint(self._inside):
            lines = self.sections[-1] or [""]
            self.sections[-1] = [*lines[:-1], lines[-1] + data]

    def _break(self, tag: str) -> None:
        if tag in _BLOCKS and self.sections:
            self.sections[-1].append("")


def sections(page: str) -> list[list[str]]:
    """Return the lines of each section of a page that has some."""
    text = VisibleText()
    text.feed(page)
    found = [[" ".join(line.split()) for line in lines] for lines in text.sections]
    return [shown for lines in found if (shown := [line for line in lines if line])]


def terminal(folder: Path, name: str) -> list[str]:
    """Return the first lines of the report, without what the failure itself says."""
    lines = (folder / recorder.REPORT.format(name)).read_text(encoding="utf-8").splitlines()[2:]
    return [line for line in lines[:LINES] if not line.startswith(("The test failed", "The test raised"))]


def trace(folder: Path, name: str) -> list[str]:
    """Return the first lines of the first section of the trace, below its heading."""
    page = (folder / ".mockserver/failures" / f"cases.py.test_{name}.html").read_text(encoding="utf-8")
    why = next(lines for lines in sections(page) if len(lines) > 1)
    return [line for line in why[1 : 1 + LINES] if not line.startswith(("The test failed", "The test raised"))]


def first_page(folder: Path, name: str) -> list[str]:
    """Return the line above the problems on the dashboard's first page, and the first lines of the selected problem."""
    page = (folder / recorder.PAGE.format(name)).read_text(encoding="utf-8")
    problems, selected, *_ = (lines for lines in sections(page) if len(lines) > 1)
    return [problems[0], *selected[:LINES]]


PLACES = (terminal, trace, first_page)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of the ten cases, with a trace of each."""
    folder = tmp_path_factory.mktemp("cases")
    run_cases(folder, "-k", " or ".join(f"test_{name}" for name in BUGS))
    return folder


@each_row("place", PLACES)
@each_row("name", BUGS)
def test_the_first_lines_name_the_cause(folder: Path, name: str, place: Callable[[Path, str], list[str]]) -> None:
    lines = place(folder, name)

    assert [] != [line for line in lines if any(word in line for word in BUGS[name])], lines
