"""Calls of the audience preview: groups of filters, and an audience that is empty by logic."""

from __future__ import annotations

from typing import Any

from mockserver._json import JSON
from mockserver.contract.schemas import ABSENT
from mockserver.probe.context import RunContext
from mockserver.trace.exchange import Exchange


def is_(field: str, operator: str, value: Any = ABSENT, value2: Any = ABSENT) -> JSON:
    """Return one statement, without the values that are ABSENT."""
    statement = {"field": field, "operator": operator, "value": value, "value2": value2}
    return {key: part for key, part in statement.items() if part is not ABSENT}


def all_of(*statements: JSON) -> JSON:
    return {"combinator": "and", "statements": list(statements)}


def any_of(*statements: JSON) -> JSON:
    return {"combinator": "or", "statements": list(statements)}


def empty_audience() -> list[JSON]:
    """Return filters that no chat can satisfy: two booleans, each both true and false, one in a group, one across groups."""
    return [
        all_of(is_("chat.isGroupChat", "equals", True), is_("chat.isGroupChat", "equals", False)),
        all_of(is_("chat.isAnswered", "equals", True)),
        all_of(is_("chat.isAnswered", "equals", False)),
    ]


def preview(context: RunContext, *groups: JSON) -> Exchange:
    """Call the preview with these groups, and return the exchange, also of a refusal."""
    exchange: Exchange = context.preview_audience(json={"filters": list(groups)})
    return exchange
