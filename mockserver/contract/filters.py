"""
The seventeen filter fields, the operators of their five types, and what each operator means.

The validator of filters, the compiler of audiences and the response of `GET /v1/campaigns/filters/schema` use this one
table, so they cannot disagree.

Rules of the meanings:

1. A positive operator is false for a chat without the value (fixed decision `missing-value-positive-ops`).
2. A negative operator is the exact negation of its positive one; the choice `missing-value-negative-ops` may
   exclude the chats without the value.
3. A meaning is a function of the chat's value, which is never None, and the operand: one value, a set of values for
   `list`, both bounds for `pair`, None for `none`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

FieldType = Literal["string", "number", "boolean", "date", "array"]
Operand = Literal["none", "one", "list", "pair"]
Meaning = Callable[[Any, Any], bool]

PLATFORMS = ("chatapp", "chatapp_lite", "photoapp", "botapp")
COMBINATORS = ("and", "or")


class FilterField(NamedTuple):
    """A field of a chat: its documented name, type and value format, and the attribute of `records.ChatAttributes` behind it."""

    name: str
    type: FieldType
    attribute: str
    value_format: str
    allowed: tuple[str, ...] | None = None


class Operator(NamedTuple):
    """
    One operator of a type.

    `operand` is the form of `value`: nothing, one value, a non-empty array, or a pair with `value2`.
    A positive operator has a `meaning`; a negative one names the operator that it `negates`.
    """

    name: str
    operand: Operand
    meaning: Meaning | None = None
    negates: str | None = None


_SEMANTIC = "semantic id"
_DATE = "ISO 8601 date-time"

# fmt: off
_FIELDS: tuple[FilterField, ...] = (
    FilterField("chat.platform",                        "string",  "platform",              "one of " + ", ".join(PLATFORMS), allowed=PLATFORMS),
    FilterField("chat.status",                          "string",  "status",                "chat status (for example open, closed)"),
    FilterField("chat.monetization",                    "number",  "monetization",          "number"),
    FilterField("chat.entrypointId",                    "string",  "entrypoint_id",         f"{_SEMANTIC} (entrypoint_...)"),
    FilterField("chat.funnelStepId",                    "string",  "funnel_step_id",        f"{_SEMANTIC} (funnel_step_...)"),
    FilterField("chat.trackingLinkId",                  "string",  "tracking_link_id",      _SEMANTIC),
    FilterField("chat.isGroupChat",                     "boolean", "is_group_chat",         "boolean"),
    FilterField("chat.isAnswered",                      "boolean", "is_answered",           "boolean"),
    FilterField("chat.needsHumanAttention",             "boolean", "needs_human_attention", "boolean"),
    FilterField("chat.attentionReason",                 "string",  "attention_reason",      "string"),
    FilterField("chat.tagIds",                          "array",   "tag_ids",               "array of semantic ids (tag_...)"),
    FilterField("chat.assignedUserId",                  "string",  "assigned_user_id",      _SEMANTIC),
    FilterField("chat.virtual.participants-count",      "number",  "participants_count",    "number"),
    FilterField("chat.virtual.dm-participant.contact",  "string",  "contact",               "string"),
    FilterField("chat.virtual.dm-participant.birthDate","date",    "birth_date",            _DATE),
    FilterField("chat.virtual.lastMessageAt",           "date",    "last_message_at",       _DATE),
    FilterField("chat.virtual.lastUpdateAt",            "date",    "last_update_at",        _DATE),
)

_STRING = (
    Operator("equals",          "one",  operator.eq),
    Operator("not-equals",      "one",  negates="equals"),
    Operator("contains",        "one",  operator.contains),
    Operator("not-contains",    "one",  negates="contains"),
    Operator("in",              "list", lambda value, operands: value in operands),
    Operator("not-in",          "list", negates="in"),
    Operator("exists",          "none", lambda value, _: value != ""),
    Operator("not-exists",      "none", negates="exists"),
    Operator("starts-with",     "one",  str.startswith),
    Operator("ends-with",       "one",  str.endswith),
    Operator("not-starts-with", "one",  negates="starts-with"),
    Operator("not-ends-with",   "one",  negates="ends-with"),
)
_NUMBER = (
    Operator("equals",                "one",  operator.eq),
    Operator("not-equals",            "one",  negates="equals"),
    Operator("in",                    "list", lambda value, operands: value in operands),
    Operator("not-in",                "list", negates="in"),
    Operator("greater-than",          "one",  operator.gt),
    Operator("less-than",             "one",  operator.lt),
    Operator("greater-than-or-equal", "one",  operator.ge),
    Operator("less-than-or-equal",    "one",  operator.le),
    Operator("exists",                "none", lambda value, _: True),
    Operator("not-exists",            "none", negates="exists"),
    Operator("between",               "pair", lambda value, bounds: bounds[0] <= value <= bounds[1]),
    Operator("not-between",           "pair", negates="between"),
)
_BOOLEAN = (
    Operator("equals",     "one",  operator.is_),
    Operator("not-equals", "one",  negates="equals"),
    Operator("exists",     "none", lambda value, _: True),
    Operator("not-exists", "none", negates="exists"),
)
_ARRAY = (
    Operator("has-any",    "list", lambda value, operands: not operands.isdisjoint(value)),
    Operator("has-all",    "list", lambda value, operands: operands.issubset(value)),
    Operator("has-none",   "list", lambda value, operands: operands.isdisjoint(value)),
    Operator("exists",     "none", lambda value, _: value != ()),
    Operator("not-exists", "none", negates="exists"),
)
# fmt: on

FIELDS: Mapping[str, FilterField] = MappingProxyType({field.name: field for field in _FIELDS})
_BY_TYPE: Mapping[FieldType, tuple[Operator, ...]] = {
    "string": _STRING,
    "number": _NUMBER,
    "boolean": _BOOLEAN,
    "date": _NUMBER,  # the document: "same list as number"
    "array": _ARRAY,
}
OPERATORS: Mapping[FieldType, Mapping[str, Operator]] = MappingProxyType(
    {kind: MappingProxyType({row.name: row for row in rows}) for kind, rows in _BY_TYPE.items()}
)

# The operators that compare a part of a text (choice `platform-text-operators`).
PART_OPERATORS = frozenset(("contains", "not-contains", "starts-with", "ends-with", "not-starts-with", "not-ends-with"))

# Other meanings of an operator under an option of a choice: (choice, option) -> operator -> meaning.
OTHER_MEANINGS: Mapping[tuple[str, str], Mapping[str, Meaning]] = MappingProxyType(
    {
        ("between-bounds", "upper-exclusive"): {"between": lambda value, bounds: bounds[0] <= value < bounds[1]},
        ("exists-meaning", "not-null"): {"exists": lambda value, _: True},
    }
)


def statements(filters: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the readable statements of a body's filters."""
    for group in filters if isinstance(filters, list | tuple) else ():
        rows = group.get("statements") if isinstance(group, Mapping) else None
        if isinstance(rows, list | tuple):
            yield from (row for row in rows if isinstance(row, Mapping))


def catalog() -> dict[str, object]:
    """Return the body of the filter schema endpoint (shape: fixed decision `filter-schema-shape`)."""
    return {
        "fields": [
            {
                "field": field.name,
                "type": field.type,
                "valueFormat": field.value_format,
                "operators": list(OPERATORS[field.type]),
                **({"allowedValues": list(field.allowed)} if field.allowed else {}),
            }
            for field in FIELDS.values()
        ],
        "combinators": list(COMBINATORS),
    }
