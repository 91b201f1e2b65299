"""The page of the document's open points agrees with the tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from mockserver.cli import main
from mockserver.cli.docs import choices_page
from mockserver.contract.choices import CHOICES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "choices.md"


def test_the_page_in_the_documentation_is_the_generated_one() -> None:
    assert PAGE.read_text(encoding="utf-8") == choices_page(), (
        "write it again: mockserver choices --markdown > docs/choices.md"
    )


def test_the_command_prints_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["choices", "--markdown"])

    assert choices_page() == capsys.readouterr().out


def section(heading: str) -> str:
    """The part of the page under this heading, down to the next one."""
    return choices_page().partition(f"{heading}\n")[2].partition("\n#")[0]


def test_every_choice_is_in_the_table_by_operation() -> None:
    table = section("## By operation")

    assert [] == [id for id in CHOICES if f"[{id}](#{id.lower()})" not in table]
