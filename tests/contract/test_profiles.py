"""The profiles: legal, complete, and the purpose of each."""

from __future__ import annotations

import pytest

from mockserver.contract.choices import CHOICES, DEFAULTS, problem
from mockserver.contract.choices.profiles import PROFILES

HOSTILE = PROFILES["hostile"]
_NUMBERS = "It has numbers instead of options, and any of them would refuse or slow down ordinary calls of a suite."

# The choices that `hostile` does not name, with the reason.
LEFT_OUT = {
    "head-bounds":             "That the catalog's code has its own status is the default, and no other body has 414 or 431.",
    "subscription-scope":      "That reads are refused too is the default, and the harder case.",
    "null-for-optional":       "That null is refused is the default, and it breaks clients that send it.",
    "platform-required":       "That the platform is demanded is the default, and the harder case.",
    "detail-fields":           "That the two fields are missing is the default, and the harder case.",
    "repeat-cancel":           "That a second cancel is refused is the default, and it breaks clients that retry.",
    "platform-text-operators": "That only whole values are accepted is the default, and the harder case.",
    "date-only-and-naive":     "That such dates are refused is the default, and the other options are lenient.",
    "message-required-fields": "That fields are missing is the default, and a blank text is easier to handle.",
    "funnel-checked-when":     "That a session fails long after its creation is the default, and the harder case.",
    "return-url-scheme":       "That only https is taken is the default, and the harder case.",
    "simulate-panel":          "It is the mock's own, and no client reads it.",
    "wh-timestamp":            "The other option needs a verifier with the sandbox's clock, which a receiver has not by itself.",
    "wh-signature":            "Another scheme would need another verifier, which a receiver cannot have in advance.",
    "wh-no-endpoint":          "That the event is dropped is the default, and what needs the fallback.",
    "rate-limit-numbers":      _NUMBERS,
    "size-limit-values":       _NUMBERS,
    "throughput-ceilings":     _NUMBERS,
    "media-max-files":         _NUMBERS,
    "media-max-size":          _NUMBERS,
}  # fmt: skip


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
