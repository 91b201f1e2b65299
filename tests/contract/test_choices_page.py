"""The page of the document's open points agrees with the tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mockserver.cli import main
from mockserver.cli.docs import choices_page
from mockserver.contract.choices import CHOICES, FIXED
from mockserver.contract.choices.profiles import PROFILES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "choices.md"


def section(heading: str) -> str:
    """The part of the page under this heading, down to the next one."""
    return choices_page().partition(f"{heading}\n")[2].partition("\n#")[0]


def test_the_page_in_the_documentation_is_the_generated_one() -> None:
    assert PAGE.read_text(encoding="utf-8") == choices_page(), (
        "write it again: mockserver choices --markdown > docs/choices.md"
    )


def test_the_command_prints_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["choices", "--markdown"])

    assert choices_page() == capsys.readouterr().out


def test_a_choice_has_a_section_with_every_column_of_its_row() -> None:
    missing = {}
    for choice in CHOICES.values():
        default = choice.default if isinstance(choice.default, str) else json.dumps(choice.default)
        ids = [f"`{each}`" for each in (*choice.options, *choice.clauses)]
        wanted = [f"**`{default}`** (default)", *ids, choice.question, choice.why, choice.where, choice.provenance]
        written = section(f"### `{choice.id}`")
        missing[choice.id] = [each for each in wanted if each not in written]

    assert {} == {id: words for id, words in missing.items() if words}


def test_a_fixed_decision_is_a_line_of_its_family() -> None:
    sections = {family: section(f"### Fixed decisions: {family}") for family in {row.family for row in FIXED.values()}}

    assert [] == [row.id for row in FIXED.values() if f"- `{row.id}`: {row.decision}" not in sections[row.family]]


def test_an_option_shows_the_profiles_that_select_it() -> None:
    shown = {
        (profile, id): f"`{option}` ({profile}" in section(f"### `{id}`")
        or f"`{option}` (guide, {profile})" in section(f"### `{id}`")
        for profile, options in PROFILES.items()
        for id, option in options.items()
        if option != CHOICES[id].default
    }

    assert [] == [row for row, is_shown in shown.items() if not is_shown]
    assert "**`catalog`** (default), `guide` (guide, hostile)" in section("### `dual-status`")


def test_every_choice_is_in_the_table_by_operation() -> None:
    table = section("## By operation")

    assert [] == [id for id in CHOICES if f"[{id}](#{id.lower()})" not in table]
