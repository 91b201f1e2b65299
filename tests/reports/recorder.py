"""A plugin of pytest that writes the report of each failed test, as the lines that `mockserver` adds, into one file of JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

FILE = "REPORTS_FILE"  # the variable of the environment that names it
_texts: dict[str, str] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    name = report.nodeid.rpartition("::test_")[2]
    told = [str(value) for key, value in report.user_properties if key == "report"]
    sections = [f"{title}\n\n{text}" for title, text in report.sections if title.startswith("mockserver")]
    if told or sections:
        _texts[name] = "\n".join(told or sections)


def pytest_sessionfinish() -> None:
    Path(os.environ[FILE]).write_text(json.dumps(_texts), encoding="utf-8")
