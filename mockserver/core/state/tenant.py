"""A tenant: one organisation of a sandbox, as plain tables of frozen records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from mockserver.core.phone_numbers import BRAZIL
from mockserver.core.state.records import (
    Campaign,
    Chat,
    Entrypoint,
    Execution,
    Form,
    Funnel,
    HostedFlow,
    Media,
    Message,
    Session,
    Template,
    Webhook,
)


class Chats:
    """
    The chats of a tenant in the order of their creation, with an index by id. Chats are added, never removed.

    A copy shares the rows until either of the two adds a chat, so that a checkpoint of a million chats costs nothing.
    """

    __slots__ = ("_index", "_shared", "rows")

    def __init__(self) -> None:
        self.rows: list[Chat] = []
        self._index: dict[str, int] = {}
        self._shared = False

    def add(self, chat: Chat) -> None:
        if self._shared:
            self.rows, self._index, self._shared = self.rows.copy(), self._index.copy(), False
        self._index[chat.id] = len(self.rows)
        self.rows.append(chat)

    def get(self, chat_id: str) -> Chat | None:
        position = self._index.get(chat_id)
        return None if position is None else self.rows[position]

    def copy(self) -> Chats:
        copy = Chats()
        copy.rows, copy._index = self.rows, self._index
        copy._shared = self._shared = True
        return copy

    @property
    def is_shared(self) -> bool:
        """Return True if a copy may have the same rows."""
        return self._shared

    def __contains__(self, chat_id: object) -> bool:
        return chat_id in self._index

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(slots=True)
class Tenant:
    """
    One organisation: its settings and its tables by id, each in order of creation.

    Only operations and seed data write to it. `subscription` is active, suspended, canceled or none. `country` is the
    two-letter code of the country for national phone numbers.

    Lifetime: the sandbox's.
    """

    id: str
    name: str
    secret_key: str
    public_key: str
    developers_enabled: bool = True
    subscription: str = "active"
    country: str = BRAZIL
    funnels: dict[str, Funnel] = field(default_factory=dict)
    entrypoints: dict[str, Entrypoint] = field(default_factory=dict)
    templates: dict[str, Template] = field(default_factory=dict)
    chats: Chats = field(default_factory=Chats)
    messages: dict[str, tuple[Message, ...]] = field(default_factory=dict)  # by chat id, oldest first
    forms: dict[str, Form] = field(default_factory=dict)
    webhooks: dict[str, Webhook] = field(default_factory=dict)
    campaigns: dict[str, Campaign] = field(default_factory=dict)
    executions: dict[str, Execution] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    hosted_flows: dict[str, HostedFlow] = field(default_factory=dict)  # by session id
    media: dict[str, Media] = field(default_factory=dict)

    def table(self, kind: str) -> Any:
        """Return the table of a kind of record: `campaign` -> `campaigns`. Only `Chats` is not a dictionary."""
        return getattr(self, TABLE_OF[kind])

    def copy(self) -> Tenant:
        """Return a tenant with its own tables over the same frozen records."""
        return replace(self, **{table: getattr(self, table).copy() for table in TABLES})

    def funnel_of_step(self, step_id: str) -> Funnel | None:
        """Return the funnel that has this step, or None."""
        return next(
            (funnel for funnel in self.funnels.values() if any(step == step_id for step, _ in funnel.steps)), None
        )

    def __repr__(self) -> str:
        return f"Tenant(id={self.id!r}, name={self.name!r}, secret_key='{self.secret_key[:3]}...')"


TABLES: tuple[str, ...] = (
    "funnels",
    "entrypoints",
    "templates",
    "chats",
    "messages",
    "forms",
    "webhooks",
    "campaigns",
    "executions",
    "sessions",
    "hosted_flows",
    "media",
)

# The tables of the records that can be searched by id.
TABLE_OF: Mapping[str, str] = MappingProxyType(
    {
        "chat": "chats",
        "template": "templates",
        "campaign": "campaigns",
        "execution": "executions",
        "session": "sessions",
        "entrypoint": "entrypoints",
        "media": "media",
        "form": "forms",
        "funnel": "funnels",
        "webhook": "webhooks",
    }
)
