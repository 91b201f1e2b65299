"""
What the explorations of a session have tried: lines at its end, and a file.

Results are part of the test's report, so that xdist sends them to the process that prints and writes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mockserver._json import JSON
from mockserver.contract.text import counted, printable
from mockserver.pytest_plugin import options
from mockserver.version import REPORT_VERSION

if TYPE_CHECKING:
    from mockserver.testing.runs.faults import ExploreReport

TITLE = "mockserver: explore"


class ExploreResults:
    """
    What the explorations of the session have tried.

    Lifetime: that of the session.

    Attributes:
        by_test: the result of each test's latest exploration as JSON.
        interrupted: the report of an exploration that Ctrl-C has ended, with its test.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.by_test: dict[str, JSON] = {}
        self.interrupted: dict[str, ExploreReport] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        result = getattr(report, "mockserver_explore", None)
        if result is not None:
            self.by_test[report.nodeid] = result

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print one line per explored test, with its notes and the findings that do not fail it."""
        if not self.by_test and not self.interrupted:
            return
        terminalreporter.section(TITLE)
        for report in self.interrupted.values():
            terminalreporter.write_line(report.text())
        for test, result in self.by_test.items():
            terminalreporter.write_line(f"{test}: {verdicts(result)}")
            for note in result["notes"]:
                terminalreporter.write_line(f"  {printable(note)}")
            for line in _passed_over(result["findings"]):
                terminalreporter.write_line(f"  {printable(line)}")
        rows = [*self.by_test.values(), *(report.entry() for report in self.interrupted.values())]
        terminalreporter.write_line(f"explored in {sum(row['seconds'] for row in rows):.1f} s")

    def pytest_sessionfinish(self) -> None:
        if hasattr(self._config, "workerinput"):
            return
        by_test = self.by_test | {test: report.entry() for test, report in self.interrupted.items()}
        tests = [by_test[test] for test in sorted(by_test)]
        file: Path | None = self._config.getoption("mockserver_explore_json")
        page: Path | None = self._config.getoption("mockserver_explore_html")
        if file is not None:
            text = json.dumps({"version": REPORT_VERSION, "tests": tests}, ensure_ascii=False, indent=2)
            options.write_result(self._config, file, f"{text}\n")
        if page is not None:
            from mockserver.report import explore_page

            options.write_result(self._config, page, explore_page.render(tests))


def _passed_over(findings: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield lines on the findings that fail no test unless it is strict: crashes with the line that repeats them, and advice."""
    for row in findings:
        if row["verdict"] == "advice":
            yield f"advice: {row['cause']}"
        elif row["verdict"] == "crashed":
            yield f"crashed: {row['message']}, at {counted(row['count'], 'placement')}"
            yield from (f"  > {line}" for line in row["lines"])


def verdicts(result: Mapping[str, Any]) -> str:
    """Return the verdicts of an exploration, the worst first, and the numbers of its placements and runs."""
    counts, parts = result["verdicts"], (result["singles"], result["pairs"])
    reached = [f"{count} {verdict}" for verdict, count in reversed(counts.items()) if count]
    tried = sum(part["tried"] for part in parts)
    left = sum(part["placements"] - part["merged"] for part in parts) - tried
    more = f", {left} more not tried" if left else ""
    return f"{', '.join(reached) or '0'} of {tried} placements in {result['runs']} runs{more}"
