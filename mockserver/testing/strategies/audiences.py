"""
Strategies of filters that the gateway accepts, with the audience of each, and of filters that it refuses.

`audience` evaluates filters statement by statement from the API document alone. It shares no code with the mock's own
audiences, so that one can test the other; it accepts well-formed filters, and applies the default choices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from hypothesis import strategies as st

from mockserver._json import JSON
from mockserver.contract.filters import COMBINATORS, FIELDS, OPERATORS, FilterField
from mockserver.testing.strategies import entities, values

Chat = Mapping[str, Any]
FilterGroups = Sequence[Mapping[str, Any]]
Groups = list[JSON]

_DEFAULTS: Mapping[str, Any] = {
    "platform": "chatapp",
    "status": "open",
    "isGroupChat": False,
    "isAnswered": False,
    "needsHumanAttention": False,
    "tagIds": (),
}
_VIRTUAL: Mapping[str, str] = {"participants-count": "participantsCount"}
_DATES = ("birthDate", "lastMessageAt", "lastUpdateAt")
_DIRECT = ("contact", "birthDate")  # a group has no one direct participant
_NEGATED: Mapping[str, str] = {"has-none": "has-any"}
_GROUP_SIZE = 3

_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "equals": lambda value, operand: bool(value == operand),
    "greater-than": lambda value, operand: bool(value > operand),
    "less-than": lambda value, operand: bool(value < operand),
    "greater-than-or-equal": lambda value, operand: bool(value >= operand),
    "less-than-or-equal": lambda value, operand: bool(value <= operand),
    "in": lambda value, operand: value in operand,
    "contains": lambda value, operand: operand in value,
    "starts-with": lambda value, operand: bool(value[: len(operand)] == operand),
    "ends-with": lambda value, operand: operand == "" or bool(value[-len(operand) :] == operand),
    "has-any": lambda value, operand: any(tag in value for tag in operand),
    "has-all": lambda value, operand: all(tag in value for tag in operand),
}


_TEXTS: Mapping[str, Sequence[str]] = {
    "chat.status": (*entities.STATUSES, "o", "ã", ""),
    "chat.entrypointId": ("entrypoint_a", "entrypoint_nowhere"),
    "chat.funnelStepId": ("funnel_step_a", "funnel_step_nowhere"),
    "chat.trackingLinkId": ("tracking_link_a", "tracking_link_b", "tracking"),
    "chat.attentionReason": (*entities.REASONS, "pessoa"),
    "chat.assignedUserId": ("user_bia", "user_caio", "user_"),
    "chat.virtual.dm-participant.contact": (*entities.CONTACTS, "+55", "example.com", "0000"),
}
_FILTER_ERROR = "CAMPAIGN_INVALID_FILTERS"


def audience(chats: Iterable[Chat], filters: FilterGroups | None, *, made_at: str | None = None) -> list[Chat]:
    """
    Return the chats that the filters select, in their order.

    Args:
        chats: Chats as in `given`.
        filters: Groups of statements; without any, all chats are selected.
        made_at: The creation instant of chats without `lastUpdateAt`.

    Raises:
        ValueError: A filter needs the `lastUpdateAt` of a chat without one, and `made_at` is None.
    """

    def holds(chat: Chat, group: Mapping[str, Any]) -> bool:
        results = (_holds(chat, row["field"], row["operator"], row, made_at) for row in group["statements"])
        return all(results) if group["combinator"] == "and" else any(results)

    return [chat for chat in chats if all(holds(chat, group) for group in filters or ())]


def _holds(chat: Chat, field: str, operator: str, statement: Mapping[str, Any], made_at: str | None) -> bool:
    positive = _NEGATED.get(operator) or operator.removeprefix("not-")
    if positive != operator:
        return not _holds(chat, field, positive, statement, made_at)
    name = field.rpartition(".")[2]
    value = _value(chat, _VIRTUAL.get(name, name), made_at)
    if operator == "exists":
        return value is not None and value != "" and value != ()
    if value is None:
        return False
    operand = _operand(name, statement["value"])
    if operator == "between":
        return bool(operand <= value <= _operand(name, statement["value2"]))
    return _COMPARED[operator](value, operand)


def _value(chat: Chat, name: str, made_at: str | None) -> Any:
    """Return the chat's value, or its documented default if the seed entry has none."""
    is_group = chat.get("isGroupChat", False)
    if name in _DIRECT and is_group:
        return None
    if name == "participantsCount":
        return chat.get(name, _GROUP_SIZE if is_group else 1)
    if name == "lastUpdateAt" and name not in chat and made_at is None:
        raise ValueError("got a chat without lastUpdateAt; expected made_at, the instant of its creation")
    value = chat.get(name, made_at if name == "lastUpdateAt" else _DEFAULTS.get(name))
    if value is None:
        return None
    return tuple(value) if name == "tagIds" else _operand(name, value)


