"""A plugin of pytest that writes, into the folder in which it runs, what a failed test shows: the report, and the dashboard's first page."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from mockserver import Sandbox

REPORT, PAGE = "{}.report.txt", "{}.page.html"
_HTML = {"Accept": "text/html"}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    told = [str(value) for key, value in report.user_properties if key == "report"]
    sections = [f"{title}\n\n{text}" for title, text in report.sections if title.startswith("mockserver")]
    if told or sections:
        _write(REPORT, report.nodeid, "\n".join(told or sections))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Function) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    sandbox = item.funcargs.get("mockserver")
    if isinstance(sandbox, Sandbox) and report.when == "call" and report.failed:
        _write(PAGE, report.nodeid, sandbox.call("GET", "/_mock/now", headers=_HTML).body.decode())
    return report


def _write(form: str, test: str, text: str) -> None:
    Path(form.format(test.rpartition("::test_")[2])).write_text(text, encoding="utf-8")
