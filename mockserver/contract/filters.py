"""
The seventeen filter fields, the operators of their five types, and what each operator means.

The validator of filters, the compiler of audiences and the response of `GET /v1/campaigns/filters/schema` use this one
table, so they cannot disagree.

Rules of the meanings:

1. A positive operator is false for a chat without the value (fixed decision `missing-value-positive-ops`).
2. A negative operator is the exact negation of its positive one; the choice `missing-value-negative-ops` may
   exclude the chats without the value.
3. An expression sees `{a}`, the chat's attribute, and `{v}` and `{w}`, the names of the bound operands. No operand is
   ever part of its text.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

FieldType = Literal["string", "number", "boolean", "date", "array"]
Operand = Literal["none", "one", "list", "pair"]

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
    A positive operator has an `expression`; a negative one names the operator that it `negates`.
    """

    name: str
    operand: Operand
    expression: str = ""
    negates: str | None = None


_SEMANTIC = "semantic id"
_DATE = "ISO 8601 date-time"

# fmt: off
_FIELDS: tuple[FilterField, ...] = (
    FilterField("chat.platform",                        "string",  "platform",              "one of " + ", ".join(PLATFORMS), PLATFORMS),
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
    Operator("equals",          "one",  "{a} == {v}"),
    Operator("not-equals",      "one",  negates="equals"),
    Operator("contains",        "one",  "{a} is not None and {v} in {a}"),
    Operator("not-contains",    "one",  negates="contains"),
    Operator("in",              "list", "{a} in {v}"),
    Operator("not-in",          "list", negates="in"),
    Operator("exists",          "none", "{a} is not None and {a} != ''"),
    Operator("not-exists",      "none", negates="exists"),
    Operator("starts-with",     "one",  "{a} is not None and {a}.startswith({v})"),
    Operator("ends-with",       "one",  "{a} is not None and {a}.endswith({v})"),
    Operator("not-starts-with", "one",  negates="starts-with"),
    Operator("not-ends-with",   "one",  negates="ends-with"),
)
_NUMBER = (
    Operator("equals",                "one",  "{a} == {v}"),
    Operator("not-equals",            "one",  negates="equals"),
    Operator("in",                    "list", "{a} in {v}"),
    Operator("not-in",                "list", negates="in"),
    Operator("greater-than",          "one",  "{a} is not None and {a} > {v}"),
    Operator("less-than",             "one",  "{a} is not None and {a} < {v}"),
    Operator("greater-than-or-equal", "one",  "{a} is not None and {a} >= {v}"),
    Operator("less-than-or-equal",    "one",  "{a} is not None and {a} <= {v}"),
    Operator("exists",                "none", "{a} is not None"),
    Operator("not-exists",            "none", negates="exists"),
    Operator("between",               "pair", "{a} is not None and {v} <= {a} <= {w}"),
    Operator("not-between",           "pair", negates="between"),
)
_BOOLEAN = (
    Operator("equals",     "one",  "{a} is {v}"),
    Operator("not-equals", "one",  negates="equals"),
    Operator("exists",     "none", "{a} is not None"),
    Operator("not-exists", "none", negates="exists"),
)
_ARRAY = (
    Operator("has-any",    "list", "not {v}.isdisjoint({a})"),
    Operator("has-all",    "list", "{v}.issubset({a})"),
    Operator("has-none",   "list", "{v}.isdisjoint({a})"),
    Operator("exists",     "none", "{a} != ()"),
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
    {kind: MappingProxyType({operator.name: operator for operator in rows}) for kind, rows in _BY_TYPE.items()}
)

# The operators that compare a part of a text (choice `platform-text-operators`).
PART_OPERATORS = frozenset(("contains", "not-contains", "starts-with", "ends-with", "not-starts-with", "not-ends-with"))

# Other meanings of an operator under an option of a choice: (choice, option) -> operator -> expression.
OTHER_MEANINGS: Mapping[tuple[str, str], Mapping[str, str]] = MappingProxyType(
    {
        ("between-bounds", "upper-exclusive"): {"between": "{a} is not None and {v} <= {a} < {w}"},
        ("exists-meaning", "not-null"): {"exists": "{a} is not None"},
    }
)


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
