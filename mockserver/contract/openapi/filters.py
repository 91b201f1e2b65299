"""
The schemas of audience filters, typed by field and operator.

1. A statement is one of seventeen schemas, by its `field`; each has one alternative for each form of operand.
2. Choices that admit other operands widen the type of `value`.
"""

from __future__ import annotations

from collections.abc import Mapping
from sys import float_info
from typing import Final

from mockserver._json import JSON
from mockserver.contract.filters import FIELDS, OPERATORS, PART_OPERATORS, FilterField, Operand
from mockserver.contract.limits import FILTER_ENTRIES_MAX, JSON_VALUES_MAX
from mockserver.contract.openapi.parts import component_name, ref
from mockserver.contract.openapi.patterns import filter_date

Choices = Mapping[str, object]
# `date-time` is the form of RFC 3339, the one that generators and validators have.
_BEYOND_RFC_3339: Final = "forms beyond RFC 3339 are accepted too (fixed decision date-format)."


def filter_components(written: Mapping[str, JSON], choices: Choices) -> dict[str, JSON]:
    """
    Return the components of filters by name: the list, a group, a statement, and a statement of each field.

    Args:
        written: what the first three have without choices and bounds.
        choices: every choice with its option.
    """
    statements = {f"{component_name(name)}Statement": _statement(field, choices) for name, field in FIELDS.items()}
    may_be_empty = choices["group-no-statements"] != "reject"
    # Groups and statements are counted together: if each group has one statement at least, half of them are groups.
    most = FILTER_ENTRIES_MAX if may_be_empty else FILTER_ENTRIES_MAX // 2
    filters = {**written["Filters"], **_bounds(choices["filters-empty-list"] != "reject", most)}
    group = {**written["FilterGroup"], **_closed(choices)}
    group["properties"]["statements"] |= _bounds(may_be_empty, FILTER_ENTRIES_MAX - 1)
    any_statement = {**written["FilterStatement"], "oneOf": [ref(name) for name in statements]}
    return {"Filters": filters, "FilterGroup": group, "FilterStatement": any_statement, **statements}


def _bounds(may_be_empty: bool, most: int) -> JSON:
    return {"maxItems": most} if may_be_empty else {"minItems": 1, "maxItems": most}


def _statement(field: FilterField, choices: Choices) -> JSON:
    """Return the schema of the statements on a field: an alternative for each form of operand that its operators have."""
    kinds: dict[tuple[Operand, bool], list[str]] = {}
    for operator in OPERATORS[field.type].values():
        takes_part = operator.name in PART_OPERATORS and choices["platform-text-operators"] == "text"
        kinds.setdefault((operator.operand, takes_part and field.allowed is not None), []).append(operator.name)
    return {
        "title": f"Statement on {field.name}",
        "description": f"The value's format: {field.value_format}.",
        "oneOf": [
            _alternative(field, operators, operand, _scalar(field, choices, is_part), choices)
            for (operand, is_part), operators in kinds.items()
        ],
    }


def _alternative(field: FilterField, operators: list[str], operand: Operand, scalar: JSON, choices: Choices) -> JSON:
    operands: Mapping[Operand, JSON] = {
        "none": {},
        "one": {"value": scalar},
        "list": {"value": {"type": "array", "items": scalar, "minItems": 1, "maxItems": JSON_VALUES_MAX}},
        "pair": {"value": scalar, "value2": scalar},
    }
    ignored: JSON = {"value": {}, "value2": {}} if _closed(choices) else {}
    own = {"field": {"type": "string", "const": field.name}, "operator": {"type": "string", "enum": operators}}
    return {
        "type": "object",
        "properties": {**own, **ignored, **operands[operand]},
        "required": [*own, *operands[operand]],
        **_closed(choices),
    }


def _closed(choices: Choices) -> JSON:
    return {"additionalProperties": False} if choices["unknown-body-keys"] == "reject" else {}


def _scalar(field: FilterField, choices: Choices, is_part: bool) -> JSON:
    """Return the schema of one operand."""
    if field.type == "date":
        return _date(choices)
    if field.type == "number":
        return {"type": "number", "minimum": -float_info.max, "maximum": float_info.max}
    if field.type == "boolean":
        return {"type": "boolean"}
    if field.allowed is None or is_part or choices["platform-value-unknown"] == "match-none":
        return {"type": "string"}
    return {"type": "string", "enum": list(field.allowed)}


def _date(choices: Choices) -> JSON:
    """Return the schema of a date-time; with a lenient choice also of a date, and of a date-time without an offset."""
    pattern = {"type": "string", "pattern": filter_date(choices)}
    if choices["date-only-and-naive"] != "reject":
        return pattern
    offset = "with Z" if choices["date-offset"] == "z-only" else "with Z or an offset"
    return pattern | {
        "description": f"An ISO 8601 date-time {offset}; {_BEYOND_RFC_3339}",
        "format": "date-time",
    }
