"""
Coverage of the contract in pytest: gathered from every sandbox of the session's servers, written at its end.

`--mockserver-cov` registers this plugin; without it nothing here is imported. A worker of xdist sends what it has covered
to the process that started it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import pytest

from mockserver.judge.coverage.coverage import FILE, Coverage
from mockserver.pytest_plugin import options
from mockserver.report import coverage_text as render

_KEY: Final = "mockserver_coverage"


class CoveragePlugin:
    """The coverage of one session. Lifetime: that of the session."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._file = Path(options.run_option(config, "cov-file") or config.rootpath / FILE)
        least = options.run_option(config, "cov-fail-under")
        try:
            self._least = {} if least is None else render.thresholds(least)
        except ValueError as refusal:
            raise pytest.UsageError(f"--mockserver-cov-fail-under: {refusal}") from None
        self.coverage = Coverage()
        self._is_written = False

    @property
    def _is_worker(self) -> bool:
        return hasattr(self._config, "workerinput")

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Gather from the server of a `SandboxTestCase` too, which makes its own."""
        module = sys.modules.get("mockserver.unittest_case")
        instance = getattr(item, "instance", None)
        if module is not None and isinstance(instance, module.SandboxTestCase):
            instance.mockserver_coverage = instance.mockserver_coverage or self.coverage

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add what a worker of xdist has covered; one that crashed has sent nothing."""
        document = getattr(node, "workeroutput", {}).get(_KEY)
        if document is not None:
            self.coverage.update(Coverage.from_json(document))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the file, and fail a session that has passed otherwise if too little is covered."""
        if self._is_worker:
            self._config.workeroutput[_KEY] = self.coverage.as_json()  # type: ignore[attr-defined]
            return
        self._is_written = options.write_result(self._config, self._file, self.coverage.as_text())
        if session.exitstatus == pytest.ExitCode.OK and render.shortfalls(self.coverage, self._least):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("mockserver: coverage of the contract")
        for line in render.table(self.coverage, render.operations_named(render.USED, self.coverage)):
            terminalreporter.write_line(line)
        if self._is_written:
            invoked_in = self._config.invocation_params.dir
            file = self._file.relative_to(invoked_in) if self._file.is_relative_to(invoked_in) else self._file
            terminalreporter.write_line(f"each gap:  mockserver coverage report {file}")
            terminalreporter.write_line("with every operation:  the same with --operations all")
        for line in render.shortfalls(self.coverage, self._least):
            terminalreporter.write_line(f"FAIL {line}", red=True)
