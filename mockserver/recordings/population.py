"""
Chats that explain how many of them each filter of a recording selected.

There are as many chats as were counted without a filter. For each filter, the largest audience first, as many of them as it
selected get what it asks for. What that cannot explain is a comment.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple

from mockserver._json import JSON
from mockserver.contract.filters import FIELDS, PART_OPERATORS, FilterField
from mockserver.core.instants import format_milliseconds, from_datetime, parse, to_datetime
from mockserver.core.operations.audiences import compile_filters
from mockserver.core.state.calls import ApiError
from mockserver.scenario.problems import ScenarioError
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import SandboxHost

CHATS_MAX: Final = 20_000
_LITTLE: Final = timedelta(days=1)
_OTHER_CHANNEL: Final[Mapping[str, str]] = {"chatapp": "chatapp_lite"}


class AudienceSize(NamedTuple):
    """
    How many chats some filters selected.

    Attributes:
        filters: As sent; none or [] for every chat.
        size: The number of chats.
        platform: Of the campaign that sent to them; None for a preview.
        processed: How many positions of the audience were processed, as far as it is shown.
        fails: Which of these failed.
    """

    filters: Sequence[Any]
    size: int
    platform: str | None = None
    processed: int = 0
    fails: frozenset[int] = frozenset()

    @property
    def key(self) -> str:
        """Equal filters have equal keys."""
        return json.dumps(self.filters, sort_keys=True)


class Population(NamedTuple):
    """Chats as seed data, and what they do not explain."""

    chats: list[JSON]
    comments: list[str]


def population(counts: Sequence[AudienceSize], given: JSON, choices: Mapping[str, object]) -> Population:
    """
    Return chats that the filters of a recording select as often as recorded.

    Args:
        counts: What the recording shows; of equal filters the first counts.
        given: Seed data to which the chats refer.
        choices: The choices under which filters are read.
    """
    rows = list({count.key: count for count in reversed(counts)}.values())[::-1]
    if max((row.size for row in rows), default=0) > CHATS_MAX:
        return Population([], [f"audiences of more than {CHATS_MAX} chats: add them by a pattern, {{count: N}}"])
    everyone = next((row for row in rows if not row.filters), None)
    chats: list[JSON] = [{} for _ in range(everyone.size if everyone is not None else 0)]
    audiences = _Audiences(given, choices)
    filtered = sorted((row for row in rows if row.filters), key=lambda row: -row.size)
    for row in filtered:
        _fit(chats, row, audiences, may_grow=everyone is None)
    for row in rows:
        if row.platform is not None:
            _arrange(chats, row, audiences.selected(chats, row.filters))
    unexplained = [
        f"which {row.size} chats a filter selects: in the scenario it selects {have}"
        for row in filtered
        if (have := len(audiences.selected(chats, row.filters))) != row.size
    ]
    return Population(chats, unexplained)


def _fit(chats: list[JSON], row: AudienceSize, audiences: _Audiences, *, may_grow: bool) -> None:
    """
    Give as many chats what a filter asks for as it selected; chats are added only if their number is not known.

    A chat without a platform has one by default, which a filter selects too: it is written, or another one for those beyond the size.
    """
    members = _usable(_chat_for(row.filters))
    platform = members.get("platform")
    for count, place in enumerate(audiences.selected(chats, row.filters)):
        if platform is not None:
            chats[place].setdefault(
                "platform", platform if count < row.size else _OTHER_CHANNEL.get(platform, "chatapp")
            )
    selected = set(audiences.selected(chats, row.filters))
    missing = row.size - len(selected)
    for place, chat in enumerate(chats):
        if missing <= 0:
            return
        if place not in selected and all(
            name in ("tagIds",) or chat.get(name, value) == value for name, value in members.items()
        ):
            chat |= (
                {**members, "tagIds": [*chat.get("tagIds", ()), *members["tagIds"]]} if "tagIds" in members else members
            )
            missing -= 1
    if may_grow and missing > 0:
        chats += [dict(members) for _ in range(missing)]


class _Audiences:
    """Which of some chats a filter selects."""

    def __init__(self, given: JSON, choices: Mapping[str, object]) -> None:
        self._given = given
        self._choices = {"platform-text-operators": "text", **choices}  # a filter that was counted was accepted

    def selected(self, chats: Sequence[JSON], filters: Sequence[Any]) -> list[int]:
        """Return the places of the chats that the filters select; none if the filters are not valid."""
        rows = [{**chat, "id": f"chat_{place}"} for place, chat in enumerate(chats)]
        document = {"choices": dict(self._choices), "given": {**self._given, "chats": rows}}
        hosted = SandboxHost().create(SandboxConfig(document))
        try:
            audience = compile_filters(hosted.sandbox, filters).select(hosted.tenant.chats)
        except (ApiError, KeyError, TypeError):
            return []
        ids = {chat.id for chat in audience}
        return [place for place, row in enumerate(rows) if row["id"] in ids]


def _usable(chat: JSON) -> JSON:
    """Return a chat, without the members that seed data cannot have."""
    members = dict(chat)
    for name in chat:
        try:
            SandboxHost().create(SandboxConfig({"given": {"chats": [{name: chat[name]}]}}))
        except ScenarioError:
            del members[name]
    return members


def _arrange(chats: list[JSON], row: AudienceSize, places: Sequence[int]) -> None:
    """
    Put an audience on the campaign's channel, and in an order in which those of another channel are where sends failed.

    A filter on the platform has decided the channel of each. If every send failed, that is rather for the template or its values.
    """
    if "platform" in _chat_for(row.filters) or len(row.fails) == row.processed > 1:
        return
    for place in places:
        chats[place].setdefault("platform", row.platform)
    sent = [chats[place] for place in places if chats[place]["platform"] == row.platform]
    failed = [chats[place] for place in places if chats[place]["platform"] != row.platform]
    order: list[JSON] = []
    for position in range(min(row.processed, len(places))):
        if position in row.fails and not failed:
            failed = [{**sent.pop(), "platform": _OTHER_CHANNEL.get(str(row.platform), "chatapp")}]
        pool = failed if (position in row.fails and failed) or not sent else sent
        order.append(pool.pop(0))
    for place, chat in zip(places, [*order, *sent, *failed], strict=True):
        chats[place] = chat


# The member of a chat's seed data, by the name of the attribute behind a filter's field.
_MEMBERS: Final[Mapping[str, str]] = {
    "platform": "platform", "status": "status", "monetization": "monetization", "tracking_link_id": "trackingLinkId",
    "is_group_chat": "isGroupChat", "is_answered": "isAnswered", "needs_human_attention": "needsHumanAttention",
    "attention_reason": "attentionReason", "tag_ids": "tagIds", "assigned_user_id": "assignedUserId",
    "participants_count": "participantsCount", "contact": "contact", "birth_date": "birthDate",
    "last_message_at": "lastMessageAt", "last_update_at": "lastUpdateAt",
}  # fmt: skip


def _chat_for(filters: Sequence[Any]) -> JSON:
    """Return a chat that should satisfy the filters: each statement of a group with `and`, one of a group with `or`."""
    chat: JSON = {}
    for group in filters:
        statements = (
            [row for row in group.get("statements", ()) if isinstance(row, dict)] if isinstance(group, dict) else []
        )
        for statement in statements if group.get("combinator") == "and" else statements[:1]:
            field, operator = FIELDS.get(str(statement.get("field"))), str(statement.get("operator"))
            member = None if field is None else _MEMBERS.get(field.attribute)
            if field is not None and member is not None and not operator.startswith(("not-", "has-none")):
                chat[member] = _satisfying(field, operator, statement.get("value"))
    return chat


def _satisfying(field: FilterField, operator: str, value: Any) -> Any:
    """Return a value of the field for which a statement of this operator and value should hold."""
    if field.type == "array":
        return value if isinstance(value, list) else ["tag"]
    first = value[0] if isinstance(value, list) and value else value
    if first is None:
        return _SOME[field.type]
    if operator in _LITTLE_MORE:
        return _beside(first, _LITTLE_MORE[operator])
    if field.allowed is not None and operator in PART_OPERATORS:
        return next((allowed for allowed in field.allowed if str(first) in allowed), first)
    return first


_LITTLE_MORE: Final = {"greater-than": 1, "less-than": -1}
_SOME: Final[Mapping[str, Any]] = {"string": "some", "number": 1, "boolean": True, "date": "2026-01-01T00:00:00Z"}


def _beside(value: Any, sign: int) -> Any:
    """Return a number or date a little above or below."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value + sign
    read = (parse(value) or parse(f"{value}T00:00:00Z")) if isinstance(value, str) else None
    return value if read is None else format_milliseconds(from_datetime(to_datetime(read[0]) + sign * _LITTLE))
