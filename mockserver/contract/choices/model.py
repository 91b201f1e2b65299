"""
Rows of open points, and the validation and merging of chosen values.

A row is either a choice, whose value a sandbox can change, or fixed.
A value of a choice is the name of an option or, for some choices, a number or a mapping of numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from reprlib import repr as short
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from mockserver.contract.choices.document import Edit
from mockserver.contract.durations import parse_duration
from mockserver.contract.text import closest_match, did_you_mean

Provenance = Literal["documented", "inferred", "invented"]
ValueKind = Literal["", "rate", "per-platform", "count", "bytes-per-kind", "duration"]
FixedKind = Literal["fixed", "effect"]


class Choice(NamedTuple):
    """
    One open question that each sandbox answers by its own setting.

    `where` names lines of the API document; `clauses` names the clauses of the contract that leave the point open.
    `options` are the names that can be chosen; `default` is one of them, or a value where `value` names a kind:
    `rate` is "off" or {requests, per} (per: seconds or a duration text), `per-platform` maps a platform to messages
    (None for no limit), `count` is a whole number, `bytes-per-kind` maps a kind of media to bytes, `duration` is seconds
    or a duration text above 0.
    `means` explains options whose names do not say everything, such as their numbers and codes.
    `document` has what an option changes in the schemas of the OpenAPI document (see `document`).
    `least` is the least number of a value: 0 for a limit of no messages, which is worth a test.
    `provenance` is the source of the default: the document, inference from it, or invention.
    """

    id: str
    family: str
    question: str
    where: str
    options: tuple[str, ...]
    default: object
    why: str
    provenance: Provenance
    clauses: tuple[str, ...] = ()
    value: ValueKind = ""
    means: Mapping[str, str] = MappingProxyType({})
    document: Mapping[str, Edit] = MappingProxyType({})
    least: int = 1


class Fixed(NamedTuple):
    """
    One open question with a single answer for every sandbox.

    A row of kind `effect` has other answers in seed data and in the effects of a scenario, a `fixed` one has none.
    """

    id: str
    family: str
    decision: str
    why: str
    kind: FixedKind = "fixed"


# A rate that is switched on without its numbers: invented, since the document shows none.
RATE_WHEN_ON: Final[Mapping[str, object]] = {"requests": 120, "per": 60}


class Mismatch(NamedTuple):
    """A value that cannot be chosen: what was received, what is valid, and the nearest valid name if one is near."""

    received: str
    expected: str
    nearest: str | None = None

    def __str__(self) -> str:
        return f"got {self.received}; expected {self.expected}{did_you_mean(self.nearest)}"


def mismatch(choice: Choice, value: object) -> Mismatch | None:
    """Return what is wrong with `value` as the value of `choice`, or None if it can be chosen."""
    if isinstance(value, str) and value in choice.options:
        return None
    if choice.value == "count":
        return _whole(choice, value)
    if choice.value == "duration":
        return _duration(choice, value)
    return _mapping(choice, value) if choice.value else _option(choice, value)


def merged(choice: Choice, old: object, new: object) -> object:
    """Return `new`, completed with the keys of `old` that it leaves out."""
    if not isinstance(new, Mapping):
        return new
    return {**_base(choice, old), **new}


def _base(choice: Choice, old: object) -> Mapping[str, object]:
    if isinstance(old, Mapping):
        return old
    return RATE_WHEN_ON if choice.value == "rate" else {}


def _option(choice: Choice, value: object) -> Mismatch:
    expected = f"one of {', '.join(choice.options)}"
    if value is None and "null" in choice.options:
        return Mismatch(short(value), f"{expected} (the word 'null' in quotes)", "null")
    return Mismatch(short(value), expected, closest_match(value, choice.options))


def _duration(choice: Choice, value: object) -> Mismatch | None:
    wrong = _period(value)
    near = closest_match(value, choice.options)
    return wrong and wrong._replace(expected=f"one of {', '.join(choice.options)}, or {wrong.expected}", nearest=near)


def _mapping(choice: Choice, value: object) -> Mismatch | None:
    keys = list(RATE_WHEN_ON if choice.value == "rate" else _base(choice, choice.default))
    if not isinstance(value, Mapping):
        words = "".join(f"{option!r} or " for option in choice.options)
        near = closest_match(value, choice.options)
        return Mismatch(short(value), f"{words}a mapping of {', '.join(keys)}", near)
    for key, part in value.items():
        if key not in keys:
            return Mismatch(f"the key {short(key)}", ", ".join(keys), closest_match(key, keys))
        wrong = _period(part) if key == "per" else _whole(choice, part)
        if wrong:
            return wrong._replace(received=f"{key}: {wrong.received}")
    return None


def _whole(choice: Choice, value: object) -> Mismatch | None:
    is_whole = isinstance(value, int) and not isinstance(value, bool) and value >= choice.least
    if is_whole or (value is None and choice.value == "per-platform"):
        return None
    none = ", or null for no limit" if choice.value == "per-platform" else ""
    return Mismatch(short(value), f"a whole number of at least {choice.least}{none}")


def _period(value: object) -> Mismatch | None:
    if parse_duration(value):
        return None
    return Mismatch(short(value), "seconds above 0 or a duration like '60s'")
