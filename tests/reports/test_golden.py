"""The report of each case is the one that is kept; `python -m tests.reports` writes all of them again."""

from __future__ import annotations

import ast
import difflib
from pathlib import Path

import pytest

from tests.harness.rows import each_row
from tests.reports.run import CASES, COMMAND, GOLDEN, golden, reports

NAMES = [
    node.name.removeprefix("test_")
    for node in ast.parse(CASES.read_text(encoding="utf-8")).body
    if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return reports(tmp_path_factory.mktemp("cases"))


@each_row("name", NAMES)
def test_a_report_is_the_one_that_is_kept(found: dict[str, str], name: str) -> None:
    kept, now = golden(name).splitlines(), found.get(name, "").splitlines()
    changes = list(difflib.unified_diff(kept, now, f"golden/{name}.txt", "now", lineterm=""))
    if changes:
        pytest.fail("\n".join([f"the report has changed; if it is better, run {COMMAND}", *changes]), pytrace=False)
    assert kept


def test_each_kept_report_has_its_case() -> None:
    assert sorted(NAMES) == sorted(Path(file).stem for file in GOLDEN.glob("*.txt"))
