"""Probes of filters: which fields, operators, values and structures the audience preview accepts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from mockserver.contract.filters import FIELDS, OPERATORS, PLATFORMS
from mockserver.contract.schemas import ABSENT
from mockserver.probe.context import RunContext
from mockserver.probe.previews import all_of, any_of, is_, preview

Row = tuple[str, str, Any]  # field, operator, value

# One field of each type, with a value that fits it.
_SAMPLES: Final[Mapping[str, Any]] = {
    "chat.attentionReason": "mockserver probe",
    "chat.monetization": 1.5,
    "chat.isAnswered": True,
    "chat.virtual.lastUpdateAt": "2020-01-01T00:00:00Z",
    "chat.tagIds": "tag_mockserver_probe",
}
# Operators that the type of their field does not have, each with a value that is valid otherwise.
_FOREIGN: Final[Sequence[Row]] = (
    ("chat.status", "greater-than", "open"),
    ("chat.monetization", "contains", 1),
    ("chat.isAnswered", "in", [True]),
    ("chat.virtual.lastUpdateAt", "ends-with", "2020-01-01T00:00:00Z"),
    ("chat.tagIds", "equals", "tag_mockserver_probe"),
    ("chat.tagIds", "mockserver-probe", ["tag_mockserver_probe"]),
)
# Values of another type, a range without its upper bound, and no value.
_MISTYPED: Final[Sequence[Row]] = (
    ("chat.monetization", "equals", "1"),
    ("chat.attentionReason", "equals", 1),
    ("chat.isAnswered", "equals", "true"),
    ("chat.virtual.lastUpdateAt", "less-than", 5),
    ("chat.tagIds", "has-any", "tag_mockserver_probe"),
    ("chat.monetization", "between", 1),
    ("chat.monetization", "equals", ABSENT),
)
_OF_PLATFORMS: Final[Sequence[Row]] = (
    ("chat.platform", "in", list(PLATFORMS)),
    ("chat.platform", "equals", "mockserver_probe"),
    ("chat.platform", "contains", "app"),
)
_DATES: Final = ("yesterday", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00-03:00", "2020-01-01", "2020-01-01T00:00:00")


def catalog(context: RunContext) -> None:
    """The service's own list of fields and operators."""
    context.read_filter_schema()


def fields(context: RunContext) -> None:
    """Each of the seventeen fields, with operators that need no value, and an unknown one."""
    preview(context, any_of(*(is_(field, "exists") for field in FIELDS)))
    preview(context, any_of(*(is_(field, "not-exists") for field in FIELDS)))
    preview(context, all_of(is_("chat.mockserverProbe", "exists")))


def operators(context: RunContext) -> None:
    """Every operator of each type, and some of other types."""
    for field, value in _SAMPLES.items():
        operands = {"none": (), "one": (value,), "list": ([value],), "pair": (value, value)}
        rows = OPERATORS[FIELDS[field].type].values()
        preview(context, any_of(*(is_(field, row.name, *operands[row.operand]) for row in rows)))
    _each(context, _FOREIGN)


def values(context: RunContext) -> None:
    """Values that do not fit their field."""
    _each(context, _MISTYPED)


def platforms(context: RunContext) -> None:
    """The four platforms, another one, and a part of their names."""
    _each(context, _OF_PLATFORMS)


def _each(context: RunContext, rows: Iterable[Row]) -> None:
    for field, operator, value in rows:
        preview(context, all_of(is_(field, operator, value)))


def structure(context: RunContext) -> None:
    """Filters of a wrong structure."""
    some = is_("chat.isAnswered", "exists")
    for wrong in ("text", [{"combinator": "and"}], [{"combinator": "xor", "statements": [some]}]):
        context.preview_audience(json={"filters": wrong})


def emptiness(context: RunContext) -> None:
    """An empty list of groups, and groups without statements."""
    context.preview_audience(json={"filters": []})
    context.preview_audience(json={})
    preview(context, any_of())
    preview(context, all_of())


def dates(context: RunContext) -> None:
    """A text that is no date, offsets, a date without a time, and a date-time without an offset."""
    _each(context, [("chat.virtual.lastMessageAt", "less-than", written) for written in _DATES])
