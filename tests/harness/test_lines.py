"""Lines compared by their parts: the comparison itself."""

from __future__ import annotations

import pytest

from tests.harness.lines import lacking

LINES = ["#1 createCampaign was answered with 201", "clock at noon, seed 0"]


@pytest.mark.parametrize("rows", [[("#1", "201"), ()], [("createCampaign",), ("noon", "seed 0")]], ids=str)
def test_the_words_between_the_parts_are_free(rows: list[tuple[str, ...]]) -> None:
    assert [] == lacking(LINES, rows)


@pytest.mark.parametrize(
    "rows",
    [[("#1", "202"), ()], [("201", "#1"), ()], [("#1",)], [("#1",), (), ()]],
    ids=["another fact", "another order", "a line too many", "a row too many"],
)
def test_a_line_without_its_parts_is_returned(rows: list[tuple[str, ...]]) -> None:
    assert 1 == len(lacking(LINES, rows))
