"""The page of the document's open points agrees with the tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from mockserver.cli import main
from mockserver.cli.docs import choices_page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "choices.md"


def test_the_page_in_the_documentation_is_the_generated_one() -> None:
    assert PAGE.read_text(encoding="utf-8") == choices_page(), (
        "write it again: mockserver choices --markdown > docs/choices.md"
    )


def test_the_command_prints_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["choices", "--markdown"])

    assert choices_page() == capsys.readouterr().out
