"""Asking the audience preview: groups of filters, how many chats they select, and an audience that is empty by logic."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from mockserver.contract.schemas import ABSENT
from mockserver.verify.context import Exchange, RunContext, succeeded

Group = dict[str, Any]
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


def is_(field: str, operator: str, value: Any = ABSENT, value2: Any = ABSENT) -> dict[str, Any]:
    """One statement; what is ABSENT is left out."""
    said = {"field": field, "operator": operator, "value": value, "value2": value2}
    return {key: each for key, each in said.items() if each is not ABSENT}


def all_of(*statements: dict[str, Any]) -> Group:
    return {"combinator": "and", "statements": list(statements)}


def any_of(*statements: dict[str, Any]) -> Group:
    return {"combinator": "or", "statements": list(statements)}


def nobody() -> list[Group]:
    """Filters that no chat can satisfy: two booleans, each both true and false, once in a group and once across groups."""
    return [
        all_of(is_("chat.isGroupChat", "equals", True), is_("chat.isGroupChat", "equals", False)),
        all_of(is_("chat.isAnswered", "equals", True)),
        all_of(is_("chat.isAnswered", "equals", False)),
    ]


def preview(visit: RunContext, *groups: Group) -> Exchange:
    """The preview of these groups, whatever it answers."""
    return visit.call("previewAudience", json={"filters": list(groups)})


def statement(visit: RunContext, field: str, operator: str, value: Any = ABSENT, value2: Any = ABSENT) -> Exchange:
    """The preview of one statement."""
    return preview(visit, all_of(is_(field, operator, value, value2)))


def size(exchange: Exchange) -> int:
    """The estimated count of a preview; Unexpected where it was refused."""
    return int(succeeded(exchange)["estimatedCount"])


def has_any(visit: RunContext, *groups: Group) -> bool:
    """
    True where the groups select at least one chat.

    None or some is the one thing that an estimate cannot blur, so the probes ask for nothing finer.
    """
    return size(preview(visit, *groups)) > 0


def first_with(visit: RunContext, fields: Sequence[str], *operators: str) -> str | None:
    """The first field for which each of these operators, which need no value, selects some chat."""
    for field in fields:
        if all(has_any(visit, all_of(is_(field, operator))) for operator in operators):
            return field
    return None


def earliest_hour(visit: RunContext, field: str) -> datetime | None:
    """The hour in which the earliest date of this field lies, found by halving; None where no chat has one."""
    low, high = datetime(_FIRST_YEAR, 1, 1, tzinfo=UTC), datetime(_LAST_YEAR, 1, 1, tzinfo=UTC)
    if has_before(visit, field, low) or not has_before(visit, field, high):
        return None
    while high - low > _HOUR:
        middle = low + (high - low) // _HOUR // 2 * _HOUR
        if has_before(visit, field, middle):
            high = middle
        else:
            low = middle
    return low


def has_before(visit: RunContext, field: str, instant: datetime) -> bool:
    """True where some chat's date lies before the instant."""
    return has_any(visit, all_of(is_(field, "less-than", zulu(instant))))


def zulu(instant: datetime) -> str:
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ")
