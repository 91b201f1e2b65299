"""
Matching of exchanges: conditions on JSON values by path, with the differences as the result.

A path is `path.NAME`, `query.NAME`, `header.NAME` or `body.NAME...`; a condition that is a text may begin with `>=`,
`<=`, `>`, `<`, `!=` or `~` (contains); any other value has to be equal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from mockserver.contract.text import as_written, number
from mockserver.core.state.calls import Call
from mockserver.core.state.journal import JournalEntry


class PathDifference(NamedTuple):
    """One path at which an exchange does not match; `actual` is None if it has no value there."""

    path: str
    expected: Any
    actual: Any


PATH_ROOTS = ("path", "query", "header", "body")
# Longer signs first, so that `>=` is not read as `>`.
_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {
        ">=": lambda actual, wanted: bool(actual >= wanted),
        "<=": lambda actual, wanted: bool(actual <= wanted),
        "!=": lambda actual, wanted: bool(actual != wanted),
        ">": lambda actual, wanted: bool(actual > wanted),
        "<": lambda actual, wanted: bool(actual < wanted),
        "~": lambda actual, wanted: str(wanted) in str(actual),
    }
)
ABSENT = object()  # for a path without a value
_ORDER = (">=", "<=", ">", "<")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_INDEX = re.compile(
    "[0-9]{1,9}"
)  # `str.isdigit` is also true for digits that `int` refuses, and `int` limits their number


def differences(exchange: JournalEntry, where: Mapping[str, Any]) -> list[PathDifference]:
    """Return the differences between the exchange and the conditions; empty if it matches."""
    compared = (
        (path, wanted, value_at(exchange.call, lambda: exchange.body, path))
        for path, wanted in normalize_conditions(where).items()
    )
    return [
        PathDifference(path, wanted, None if actual is ABSENT else actual)
        for path, wanted, actual in compared
        if not matches(actual, wanted)
    ]


def normalize_conditions(where: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the conditions with numbers and booleans as texts for path, query and header, which have only texts."""
    return {
        path: json.dumps(wanted) if isinstance(wanted, bool | int | float) and not path.startswith("body") else wanted
        for path, wanted in where.items()
    }


def matches(actual: Any, wanted: Any) -> bool:
    """Return True if the value fulfils the condition; `true` does not count as a number."""
    if actual is ABSENT:
        return False
    sign = _sign(wanted)
    if sign is None:
        return bool(actual == as_written(wanted)) and isinstance(actual, bool) == isinstance(wanted, bool)
    operand: Any = wanted[len(sign) :].strip()
    if sign != "~" and isinstance(actual, int | float) and not isinstance(actual, bool):
        try:
            operand = number(operand)
        except (ValueError, ArithmeticError):
            return sign == "!="
    elif sign in _ORDER and isinstance(actual, str) and _NUMBER.fullmatch(actual) and _NUMBER.fullmatch(operand):
        actual, operand = number(actual), number(operand)  # every value of a query or a header is a text
    try:
        return _OPERATORS[sign](actual, operand)
    except (TypeError, RecursionError):  # values of two kinds, or a body too deep to write as text
        return False


def _sign(wanted: Any) -> str | None:
    """Return the operator that a condition begins with, or None."""
    return next((sign for sign in _OPERATORS if isinstance(wanted, str) and wanted.startswith(sign)), None)


def value_at(call: Call, body: Callable[[], Any], path: str) -> Any:
    """Return the value of a call at `path`, or `ABSENT`; calls `body` only if the path leads into the body."""
    root, *rest = path.split(".")
    if root == "header":
        return call.headers.get(".".join(rest).lower(), ABSENT)
    value = body() if root == "body" else {"path": call.params, "query": dict(call.query)}.get(root, ABSENT)
    for part in rest:
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and _INDEX.fullmatch(part) and int(part) < len(value):
            value = value[int(part)]
        else:
            return ABSENT
    return value


def is_literal(wanted: Any) -> bool:
    """Return True for a single value that has to be equal: without an operator, and not a list or an object."""
    if isinstance(wanted, str):
        return _sign(wanted) is None
    return wanted is None or isinstance(wanted, bool | int | float)
