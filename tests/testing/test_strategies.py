"""The strategy of combinations of options: legal, few, narrowed by family, and shrinking to what matters."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import assume, find, given, settings

from mockserver import MockServer
from mockserver._json import JSON
from mockserver.contract.choices import CHOICES, problem
from mockserver.contract.choices.model import Choice
from mockserver.testing.strategies import choices
from tests.machine.steady import STEADY


@given(choices(at_most=3))
def test_a_combination_is_legal_and_small(drawn: JSON) -> None:
    assert len(drawn) <= 3
    assert [] == [wrong for id, option in drawn.items() if (wrong := problem(id, option))]


ROWS = pytest.mark.parametrize(
    "row", [row for row in CHOICES.values() if row.family == "sessions"], ids=lambda row: row.id
)


@cache
def generated() -> dict[str, list[object]]:
    """Return the options of each choice of sessions that some examples have."""
    drawn: dict[str, list[object]] = {}

    @settings(STEADY, max_examples=400)
    @given(choices(families=("sessions",)))
    def collect(combination: JSON) -> None:
        for id, option in combination.items():
            drawn.setdefault(id, []).append(option)

    collect()
    return drawn


@ROWS
def test_every_option_can_be_generated(row: Choice) -> None:
    drawn = generated()[row.id]

    assert [] == [option for option in row.options if option not in drawn]


def test_a_failing_combination_shrinks_to_the_option_that_matters() -> None:
    assert {"dual-status": "guide"} == find(choices(), lambda drawn: drawn.get("dual-status") == "guide")


def test_an_unknown_family_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="got the families sesions; expected some of access, campaigns"):
        choices(families=("sesions",))


@given(chosen=choices(families=("campaigns", "access")))
def test_a_sandbox_accepts_every_combination(mockserver_server: MockServer, chosen: JSON) -> None:
    assume(chosen)
    with mockserver_server.sandbox(choices=chosen) as sandbox:
        assert chosen.items() <= sandbox.state()["choices"].items()
        assert "campaigns" in sandbox.call("GET", "/v1/campaigns").json()
