"""The search for the closest name returns it for a mistyped one, and never reads more than it has to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mockserver.contract.text import NAME_MAX_CHARS, closest_match

MANY = 100_000
LOOKUPS_MAX = 150 * NAME_MAX_CHARS


class CountedNames:
    """Many names that can be looked up; each look-up is counted, and reading them one by one fails the test."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.lookups = 0

    def get(self, name: str) -> None: ...

    def __len__(self) -> int:
        return MANY

    def __contains__(self, name: object) -> bool:
        self.lookups += 1
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        pytest.fail("the search read the names one by one")


@pytest.mark.parametrize("typo", ["chat_an", "chat_anna", "chat_nAa", "chat-ana", "chat_aan", "CHAT_ANA", " chat_ana "])
def test_of_many_names_one_at_edit_distance_one_is_matched_by_lookup(typo: str) -> None:
    known = CountedNames("chat_ana", "chat_bia")
    near = closest_match(typo, known)

    assert ("chat_ana" if typo != "chat_nAa" else None) == near
    assert known.lookups <= LOOKUPS_MAX


def test_a_name_without_a_neighbour_among_many_costs_a_bounded_number_of_lookups() -> None:
    known = CountedNames()

    assert closest_match("x" * NAME_MAX_CHARS, known) is None
    assert 0 < known.lookups <= LOOKUPS_MAX


@pytest.mark.parametrize("known", [CountedNames("x"), ["x" * 10_000]], ids=["many", "few"])
def test_a_text_too_long_for_a_name_is_searched_for_nowhere(known: list[str] | CountedNames) -> None:
    assert closest_match("x" * 1_000_000, known) is None
    assert getattr(known, "lookups", 0) == 0


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
