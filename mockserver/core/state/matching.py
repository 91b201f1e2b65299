"""
Matching exchanges: `where` compares JSON values by path, and says how an exchange differs instead of a bare no.

A path is `path.NAME`, `query.NAME`, `header.NAME` or `body.NAME...`; a wanted text may begin with `>=`, `<=`, `>`,
`<`, `!=` or `~` (contains), else values are equal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from mockserver.core.state.calls import Call
from mockserver.core.state.journal import JournalEntry


class PathDifference(NamedTuple):
    """Where an exchange is not as wanted; `actual` is None where it has nothing there."""

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
ABSENT = object()  # where a call has nothing
_ORDER = (">=", "<=", ">", "<")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_INDEX = re.compile("[0-9]{1,9}")  # `str.isdigit` also takes digits that `int` refuses, and `int` only so many of them


def differences(exchange: JournalEntry, where: Mapping[str, Any]) -> list[PathDifference]:
    """What keeps the exchange from being as wanted; empty where it is."""
    found = (
        (path, wanted, value_at(exchange.call, lambda: exchange.body, path))
        for path, wanted in normalize_conditions(where).items()
    )
    return [
        PathDifference(path, wanted, None if actual is ABSENT else actual)
        for path, wanted, actual in found
        if not matches(actual, wanted)
    ]


def normalize_conditions(where: Mapping[str, Any]) -> Mapping[str, Any]:
    """The conditions with numbers and booleans as texts where a call has nothing but texts: path, query, header."""
    return {
        path: json.dumps(wanted) if isinstance(wanted, bool | int | float) and not path.startswith("body") else wanted
        for path, wanted in where.items()
    }


def matches(actual: Any, wanted: Any) -> bool:
    """True where the value is as wanted; `true` is no number."""
    if actual is ABSENT:
        return False
    sign = next((sign for sign in _OPERATORS if isinstance(wanted, str) and wanted.startswith(sign)), None)
    if sign is None:
        return bool(actual == wanted) and isinstance(actual, bool) == isinstance(wanted, bool)
    operand: Any = wanted[len(sign) :].strip()
    if sign != "~" and isinstance(actual, int | float) and not isinstance(actual, bool):
        try:
            operand = float(operand)
        except ValueError:
            return sign == "!="
    elif sign in _ORDER and isinstance(actual, str) and _NUMBER.fullmatch(actual) and _NUMBER.fullmatch(operand):
        actual, operand = float(actual), float(operand)  # of a query or a header everything is text
    try:
        return _OPERATORS[sign](actual, operand)
    except (TypeError, RecursionError):  # values of two kinds, or a body too deep to write as text
        return False


def value_at(call: Call, body: Callable[[], Any], path: str) -> Any:
    """What a call has at `path`, or `ABSENT`; `body` is asked for its JSON value only where the path leads there."""
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
    """True for a single value that has to be equal: no sign before it, no list or object."""
    if isinstance(wanted, str):
        return not any(wanted.startswith(sign) for sign in _OPERATORS)
    return wanted is None or isinstance(wanted, bool | int | float)