def _operand(name: str, value: Any) -> Any:
    if name not in _DATES:
        return value
    return [_instant(text) for text in value] if isinstance(value, list) else _instant(value)


def _instant(text: str) -> datetime:
    """Return the moment, to the millisecond; a date without a time is midnight UTC."""
    if len(text) == len("2026-03-01"):
        day = date.fromisoformat(text)
        return datetime(day.year, day.month, day.day, tzinfo=UTC)
    moment = datetime.fromisoformat(text)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


@st.composite
def filters(draw: st.DrawFn, *, fields: Sequence[str] = tuple(FIELDS), max_groups: int = 3) -> Groups:
    """
    Draw filters that the gateway accepts, also an empty list.

    Args:
        fields: The fields of the statements.
        max_groups: The largest number of groups.
    """
    rows = [(FIELDS[field], None) for field in fields]
    return [_group(draw, rows) for _ in range(draw(st.integers(0, max_groups)))]


@st.composite
def filters_with_audience(
    draw: st.DrawFn, chats: Sequence[Mapping[str, Any]], *, made_at: str | None = None, max_groups: int = 3
) -> tuple[Groups, list[Mapping[str, Any]]]:
    """
    Draw filters with the chats that they select by the API document; many operands are values of a chat.

    Args:
        chats: Chats as in `given`.
        made_at: The creation instant of chats without `lastUpdateAt`; without it, no statement is on that field if a
            chat has none.
        max_groups: The largest number of groups.
    """
    is_known = made_at is not None or all("lastUpdateAt" in chat for chat in chats)
    fields = [row for row in FIELDS.values() if is_known or row.attribute != "last_update_at"]
    operands = [(row, None) for row in fields]
    if draw(st.booleans()):
        operands = _values_of(chats, fields) or operands
    groups = [_group(draw, operands) for _ in range(draw(st.integers(0, max_groups)))]
    return groups, audience(chats, groups, made_at=made_at)


def _values_of(chats: Sequence[Mapping[str, Any]], fields: Sequence[FilterField]) -> list[tuple[FilterField, Any]]:
    """Return the values of the chats as operands, by field."""
    keys = [row.name.rpartition(".")[2].replace("participants-count", "participantsCount") for row in fields]
    pairs = [(row, chat.get(key)) for row, key in zip(fields, keys, strict=True) for chat in chats]
    return [
        (row, value)
        for row, value in pairs
        if value not in (None, []) and not (row.type == "date" and "T" not in value)
    ]


def _group(draw: st.DrawFn, operands: Sequence[tuple[FilterField, Any]]) -> JSON:
    """Draw a group whose statements are on these fields; an operand is the value of its row unless that is None."""
    statements = []
    for _ in range(draw(st.integers(1, 3))):
        field, value = draw(st.sampled_from(operands))
        operator = draw(st.sampled_from(list(OPERATORS[field.type].values())))
        one = _operands(field)
        if value is not None:
            one = st.sampled_from(value) if field.type == "array" else st.just(value)
        statement: JSON = {"field": field.name, "operator": operator.name}
        if operator.operand == "list":
            others = draw(st.lists(_operands(field), max_size=2))
            statement["value"] = [draw(one), *others]
        elif operator.operand != "none":
            statement["value"] = draw(one)
        if operator.operand == "pair":
            statement["value2"] = draw(st.one_of(one, _operands(field)))
        statements.append(statement)
    return {"combinator": draw(st.sampled_from(COMBINATORS)), "statements": statements}


