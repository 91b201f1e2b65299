"""
Conduct in pytest: findings fail a test in the mode `error`, are part of a failing test's report, and are counted at the end.

1. `@pytest.mark.mockserver(conduct=...)` sets the mode of a test, the ini option `mockserver_conduct` that of all (see its row in `_settings`).
2. A finding fails the test in its call phase, so that xfail applies, and only if the test has passed otherwise.
3. Findings are part of the test's report, so that xdist sends them to the process that counts them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest

from mockserver.pytest_plugin import options
from mockserver.pytest_plugin.explore import EXPLORATION

if TYPE_CHECKING:
    from mockserver.testing.conduct import ConductReport
    from mockserver.testing.sandbox import Sandbox

NAME = "mockserver-conduct"
_TITLE = "mockserver: conduct"
_JUDGED: pytest.StashKey[list[ConductReport]] = pytest.StashKey()  # of each sandbox of the test


def mode(item: pytest.Item) -> str:
    """Return the mode of this test, from its nearest mark or from the ini file."""
    marked = (marker.kwargs["conduct"] for marker in item.iter_markers("mockserver") if "conduct" in marker.kwargs)
    return str(next(marked, None) or options.conduct_mode(item.config))


class ConductPlugin:
    """Judge of each test's sandboxes, which the hooks of `mockserver.pytest_plugin` call. Lifetime: that of the session."""

    def __init__(self) -> None:
        # Of all reports, in the process that collects them: the findings, and the rules that at least one test has shown.
        self.findings: list[dict[str, Any]] = []
        self._judged: set[str] = set()
        self._advised: set[str] = set()  # rules whose advice the report of a failed test has

    def judge_call(self, item: pytest.Item, sandboxes: Iterable[Sandbox], *, has_passed: bool) -> None:
        """Judge a test at the end of its function, unless only a failure is judged; a finding may fail a test that has passed."""
        if _JUDGED in item.stash:
            del item.stash[_JUDGED]  # of an earlier run of this test
        test_mode = mode(item)
        # The further runs of an exploration take the place of the sandboxes of the first one before the test's report.
        # Else only a failure is judged: a judgement is a tenth of a small test.
        judges_each = test_mode in ("error", "report") or EXPLORATION in item.stash
        if test_mode == "off" or not judges_each:
            return
        judged = item.stash[_JUDGED] = [sandbox.conduct for sandbox in sandboxes]
        findings = list(chain.from_iterable(judged))
        if test_mode == "error" and findings and has_passed:
            from mockserver.testing.conduct import format_findings

            pytest.fail(format_findings(findings), pytrace=False)

    def judge_failure(self, item: pytest.Item, sandboxes: Iterable[Sandbox]) -> None:
        """Judge a test whose function has failed, if it was not judged yet; never an error of its own."""
        if _JUDGED in item.stash or mode(item) == "off":
            return
        # What cannot be judged, such as a sandbox of a server that is gone, cannot be reported either, and the report says so.
        with suppress(Exception):
            for sandbox in sandboxes:
                sandbox._backend.deliver_quietly()
            item.stash[_JUDGED] = [sandbox.conduct for sandbox in sandboxes]

    def add_findings(self, item: pytest.Item, report: pytest.TestReport) -> None:
        """Add the findings to the report of the test's function; if it has failed, in words that its report does not have yet."""
        judged = item.stash.get(_JUDGED, [])
        if not judged:
            return
        from mockserver.contract.text import printable
        from mockserver.report.findings import as_row, judged_rules
        from mockserver.testing.conduct import format_findings

        findings = list(chain.from_iterable(judged))
        rules = {rule for part in judged for rule in judged_rules(row.rule for row in part.not_assessed)}
        report.mockserver_conduct = {  # type: ignore[attr-defined]  # xdist sends the attributes of a report
            "findings": [as_row(finding) for finding in findings],
            "judged": sorted(rules),
        }
        if report.failed and mode(item) != "error":
            shown = "\n".join(text for _, text in report.sections)
            others = [finding for finding in findings if printable(finding.advice) not in shown]
            if others:
                report.sections.append((_TITLE, format_findings(others)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        conduct: dict[str, Any] = getattr(report, "mockserver_conduct", {"findings": (), "judged": ()})
        findings: Iterable[dict[str, Any]] = conduct["findings"]
        self.findings += [{"test": report.nodeid, **finding} for finding in findings]
        self._judged.update(conduct["judged"])
        if report.failed:
            self._advised |= {finding["rule"] for finding in findings}

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print how often each rule was broken in the whole session, the most severe first."""
        if not self.findings:
            return
        from mockserver.report.findings import judged_text

        terminalreporter.section(_TITLE)
        terminalreporter.write_line(judged_text(self._judged, (finding["rule"] for finding in self.findings)))
        for line in summary(self.findings, self._advised):
            terminalreporter.write_line(line)


def summary(findings: Iterable[dict[str, Any]], advised: Container[str]) -> list[str]:
    """Return one line per rule: severity, number of findings and of tests, and the advice unless it is above."""
    by_rule: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for finding in findings:
        by_rule.setdefault((finding["severity"], finding["rule"]), []).append(finding)
    lines = []
    for (severity, rule), rows in sorted(by_rule.items()):
        tests = len({row["test"] for row in rows})
        counted = f"{len(rows)} in {tests} test{'s' if tests > 1 else ''}"
        advice = "" if rule in advised else f"; {rows[0]['advice']}"
        lines.append(f"severity {severity}  {rule}: {counted}, first in {rows[0]['test']}{advice}")
    return lines
