"""What a source of a trace can show; a check that needs what its trace does not know is not judged, by this alone."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Final, Literal, get_args

Fact = Literal[
    "tenants",
    "audiences",
    "settings",
    "templates",
    "genuine",
    "bodies",
    "later calls",
    "times",
    "effects",
    "deliveries",
    "visits",
]
# Why a check is not judged whose trace lacks a fact; of several the first.
LACKING: Final[Mapping[Fact, str]] = MappingProxyType(
    {
        "tenants": "the recording has no keys, which show that calls are of one tenant",
        "audiences": "a recording does not show the chats of an audience",
        "settings": "a recording does not show how many messages a platform sends per minute",
        "templates": "only a template that was read before the start is compared",
        "genuine": "a recording does not show whether a delivery was genuine",
        "bodies": "the recording lacks bodies of requests",
        "later calls": "a recording may lack the calls that followed",
        "times": "the recording has no times",
        "effects": "a recording does not show whether a call without an answer took effect",
        "deliveries": "nothing was delivered to a receiver",
        "visits": "no hosted page was visited",
    }
)


def why_lacking(facts: AbstractSet[Fact]) -> str | None:
    """Return why a check is not judged whose trace lacks these facts; None for none."""
    return next((why for fact, why in LACKING.items() if fact in facts), None)


OF_A_SANDBOX: Final[frozenset[Fact]] = frozenset(get_args(Fact))
