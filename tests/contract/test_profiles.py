"""The profiles: legal, complete, and the purpose of each."""

from __future__ import annotations

import pytest

from mockserver.contract.choices import CHOICES, DEFAULTS, problem
from mockserver.contract.choices.profiles import LEFT_OUT, PROFILES

HOSTILE = PROFILES["hostile"]


@pytest.mark.parametrize("name", PROFILES)
def test_each_option_of_a_profile_is_legal(name: str) -> None:
    assert [] == [wrong for id, option in PROFILES[name].items() if (wrong := problem(id, option))]


def test_literal_is_the_default_of_every_choice() -> None:
    assert dict(DEFAULTS) == {**DEFAULTS, **PROFILES["literal"]}


def test_hostile_names_a_choice_or_has_a_reason_why_not() -> None:
    assert set() == set(HOSTILE) & set(LEFT_OUT)
    assert set(CHOICES) == set(HOSTILE) | set(LEFT_OUT)


def test_hostile_takes_another_option_than_the_default_wherever_it_takes_one() -> None:
    assert [] == [id for id, option in HOSTILE.items() if option == CHOICES[id].default]


def test_what_hostile_leaves_out_has_a_reason() -> None:
    assert [] == [id for id, why in LEFT_OUT.items() if not why.endswith(".")]


def test_guide_has_the_statuses_of_the_campaign_guide() -> None:
    assert "guide" == PROFILES["guide"]["dual-status"]
