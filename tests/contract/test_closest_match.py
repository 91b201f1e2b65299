"""The search for the closest name returns it for a mistyped one, and never reads more than it has to."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from mockserver.contract.text import COMPARED_MAX, closest_match


def test_of_many_names_none_is_the_closest_and_most_are_not_read() -> None:
    names = (f"chat_{number}" for number in count())

    assert closest_match("chat_0", names) is None
    assert int(next(names).removeprefix("chat_")) <= COMPARED_MAX + 1


def test_a_text_too_long_for_a_name_has_no_closest() -> None:
    assert closest_match("x" * 1_000_000, ["x" * 10_000]) is None


def test_a_name_in_another_case_is_the_closest() -> None:
    assert "PAUSED" == closest_match("paused", ["APPROVED", "PAUSED", "caused"])


@pytest.mark.parametrize(
    ("received", "known"),
    [
        ("error-precedence", "user-cancels"),
        ("cadence-units", "cancel-final"),
        ("listCampaigns", "readTemplate"),
        ("on", "none"),
        ("by", "body"),
        ("zzz", "size"),
    ],
)
def test_a_name_that_is_not_like_it_is_none(received: str, known: str) -> None:
    assert closest_match(received, [known]) is None


@pytest.mark.parametrize(
    ("received", "known"),
    [
        ("ulr", "url"),
        ("lst", "last"),
        ("fone", "phone"),
        ("gide", "guide"),
        ("drop", "drop-after"),
        ("start", "startCampaign"),
        ("commonVars", "commonVariables"),
        (["giude"], "guide"),
    ],
)
def test_a_misspelt_or_shortened_name_has_its_name(received: Any, known: str) -> None:
    assert known == closest_match(received, ["zebra", known])
