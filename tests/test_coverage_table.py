"""The coverage table counts at methods that exist, and shows what is missing."""

from __future__ import annotations

import json
from pathlib import Path

from tests.coverage_table import observed, rows, table


def test_what_the_table_counts_passes_through_methods_that_exist() -> None:
    assert [] == [f"{owner.__name__}.{name}" for owner, name, _ in observed({}) if name not in vars(owner)]


def test_the_table_adds_up_the_processes_of_a_run_and_names_what_is_missing(tmp_path: Path) -> None:
    endpoints = sorted(rows()["endpoints"])
    nothing: dict[str, list[str]] = {name: [] for name in (*rows(), "tests", "laws")}
    for name, seen in (("one", endpoints[:-1]), ("other", endpoints[:1])):
        (tmp_path / f"{name}.json").write_text(json.dumps(nothing | {"endpoints": seen}), encoding="utf-8")

    assert f"| endpoints | 15 | 16 | {endpoints[-1]} |" in table(tmp_path)
