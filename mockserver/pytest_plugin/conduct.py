"""
Conduct in pytest: findings fail a test that asks for it, stand in the report of one that fails, and are counted at the end.

1. `@pytest.mark.mockserver(conduct="error" | "report" | "off")` says it for a test, the ini option `mockserver_conduct` for all.
2. A finding fails the test in its call phase, so that xfail holds, and only where the test has passed otherwise.
3. Findings travel on the test's report, so that they come together under xdist too.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from mockserver.conduct.rules import Finding

MODES = ("error", "report", "off")
NAME = "mockserver-conduct"
_TITLE = "mockserver: conduct"
_FOUND: pytest.StashKey[list[Finding]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of this plugin; they are asked for before it is there."""
    parser.addini(
        "mockserver_conduct", "what findings on the client's conduct do: error, report or off", default="report"
    )
    parser.getgroup("mockserver").addoption(
        "--mockserver-conduct-json",
        metavar="FILE",
        type=Path,
        help="write what the client did against the advice to FILE",
    )


def problem(value: object) -> str | None:
    """What is wrong with a mode, with the nearest one; None where nothing is."""
    if value in MODES:
        return None
    from mockserver.contract.text import nearest_hint

    return f"{value!r} is none of {', '.join(MODES)}{nearest_hint(value, MODES)}"


def mode(item: pytest.Item) -> str:
    """What findings do to this test, by its nearest mark that says so or by the ini file."""
    marked = (marker.kwargs["conduct"] for marker in item.iter_markers("mockserver") if "conduct" in marker.kwargs)
    return str(next(marked, None) or item.config.getini("mockserver_conduct"))


class ConductPlugin:
    """Judges each test's sandboxes once its call is over. Lives as long as the session."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._before: set[str] = set()  # the sandboxes of earlier tests, which a test does not answer for
        self._server: Any = None
        self.told: list[dict[str, Any]] = []  # what reports brought, on whoever sees them all
        wrong = problem(config.getini("mockserver_conduct"))
        if wrong:
            raise pytest.UsageError(f"mockserver_conduct: {wrong}")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """A misspelt mode fails the run before any test has run."""
        for item in items:
            for marker in item.iter_markers("mockserver"):
                wrong = problem(marker.kwargs.get("conduct", "off"))
                if wrong:
                    raise pytest.UsageError(f"{item.nodeid}: @pytest.mark.mockserver(conduct=...): {wrong}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self._before = {each.id for each in self._server.made} if self._server is not None else set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Judge, whatever came of the test; only a test that has passed can fail for what was found."""
        asked = mode(item)
        try:
            result = yield
        finally:
            item.stash[_FOUND] = self._judged(item) if asked != "off" else []
        found = item.stash[_FOUND]
        if asked == "error" and found:
            from mockserver.testing.conduct import format_findings

            pytest.fail(format_findings(found), pytrace=False)
        return result

    def _judged(self, item: pytest.Item) -> list[Finding]:
        """What this test's sandboxes have found: those of its server, closed ones too."""
        held = getattr(item, "funcargs", {})
        server = held.get("mockserver_server")
        if server is None:
            return []
        self._server = server
        return [found for sandbox in server.made if sandbox.id not in self._before for found in sandbox.conduct]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        report = yield
        found = item.stash.get(_FOUND, [])
        if report.when == "call" and found:
            from mockserver.testing.conduct import format_findings

            report.mockserver_conduct = [each._asdict() | {"exchanges": list(each.exchanges)} for each in found]
            if report.failed and mode(item) != "error":
                report.sections.append((_TITLE, format_findings(found)))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        found: Iterable[dict[str, Any]] = getattr(report, "mockserver_conduct", ())
        self.told += [{"test": report.nodeid, **each} for each in found]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """How often each rule was broken in the whole session, the worst first."""
        if not self.told:
            return
        terminalreporter.section(_TITLE)
        for line in summary(self.told):
            terminalreporter.write_line(line)

    def pytest_sessionfinish(self) -> None:
        file: Path | None = self._config.getoption("--mockserver-conduct-json")
        if file is not None and not hasattr(self._config, "workerinput"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps({"findings": self.told}, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def summary(told: Iterable[dict[str, Any]]) -> list[str]:
    """A line a rule: severity, how often and in how many tests, and the advice."""
    by_rule: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for each in told:
        by_rule.setdefault((each["severity"], each["rule"]), []).append(each)
    lines = []
    for (severity, rule), found in sorted(by_rule.items()):
        tests = len({each["test"] for each in found})
        counted = f"{len(found)} in {tests} test{'s' if tests > 1 else ''}"
        lines.append(f"severity {severity}  {rule}: {counted}, first in {found[0]['test']}; {found[0]['advice']}")
    return lines
