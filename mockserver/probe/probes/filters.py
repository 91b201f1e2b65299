"""Probes of filters: which fields, operators, values and structures the audience preview accepts."""

from __future__ import annotations

from typing import Any, Final

from mockserver.contract.filters import FIELDS, OPERATORS, PLATFORMS
from mockserver.probe.context import RunContext
from mockserver.probe.previews import all_of, any_of, is_, preview, statement

# One field of each type, with a value that fits it.
_SAMPLES: Final[tuple[tuple[str, Any], ...]] = (
    ("chat.attentionReason", "mockserver probe"),
    ("chat.monetization", 1.5),
    ("chat.isAnswered", True),
    ("chat.virtual.lastUpdateAt", "2020-01-01T00:00:00Z"),
    ("chat.tagIds", "tag_mockserver_probe"),
)
# Operators that the type of their field does not have, each with a value that is valid otherwise.
_FOREIGN: Final[tuple[tuple[str, str, Any], ...]] = (
    ("chat.status", "greater-than", "open"),
    ("chat.status", "has-any", ["open"]),
    ("chat.monetization", "contains", 1),
    ("chat.monetization", "starts-with", 1),
    ("chat.isAnswered", "in", [True]),
    ("chat.isAnswered", "contains", True),
    ("chat.virtual.lastUpdateAt", "ends-with", "2020-01-01T00:00:00Z"),
    ("chat.virtual.lastUpdateAt", "has-all", ["2020-01-01T00:00:00Z"]),
    ("chat.tagIds", "equals", "tag_mockserver_probe"),
    ("chat.tagIds", "in", ["tag_mockserver_probe"]),
    ("chat.tagIds", "mockserver-probe", ["tag_mockserver_probe"]),
)
_MISTYPED: Final[tuple[tuple[str, str, Any], ...]] = (
    ("chat.monetization", "equals", "1"),
    ("chat.monetization", "equals", True),
    ("chat.attentionReason", "equals", 1),
    ("chat.isAnswered", "equals", "true"),
    ("chat.isAnswered", "equals", 1),
    ("chat.virtual.lastUpdateAt", "less-than", 5),
    ("chat.tagIds", "has-any", "tag_mockserver_probe"),
)
_DATES: Final = ("yesterday", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00-03:00", "2020-01-01", "2020-01-01T00:00:00")


def catalog(context: RunContext) -> None:
    """The service's own list of fields and operators."""
    context.call("readFilterSchema")


def fields(context: RunContext) -> None:
    """Each of the seventeen fields, with operators that need no value, and an unknown one."""
    preview(context, any_of(*(is_(field, "exists") for field in FIELDS)))
    preview(context, any_of(*(is_(field, "not-exists") for field in FIELDS)))
    statement(context, "chat.mockserverProbe", "exists")


def operators(context: RunContext) -> None:
    """Every operator of each type, and some of other types."""
    for field, value in _SAMPLES:
        operands = {"none": (), "one": (value,), "list": ([value],), "pair": (value, value)}
        rows = OPERATORS[FIELDS[field].type].values()
        preview(context, any_of(*(is_(field, row.name, *operands[row.operand]) for row in rows)))
    for field, operator, value in _FOREIGN:
        statement(context, field, operator, value)


def values(context: RunContext) -> None:
    """Values of another type, a range without its upper bound, and no value."""
    for field, operator, value in _MISTYPED:
        statement(context, field, operator, value)
    statement(context, "chat.monetization", "between", 1)
    statement(context, "chat.monetization", "equals")


def platforms(context: RunContext) -> None:
    """The four platforms, another one, and a part of their names."""
    statement(context, "chat.platform", "in", list(PLATFORMS))
    statement(context, "chat.platform", "equals", "mockserver_probe")
    statement(context, "chat.platform", "contains", "app")


def structure(context: RunContext) -> None:
    """Filters of a wrong structure."""
    some = is_("chat.isAnswered", "exists")
    for wrong in ("text", [{"combinator": "and"}], [{"combinator": "xor", "statements": [some]}]):
        context.call("previewAudience", json={"filters": wrong})


def emptiness(context: RunContext) -> None:
    """An empty list of groups, and groups without statements."""
    context.call("previewAudience", json={"filters": []})
    context.call("previewAudience", json={})
    preview(context, any_of())
    preview(context, all_of())


def dates(context: RunContext) -> None:
    """A text that is no date, offsets, a date without a time, and a date-time without an offset."""
    for written in _DATES:
        statement(context, "chat.virtual.lastMessageAt", "less-than", written)
