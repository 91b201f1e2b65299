"""The type of a provocation, and the seed data of all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tests.clients.driven import Client

NOON = "2026-03-01T12:00:00Z"
TAGGED = [{"combinator": "and", "statements": [{"field": "chat.tagIds", "operator": "has-any", "value": ["tag_vip"]}]}]
GIVEN = {
    "funnels": [{"id": "funnel_a", "steps": [{"id": "funnel_step_a"}]}],
    "templates": [
        {"id": "template_t", "name": "T"},
        {"id": "template_v", "name": "V", "variables": [{"key": "var1", "label": "Cupom", "required": True}]},
    ],
    "chats": [
        {"id": "chat_a", "platform": "chatapp", "tagIds": ["tag_vip"]},
        {"id": "chat_b", "platform": "chatapp"},
    ],
    "messages": [{"chatId": "chat_a", "text": f"Oi {n}"} for n in range(6)],
}


class Provocation(NamedTuple):
    """A careless client, the rule that it breaks, the exchanges that prove it, and a careful client at the same task."""

    rule: str
    exchanges: Sequence[int]
    careless: Callable[[Client], object]
    careful: Callable[[Client], object]

    @property
    def id(self) -> str:
        name = self.careless.__name__.strip("_")
        return self.rule if name.replace("_", "-") == self.rule else f"{self.rule}-{name}"