def _operands(field: FilterField) -> st.SearchStrategy[Any]:
    if field.allowed:
        return st.sampled_from(field.allowed)
    if field.type == "array":
        return st.sampled_from([*entities.TAGS, "tag_nowhere"])
    if field.type == "string":
        return st.sampled_from(_TEXTS[field.name])
    return {"number": values.numbers(), "boolean": st.booleans(), "date": values.instants()}[field.type]


def invalid_filters() -> st.SearchStrategy[tuple[Any, str, str]]:
    """Return a strategy of filters that the gateway refuses: (filters, the error code, the reason)."""
    return st.sampled_from([(groups, code, why) for why, code, groups in _malformed()])


def _malformed() -> Iterator[tuple[str, str, Any]]:
    for why, statement in _mistyped():
        for combinator in COMBINATORS:
            yield why, _FILTER_ERROR, [{"combinator": combinator, "statements": [statement]}]
    good = {"field": "chat.status", "operator": "equals", "value": "open"}
    for why, groups in (
        ("a group without combinator", [{"statements": [good]}]),
        ("an unknown combinator", [{"combinator": "xor", "statements": [good]}]),
        ("a group without statements", [{"combinator": "and"}]),
        ("an empty list of statements", [{"combinator": "and", "statements": []}]),
        ("a group within a group", [{"combinator": "and", "statements": [{"combinator": "or", "statements": [good]}]}]),
        ("a statement without a field", [{"combinator": "and", "statements": [{"operator": "exists"}]}]),
        ("a statement without an operator", [{"combinator": "and", "statements": [{"field": "chat.status"}]}]),
        ("a group that is a text", ["chat.status = open"]),
        ("filters that are one group", {"combinator": "and", "statements": [good]}),
        ("filters that are a text", "chat.status = open"),
    ):
        yield why, "VALIDATION_ERROR", groups


def _mistyped() -> Iterator[tuple[str, JSON]]:
    """Yield well-formed statements whose field, operator or value the gateway does not accept."""
    yield "an unknown field", {"field": "chat.mood", "operator": "equals", "value": "good"}
    yield "a field without its prefix", {"field": "status", "operator": "equals", "value": "open"}
    yield "an unknown platform", {"field": "chat.platform", "operator": "equals", "value": "sms"}
    yield (
        "a date without an offset",
        {
            "field": "chat.virtual.lastMessageAt",
            "operator": "greater-than",
            "value": "2026-03-01T12:00:00",
        },
    )
    for field in FIELDS.values():
        yield (
            f"{field.name} with an operator of another type",
            {"field": field.name, "operator": "has-any" if field.type != "array" else "equals", "value": ["a"]},
        )
        wrong: Any = {"string": 1, "number": "10", "boolean": "true", "date": 1772366400, "array": [1]}[field.type]
        first = next(operator for operator in OPERATORS[field.type].values() if operator.operand != "none")
        yield f"{field.name} with {wrong!r}", {"field": field.name, "operator": first.name, "value": wrong}
        yield f"{field.name} with null", {"field": field.name, "operator": first.name, "value": None}
        yield f"{field.name} without its value", {"field": field.name, "operator": first.name}
        for operator in OPERATORS[field.type].values():
            statement = {"field": field.name, "operator": operator.name}
            if operator.operand == "list":
                yield f"{field.name} {operator.name} nothing", {**statement, "value": []}
            if operator.operand == "pair":
                yield f"{field.name} {operator.name} without value2", {**statement, "value": 1}
