"""The strategy of combinations of options: legal, few, narrowed by family, and shrinking to what matters."""

from __future__ import annotations

import pytest
from hypothesis import assume, find, given

from mockserver import MockServer
from mockserver._json import JSON
from mockserver.contract.choices import problem
from mockserver.testing.strategies import choices


@given(choices(at_most=3))
def test_a_combination_is_legal_and_small(drawn: JSON) -> None:
    assert len(drawn) <= 3
    assert [] == [wrong for id, option in drawn.items() if (wrong := problem(id, option))]


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
