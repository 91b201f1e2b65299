"""Conditions with names and values that no list and no number has: they match nothing, and no call fails for them."""

from __future__ import annotations

from typing import Any

import pytest

from mockserver import Sandbox
from mockserver.core.state.matching import matches
from tests.harness.rows import each_row
from tests.operations.world import GIVEN

pytestmark = pytest.mark.mockserver(given=GIVEN, now="2026-03-01T12:00:00Z")

# Digits that `str.isdigit` takes and `int` does not, more of them than `int` reads, and ones past the end.
INDICES = ("²", "٣", "①", "9" * 180, "+0", "-1", "0_0", " 0", "")


@each_row("index", INDICES)
def test_an_index_that_no_list_has_matches_nothing(mockserver: Sandbox, index: str) -> None:
    rule = mockserver.on("createCampaign").where({f"body.filters.{index}": "~x"}).error("INTERNAL_ERROR")

    reply = mockserver.call("POST", "/v1/campaigns", json={"filters": ["x", "x"]})

    assert (400, 0) == (reply.status, rule.matched)


def test_an_index_with_leading_zeros_is_that_index(mockserver: Sandbox) -> None:
    rule = mockserver.on("createCampaign").where({"body.filters.01": "x"}).error("INTERNAL_ERROR")

    mockserver.call("POST", "/v1/campaigns", json={"filters": ["", "x"]})

    assert 1 == rule.matched


def test_a_body_too_deep_to_write_as_text_contains_nothing() -> None:
    class Deep(list[Any]):
        def __str__(self) -> str:
            raise RecursionError("maximum recursion depth exceeded")

    assert not matches(Deep(), "~x")


@pytest.mark.parametrize(("actual", "wanted"), [(True, 1), (1, True), (False, 0), (0, False)])
def test_a_boolean_is_not_a_number(actual: int, wanted: int) -> None:
    assert not matches(actual, wanted)
    assert matches(actual, actual)
