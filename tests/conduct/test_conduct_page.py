"""The list of the rules of conduct agrees with the table."""

from __future__ import annotations

import json

import pytest

from mockserver.cli import main
from mockserver.judge.client.rules import RULES


def test_the_command_line_lists_the_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["clauses", "--conduct", "--json"])
    assert list(RULES) == [row["id"] for row in json.loads(capsys.readouterr().out)]
    assert 0 == main(["clauses", "--conduct"])
    assert len(RULES) == len(capsys.readouterr().out.splitlines())
