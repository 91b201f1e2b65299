"""
Whom filters select, worked out statement by statement from the API document alone: a second opinion on the gateway's.

It shares no code with the mock's own audiences, takes well-formed filters, and speaks for the default choices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

Chat = Mapping[str, Any]
Groups = Sequence[Mapping[str, Any]]

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


def audience(chats: Iterable[Chat], filters: Groups | None, *, made_at: str | None = None) -> list[Chat]:
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
