"""The page on scenarios is generated from the tables and the library."""

from __future__ import annotations

from pathlib import Path

import pytest

from mockserver.cli import main
from mockserver.cli.docs import scenarios_page
from mockserver.contract.effects import EFFECTS
from mockserver.scenario import library

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scenarios.md"


def test_the_page_in_the_documentation_is_the_generated_one() -> None:
    assert PAGE.read_text(encoding="utf-8") == scenarios_page(), "write it again: mockserver scenarios --markdown"


def test_every_effect_and_every_scenario_has_its_line() -> None:
    lines = scenarios_page().splitlines()

    assert [] == [name for name in EFFECTS if sum(line.startswith(f"| `{name}` |") for line in lines) != 1]
    assert [] == [name for name in library.paths() if sum(line.startswith(f"- [{name}]") for line in lines) != 1]


def test_the_command_line_writes_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["scenarios", "--markdown"])
    assert capsys.readouterr().out == scenarios_page()
