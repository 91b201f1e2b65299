"""Calls of the audience preview: groups of filters, how many chats they select, and an audience that is empty by logic."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from mockserver._json import JSON
from mockserver.contract.schemas import ABSENT
from mockserver.verify.context import Exchange, RunContext, require_success

Group = JSON
NUMBERS_AND_DATES: Final = (
    "chat.monetization",
    "chat.virtual.dm-participant.birthDate",
    "chat.virtual.lastMessageAt",
    "chat.virtual.lastUpdateAt",
    "chat.virtual.participants-count",
)
DATES: Final = NUMBERS_AND_DATES[1:4]
_FIRST_YEAR, _LAST_YEAR = 1900, 2100
_HOUR: Final = timedelta(hours=1)


def is_(field: str, operator: str, value: Any = ABSENT, value2: Any = ABSENT) -> JSON:
    """Return one statement, without the values that are ABSENT."""
    statement = {"field": field, "operator": operator, "value": value, "value2": value2}
    return {key: part for key, part in statement.items() if part is not ABSENT}


def all_of(*statements: JSON) -> Group:
    return {"combinator": "and", "statements": list(statements)}


def any_of(*statements: JSON) -> Group:
    return {"combinator": "or", "statements": list(statements)}


def empty_audience() -> list[Group]:
    """Return filters that no chat can satisfy: two booleans, each both true and false, one in a group, one across groups."""
    return [
        all_of(is_("chat.isGroupChat", "equals", True), is_("chat.isGroupChat", "equals", False)),
        all_of(is_("chat.isAnswered", "equals", True)),
        all_of(is_("chat.isAnswered", "equals", False)),
    ]


def preview(context: RunContext, *groups: Group) -> Exchange:
    """Call the preview with these groups, and return the exchange, also of a refusal."""
    return context.call("previewAudience", json={"filters": list(groups)})


def statement(context: RunContext, field: str, operator: str, value: Any = ABSENT, value2: Any = ABSENT) -> Exchange:
    """Call the preview with one statement, and return the exchange."""
    return preview(context, all_of(is_(field, operator, value, value2)))


def size(exchange: Exchange) -> int:
    """Return the estimated count of a preview; raise Unexpected if the call was refused."""
    return int(require_success(exchange)["estimatedCount"])


def has_any(context: RunContext, *groups: Group) -> bool:
    """
    Return True if the groups select at least one chat.

    A rough estimate still distinguishes none from some, so the probes use no finer difference.
    """
    return size(preview(context, *groups)) > 0


def first_with(context: RunContext, fields: Sequence[str], *operators: str) -> str | None:
    """Return the first field with which each of these operators, which need no value, selects a chat; None if there is none."""
    for field in fields:
        if all(has_any(context, all_of(is_(field, operator))) for operator in operators):
            return field
    return None


def earliest_hour(context: RunContext, field: str) -> datetime | None:
    """Return the hour of the earliest date in this field, by bisection; None if no chat has a date."""
    low, high = datetime(_FIRST_YEAR, 1, 1, tzinfo=UTC), datetime(_LAST_YEAR, 1, 1, tzinfo=UTC)
    if has_date_before(context, field, low) or not has_date_before(context, field, high):
        return None
    while high - low > _HOUR:
        middle = low + (high - low) // _HOUR // 2 * _HOUR
        if has_date_before(context, field, middle):
            high = middle
        else:
            low = middle
    return low


def has_date_before(context: RunContext, field: str, instant: datetime) -> bool:
    """Return True if the date of some chat is before the instant."""
    return has_any(context, all_of(is_(field, "less-than", zulu(instant))))


def zulu(instant: datetime) -> str:
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ")
