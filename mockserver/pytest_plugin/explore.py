"""
Explore in pytest: which tests are explored, and what the explorations of a session have tried.

1. `@pytest.mark.mockserver_explore(...)` explores a test, `--mockserver-explore` every test that uses the fixture `mockserver`.
2. `explore_runs` runs the test again and again; the plugin imports it for the first test that is explored.
3. Results are part of the test's report, so that xdist sends them to the process that prints and writes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mockserver.testing.settings import Layer

if TYPE_CHECKING:
    from mockserver.testing.sandbox import Sandbox

JSON = dict[str, Any]

MARK = "mockserver_explore"
ARGUMENTS = ("faults", "operations", "choices", "pairs", "seconds", "prune", "strict", "tolerates", "seed")
EXPLORATION: pytest.StashKey[Any] = pytest.StashKey()  # of the item's `explore_runs.ItemExploration`
INNER_RUN: pytest.StashKey[bool] = pytest.StashKey()  # of an item that runs inside another item's call
_VERDICTS = ("survived", "reported", "crashed", "breach", "silent")
TITLE = "mockserver: explore"
_RESULTS = "mockserver-explore-results"


def add_options(parser: pytest.Parser) -> None:
    """Declare the options of explorations."""
    group = parser.getgroup("mockserver")
    group.addoption(
        "--mockserver-explore", action="store_true", help="explore every test that uses the fixture mockserver"
    )
    group.addoption(
        "--mockserver-explore-json", metavar="FILE", type=Path, help="write what the explorations have tried to FILE"
    )


def register_results(config: pytest.Config) -> None:
    """Register the plugin that prints and writes the results, if it is not registered yet."""
    if not config.pluginmanager.has_plugin(_RESULTS):
        config.pluginmanager.register(ExploreResults(config), _RESULTS)


def configure(config: pytest.Config) -> None:
    """Register the results where no collection does: in the process of xdist that runs no test, and for a file."""
    is_controller = config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput")
    if is_controller or config.getoption("mockserver_explore_json") is not None:
        register_results(config)


def is_wanted(config: pytest.Config, items: Iterable[pytest.Item]) -> bool:
    """Return True if a test of the run is explored."""
    return config.getoption("mockserver_explore") or any(item.get_closest_marker(MARK) is not None for item in items)


def is_inner(item: pytest.Item) -> bool:
    """Return True for a run inside another item's call, whose results belong to the exploration alone."""
    return INNER_RUN in item.stash


def layers(item: pytest.Item) -> Iterator[Layer]:
    """Yield the settings of a further run: its clock is frozen at the instant of the first run."""
    exploration = item.stash.get(EXPLORATION, None)
    if exploration is not None and exploration.now is not None:
        yield Layer("explore", {"now": exploration.now})


def prepared(item: pytest.Item, sandbox: Sandbox) -> AbstractContextManager[Any]:
    """Return a context manager that closes the sandbox of a test, or prepares it for a run that records it before."""
    exploration = item.stash.get(EXPLORATION, None)
    if exploration is None:
        return sandbox
    context: AbstractContextManager[None] = exploration.own(sandbox)
    return context


class ExploreResults:
    """
    What the explorations of the session have tried.

    Lifetime: that of the session.

    Attributes:
        by_test: the result of each test's latest exploration as JSON.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.by_test: dict[str, JSON] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        result = getattr(report, "mockserver_explore", None)
        if result is not None:
            self.by_test[report.nodeid] = result

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print one line per explored test, and the verdicts by operation."""
        if not self.by_test:
            return
        terminalreporter.section(TITLE)
        for test, result in self.by_test.items():
            terminalreporter.write_line(f"{test}: {verdicts(result)}")
        for line in matrix(self.by_test.values()):
            terminalreporter.write_line(line)

    def pytest_sessionfinish(self) -> None:
        file: Path | None = self._config.getoption("mockserver_explore_json")
        if file is not None and not hasattr(self._config, "workerinput"):
            tests = [self.by_test[test] for test in sorted(self.by_test)]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps({"tests": tests}, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def verdicts(result: Mapping[str, Any]) -> str:
    """Return the verdicts of an exploration, the worst first, and the numbers of its placements and runs."""
    counts = result["verdicts"]
    reached = (f"{counts[verdict]} {verdict}" for verdict in reversed(_VERDICTS) if counts.get(verdict))
    tried = sum(result[part]["tried"] for part in ("singles", "pairs"))
    return f"{', '.join(reached) or 'nothing'} of {tried} placements in {result['runs']} runs"


def matrix(results: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield one line per operation: the number of its faults by their worst verdict, and the names of those that matter."""
    worst: dict[str, dict[str, int]] = {}
    for result in results:
        for operation, faults in result["matrix"].items():
            row = worst.setdefault(operation, {})
            for fault, counts in faults.items():
                reached = [rank for rank, verdict in enumerate(_VERDICTS) if counts.get(verdict)]
                row[fault] = max(row.get(fault, 0), *reached, 0)
    width = max(map(len, worst), default=0)
    for operation, row in sorted(worst.items()):
        yield f"{operation:{width}}  {'; '.join(_by_verdict(row))}"


def _by_verdict(row: Mapping[str, int]) -> Iterator[str]:
    """Yield the faults of each verdict, the worst first."""
    for rank, verdict in reversed(list(enumerate(_VERDICTS))):
        names = [fault for fault, reached in row.items() if reached == rank]
        if names:
            yield f"{verdict}: {', '.join(names)}" if rank > 1 else f"{len(names)} {verdict}"
