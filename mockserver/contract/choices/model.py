"""
Rows of open points, and the validation and merging of chosen values.

The two kinds of row that answer what the API document leaves open: what can be chosen, and what is fixed.

What may be chosen: the check of an option's name and of each kind of number, and how two numbers are merged.

A message names what was found, what was wanted, and the nearest valid name where one is near.
"""

from __future__ import annotations

from collections.abc import Mapping
from reprlib import repr as short
from typing import Final, Literal, NamedTuple

from mockserver.contract.durations import parse_duration
from mockserver.contract.text import nearest_hint

Provenance = Literal["documented", "inferred", "invented"]
ValueKind = Literal["", "rate", "per-platform", "count", "bytes-per-kind"]
FixedKind = Literal["fixed", "effect"]


class Choice(NamedTuple):
    """
    One open question that a sandbox answers as it is told.

    `where` names lines of the API document; `clauses` names the clauses of the contract that leave the point open.
    `options` are the names that can be chosen; `default` is one of them, or a value where `value` names a kind:
    `rate` is "off" or {requests, per} (per: seconds or a duration text), `per-platform` maps a platform to messages
    (None for no limit), `count` is a whole number, `bytes-per-kind` maps a kind of media to bytes.
    `provenance` says where the default comes from: the document's words, inference, or invention.
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


class Fixed(NamedTuple):
    """
    One open question that is answered once for every sandbox.

    A row of kind `effect` has its other answers in seed data and in the effects of a scenario, `fixed` has none.
    `note` says what else a reader should expect of it, or nothing.
    """

    id: str
    family: str
    decision: str
    why: str
    kind: FixedKind = "fixed"
    note: str = ""


# A rate that is switched on without its numbers: invented, since the document shows none.
RATE_WHEN_ON: Final[Mapping[str, object]] = {"requests": 120, "per": 60}

# No volume at all is a limit one can test with; a pace of none would never end, and no file at all is no upload.
_LEAST: Final[Mapping[str, int]] = {"size-limit-values": 0}


def problem(choice: Choice, value: object) -> str | None:
    """Say what is wrong with `value` as the answer to `choice`, or None."""
    if isinstance(value, str) and value in choice.options:
        return None
    if choice.value == "count":
        wrong = _whole(choice, value)
    elif choice.value:
        wrong = _mapping(choice, value)
    else:
        wrong = _option(choice, value)
    return f"choice {choice.id!r}: {wrong}" if wrong else None


def merged(choice: Choice, old: object, new: object) -> object:
    """Answer `new`, with the keys it leaves out as `old` has them."""
    if not isinstance(new, Mapping):
        return new
    return {**_base(choice, old), **new}


def _base(choice: Choice, old: object) -> Mapping[str, object]:
    if isinstance(old, Mapping):
        return old
    return RATE_WHEN_ON if choice.value == "rate" else {}


def _option(choice: Choice, value: object) -> str:
    wanted = f"found {short(value)}, wanted one of {', '.join(choice.options)}"
    if value is None and "null" in choice.options:
        return f"{wanted}; did you mean 'null', the word in quotes?"
    return f"{wanted}{nearest_hint(value, choice.options)}"


def _mapping(choice: Choice, value: object) -> str | None:
    keys = list(RATE_WHEN_ON if choice.value == "rate" else _base(choice, choice.default))
    if not isinstance(value, Mapping):
        words = "".join(f"{option!r} or " for option in choice.options)
        near = nearest_hint(value, choice.options) if isinstance(value, str) else ""
        return f"found {short(value)}, wanted {words}a mapping of {', '.join(keys)}{near}"
    for key, part in value.items():
        if key not in keys:
            return f"found the key {short(key)}, wanted {', '.join(keys)}{nearest_hint(key, keys)}"
        wrong = _period(part) if key == "per" else _whole(choice, part)
        if wrong:
            return f"{key}: {wrong}"
    return None


def _whole(choice: Choice, value: object) -> str | None:
    least = _LEAST.get(choice.id, 1)
    is_whole = isinstance(value, int) and not isinstance(value, bool) and value >= least
    if is_whole or (value is None and choice.value == "per-platform"):
        return None
    none = ", or null for no limit" if choice.value == "per-platform" else ""
    return f"found {short(value)}, wanted a whole number of at least {least}{none}"


def _period(value: object) -> str | None:
    if parse_duration(value):
        return None
    return f"found {short(value)}, wanted seconds above 0 or a duration like '60s'"
