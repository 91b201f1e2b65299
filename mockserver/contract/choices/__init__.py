"""
Every point that the API document leaves open, as data: what can be chosen, what is fixed, and what a choice may be.

1. A point is a row of `CHOICES` or of `FIXED`, never of both.
2. A choice is read by its id, and the value read is always legal by `problem`.
3. The values in these tables are read, never written to; `merged` makes a new value.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from mockserver.contract.choices import access, campaigns, content, events, filters, model, sessions
from mockserver.contract.choices.model import Choice, Fixed
from mockserver.contract.text import nearest_hint

__all__ = ["CHOICES", "DEFAULTS", "FAMILIES", "FIXED", "Choice", "Fixed", "merged", "problem"]

FAMILIES: Final = (access, campaigns, filters, content, sessions, events)

CHOICES: Final[Mapping[str, Choice]] = MappingProxyType({row.id: row for family in FAMILIES for row in family.CHOICES})
FIXED: Final[Mapping[str, Fixed]] = MappingProxyType({row.id: row for family in FAMILIES for row in family.FIXED})
DEFAULTS: Final[Mapping[str, object]] = MappingProxyType({row.id: row.default for row in CHOICES.values()})


def problem(id: str, value: object) -> str | None:
    """
    Say in one English sentence why `value` cannot be chosen for `id`, or None where it can.

    The sentence gives what was found, what was wanted and the nearest valid name.
    A number-valued choice also takes a mapping of some of its keys, which `merged` completes.
    """
    if id in CHOICES:
        return model.problem(CHOICES[id], value)
    if id in FIXED:
        return f"{id!r} is no choice: it is fixed as {FIXED[id].decision!r}"
    return f"no choice is called {id!r}{nearest_hint(id, CHOICES)}"


def merged(id: str, old: object, new: object) -> object:
    """
    Answer the value of choice `id` after `new` is chosen where `old` was: keys that `new` leaves out keep theirs.

    `new` is legal by `problem`; anything but a mapping replaces the old value whole.
    A rate that was off takes what is left out from 120 requests per 60 seconds.
    """
    return model.merged(CHOICES[id], old, new)
