"""The page on conduct agrees with the table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mockserver.cli import main
from mockserver.cli.docs import conduct_page
from mockserver.judge.client.rules import RULES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "conduct.md"


def test_the_page_in_the_documentation_is_the_generated_one() -> None:
    assert PAGE.read_text(encoding="utf-8") == conduct_page(), "write it again: mockserver clauses --conduct --markdown"


def test_the_command_line_lists_and_writes(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["clauses", "--conduct", "--markdown"])
    assert capsys.readouterr().out == conduct_page()
    assert 0 == main(["clauses", "--conduct", "--json"])
    assert list(RULES) == [row["id"] for row in json.loads(capsys.readouterr().out)]
    assert 0 == main(["clauses", "--conduct"])
    assert len(RULES) == len(capsys.readouterr().out.splitlines())
