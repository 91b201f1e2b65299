"""
Every point that the API document leaves open, as data: what can be chosen, what is fixed, and what a choice may be.

1. A point is a row of `CHOICES` or of `FIXED`, never of both.
2. A choice is read by its id, and its value is always valid by `problem`.
3. No code writes to the values in these tables; `merged` returns a new value.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from mockserver.contract.choices import access, campaigns, content, events, filters, model, sessions
from mockserver.contract.choices.model import Choice, Fixed, Mismatch
from mockserver.contract.text import closest_match_hint

__all__ = ["CHOICES", "DEFAULTS", "FAMILIES", "FIXED", "Choice", "Fixed", "Mismatch", "merged", "mismatch", "problem"]

FAMILIES: Final = (access, campaigns, filters, content, sessions, events)

CHOICES: Final[Mapping[str, Choice]] = MappingProxyType({row.id: row for family in FAMILIES for row in family.CHOICES})
FIXED: Final[Mapping[str, Fixed]] = MappingProxyType({row.id: row for family in FAMILIES for row in family.FIXED})
DEFAULTS: Final[Mapping[str, object]] = MappingProxyType({row.id: row.default for row in CHOICES.values()})


def problem(id: str, value: object) -> str | None:
    """
    Return in one sentence why `value` cannot be chosen for `id`, or None if it can.

    Args:
        id: The id of a choice; any other is a problem too.
        value: The name of an option or, for a number-valued choice, a number or a mapping of some of its keys, which
            `merged` completes.
    """
    if id in FIXED:
        return f"{id!r} is not a choice: it is fixed as {FIXED[id].decision!r}"
    if id not in CHOICES:
        return f"got the choice {id!r}; expected the id of one{closest_match_hint(id, CHOICES)}"
    wrong = mismatch(id, value)
    return f"choice {id!r}: {wrong}" if wrong else None


def mismatch(id: str, value: object) -> Mismatch | None:
    """Return what was received and what is valid for choice `id`, or None if `value` can be chosen."""
    return model.mismatch(CHOICES[id], value)


def merged(id: str, old: object, new: object) -> object:
    """
    Return the value of choice `id` after `new` replaces `old`; in a mapping, a key that `new` leaves out stays.

    `new` is valid by `problem`; anything but a mapping replaces the whole value.
    A rate that was off is completed from 120 requests per 60 seconds.
    """
    return model.merged(CHOICES[id], old, new)
