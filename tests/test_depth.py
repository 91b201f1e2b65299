"""The depth of the run: the deep run is deep, and every law is in both."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.depth import DEEP, EXAMPLES, SHALLOW, at_depth, is_deep, loaded_examples


@pytest.mark.deep
def test_the_deep_run_draws_many_examples() -> None:
    assert EXAMPLES[DEEP] == loaded_examples()
    assert 2 == at_depth(1, 2)


@pytest.mark.skipif(is_deep(), reason="for the test line")
def test_the_test_line_draws_few_examples() -> None:
    assert EXAMPLES[SHALLOW] == loaded_examples()
    assert 1 == at_depth(1, 2)


@given(st.none())
def test_a_hypothesis_test_is_a_law(request: pytest.FixtureRequest, _: None) -> None:
    assert request.node.get_closest_marker("law")


@pytest.mark.law
def test_a_law_runs_the_examples_of_its_depth() -> None:
    seen: list[int] = []

    @settings(database=None)
    @given(st.integers())
    def law(number: int) -> None:
        seen.append(number)

    law()

    assert at_depth(EXAMPLES[SHALLOW], EXAMPLES[DEEP]) == len(seen)
