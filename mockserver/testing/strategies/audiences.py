"""
Strategies of filters, with the audience that each selects.

Whom filters select, worked out statement by statement from the API document alone: a second opinion on the gateway's.

It shares no code with the mock's own audiences, takes well-formed filters, and speaks for the default choices.

Filters: such as the gateway takes, with the audience that they select, and such as it refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from hypothesis import strategies as st

from mockserver.contract.filters import COMBINATORS, FIELDS, OPERATORS, FilterField
from mockserver.testing.strategies import entities, values

Chat = Mapping[str, Any]
FilterGroups = Sequence[Mapping[str, Any]]

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
    "equals": lambda found, wanted: bool(found == wanted),
    "greater-than": lambda found, wanted: bool(found > wanted),
    "less-than": lambda found, wanted: bool(found < wanted),
    "greater-than-or-equal": lambda found, wanted: bool(found >= wanted),
    "less-than-or-equal": lambda found, wanted: bool(found <= wanted),
    "in": lambda found, wanted: found in wanted,
    "contains": lambda found, wanted: wanted in found,
    "starts-with": lambda found, wanted: bool(found[: len(wanted)] == wanted),
    "ends-with": lambda found, wanted: wanted == "" or bool(found[-len(wanted) :] == wanted),
    "has-any": lambda found, wanted: any(tag in found for tag in wanted),
    "has-all": lambda found, wanted: all(tag in found for tag in wanted),
}


def audience(chats: Iterable[Chat], filters: FilterGroups | None, *, made_at: str | None = None) -> list[Chat]:
    """
    The chats, as `given` writes them, that the filters select, in the order given; all of them where there are none.

    `made_at` is the instant at which a chat without `lastUpdateAt` was made.
    """
    return [each for each in chats if all(_group_holds(each, group, made_at) for group in filters or ())]


def _group_holds(chat: Chat, group: Mapping[str, Any], made_at: str | None) -> bool:
    held = (_holds(chat, each["field"], each["operator"], each, made_at) for each in group["statements"])
    return all(held) if group["combinator"] == "and" else any(held)


def _holds(chat: Chat, field: str, operator: str, statement: Mapping[str, Any], made_at: str | None) -> bool:
    positive = _NEGATED.get(operator) or operator.removeprefix("not-")
    if positive != operator:
        return not _holds(chat, field, positive, statement, made_at)
    name = field.rpartition(".")[2]
    found = _value(chat, _VIRTUAL.get(name, name), made_at)
    if operator == "exists":
        return found is not None and found != "" and found != ()
    if found is None:
        return False
    wanted = _operand(name, statement["value"])
    if operator == "between":
        return bool(wanted <= found <= _operand(name, statement["value2"]))
    return _COMPARED[operator](found, wanted)


def _value(chat: Chat, name: str, made_at: str | None) -> Any:
    """What the chat has there, its documented default where the seed entry leaves it out."""
    is_group = chat.get("isGroupChat", False)
    if name in _DIRECT and is_group:
        return None
    if name == "participantsCount":
        return chat.get(name, _GROUP_SIZE if is_group else 1)
    if name == "lastUpdateAt" and name not in chat and made_at is None:
        raise ValueError("a chat has no lastUpdateAt; give made_at, the instant at which it was made")
    found = chat.get(name, made_at if name == "lastUpdateAt" else _DEFAULTS.get(name))
    if found is None:
        return None
    return tuple(found) if name == "tagIds" else _operand(name, found)


def _operand(name: str, value: Any) -> Any:
    if name not in _DATES:
        return value
    return [_instant(each) for each in value] if isinstance(value, list) else _instant(value)


def _instant(written: str) -> datetime:
    """The moment, to the millisecond; a day alone begins at midnight UTC."""
    if len(written) == len("2026-03-01"):
        day = date.fromisoformat(written)
        return datetime(day.year, day.month, day.day, tzinfo=UTC)
    moment = datetime.fromisoformat(written)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


JSON = dict[str, Any]
Groups = list[JSON]

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


@st.composite
def filters(draw: st.DrawFn, *, fields: Sequence[str] = tuple(FIELDS), max_groups: int = 3) -> Groups:
    """Filters on these fields that the gateway takes, an empty list among them."""
    return [_group(draw, [(FIELDS[each], None) for each in fields]) for _ in range(draw(st.integers(0, max_groups)))]


@st.composite
def filters_with_audience(
    draw: st.DrawFn, chats: Sequence[Mapping[str, Any]], *, made_at: str | None = None, max_groups: int = 3
) -> tuple[Groups, list[Mapping[str, Any]]]:
    """
    Filters with those of the chats, as `given` writes them, that the document says they select.

    Their operands are often what a chat has. `made_at` is when chats without a `lastUpdateAt` are made; without it
    no filter asks for that field of such chats.
    """
    is_known = made_at is not None or all("lastUpdateAt" in chat for chat in chats)
    fields = [row for row in FIELDS.values() if is_known or row.attribute != "last_update_at"]
    about = [(row, None) for row in fields]
    if draw(st.booleans()):
        about = _values_of(chats, fields) or about
    groups = [_group(draw, about) for _ in range(draw(st.integers(0, max_groups)))]
    return groups, audience(chats, groups, made_at=made_at)


def _values_of(chats: Sequence[Mapping[str, Any]], fields: Sequence[FilterField]) -> list[tuple[FilterField, Any]]:
    """What the chats have, field by field, as operands."""
    found = [(row, chat.get(_seed_name(row.name))) for row in fields for chat in chats]
    return [
        (row, value)
        for row, value in found
        if value not in (None, []) and not (row.type == "date" and "T" not in value)
    ]


def _seed_name(field: str) -> str:
    name = field.rpartition(".")[2]
    return "participantsCount" if name == "participants-count" else name


def _group(draw: st.DrawFn, about: Sequence[tuple[FilterField, Any]]) -> JSON:
    count = draw(st.integers(1, 3))
    statements = [_statement(draw, *draw(st.sampled_from(about))) for _ in range(count)]
    return {"combinator": draw(st.sampled_from(COMBINATORS)), "statements": statements}


def _statement(draw: st.DrawFn, field: FilterField, value: Any) -> JSON:
    """A statement on a field with an operator of its type; its operand is `value` where one is given."""
    operator = draw(st.sampled_from(list(OPERATORS[field.type].values())))
    one = _operands(field) if value is None else st.sampled_from(value) if field.type == "array" else st.just(value)
    statement: JSON = {"field": field.name, "operator": operator.name}
    if operator.operand == "list":
        others = draw(st.lists(_operands(field), max_size=2))
        statement["value"] = [draw(one), *others]
    elif operator.operand != "none":
        statement["value"] = draw(one)
    if operator.operand == "pair":
        statement["value2"] = draw(st.one_of(one, _operands(field)))
    return statement


def _operands(field: FilterField) -> st.SearchStrategy[Any]:
    if field.allowed:
        return st.sampled_from(field.allowed)
    if field.type == "array":
        return st.sampled_from([*entities.TAGS, "tag_nowhere"])
    if field.type == "string":
        return st.sampled_from(_TEXTS[field.name])
    return {"number": values.numbers(), "boolean": st.booleans(), "date": values.instants()}[field.type]


def invalid_filters() -> st.SearchStrategy[tuple[Any, str, str]]:
    """What the gateway refuses as filters: (filters, the code, what is wrong with them)."""
    return st.sampled_from([(groups, code, why) for why, code, groups in _wrong()])


def _wrong() -> Iterator[tuple[str, str, Any]]:
    for why, statement in _unfit():
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


def _unfit() -> Iterator[tuple[str, JSON]]:
    """Statements of the right form whose field, operator or value does not fit."""
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
        first = next(each for each in OPERATORS[field.type].values() if each.operand != "none")
        yield f"{field.name} with {wrong!r}", {"field": field.name, "operator": first.name, "value": wrong}
        yield f"{field.name} with null", {"field": field.name, "operator": first.name, "value": None}
        yield f"{field.name} without its value", {"field": field.name, "operator": first.name}
        for each in OPERATORS[field.type].values():
            if each.operand == "list":
                yield f"{field.name} {each.name} nothing", {"field": field.name, "operator": each.name, "value": []}
            if each.operand == "pair":
                yield (
                    f"{field.name} {each.name} without value2",
                    {"field": field.name, "operator": each.name, "value": 1},
                )
