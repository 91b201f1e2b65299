"""A tenant: one organisation of a sandbox, as plain tables of frozen records."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from types import MappingProxyType
from typing import Any, overload

from mockserver.core.state.copying import with_own_tables
from mockserver.core.state.records import (
    Campaign,
    Chat,
    ChatAttributes,
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

_ATTRIBUTES = attrgetter("attributes")


class Chats:
    """
    The chats of a tenant in the order of their creation, with an index by id. Chats are added and replaced, never removed.

    A copy shares the rows until either of the two adds a chat, so that a checkpoint of a million chats costs nothing.
    """

    __slots__ = ("_index", "_shared", "rows")

    def __init__(self) -> None:
        self.rows: list[Chat] = []
        self._index: dict[str, Chat] = {}
        self._shared = False

    def add(self, chat: Chat) -> None:
        self._own_rows()
        self._index[chat.id] = chat
        self.rows.append(chat)

    def replace(self, chat: Chat) -> None:
        """Replace the chat of this id."""
        self._own_rows()
        position = bisect_left(self.rows, chat.seq, key=attrgetter("seq"))
        self._index[chat.id] = self.rows[position] = chat

    def _own_rows(self) -> None:
        if self._shared:
            self.rows, self._index, self._shared = self.rows.copy(), self._index.copy(), False

    def get(self, chat_id: str) -> Chat | None:
        return self._index.get(chat_id)

    def alike(self) -> Mapping[ChatAttributes, int]:
        """Return the number of chats by the attributes that they share: those of one pattern are judged together."""
        return Counter(map(_ATTRIBUTES, self.rows))

    def copy(self) -> Chats:
        copy = Chats()
        copy.rows, copy._index = self.rows, self._index
        copy._shared = self._shared = True
        return copy

    def so_far(self) -> Sequence[Chat]:
        """Return all chats, without those that are added later."""
        return _FirstRows(self.rows)

    def __contains__(self, chat_id: object) -> bool:
        return chat_id in self._index

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self.rows)


class _FirstRows(Sequence[Chat]):
    """
    The rows that a list has now, while it grows.

    It is no copy: one of a million chats takes milliseconds and holds the interpreter, as does each garbage collection of it.
    """

    __slots__ = ("_count", "_rows")

    def __init__(self, rows: list[Chat]) -> None:
        self._rows = rows
        self._count = len(rows)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Chat]:
        return islice(self._rows, self._count)

    @overload
    def __getitem__(self, place: int) -> Chat: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Chat]: ...
    def __getitem__(self, place: int | slice) -> Chat | Sequence[Chat]:
        positions = range(self._count)[place]
        return self._rows[positions] if isinstance(positions, int) else [self._rows[number] for number in positions]


class Tenant:
    """
    One organisation: its settings and its tables by id, each in order of creation.

    Only operations and seed data write to it. `subscription` is active, suspended, canceled or none.

    Lifetime: the sandbox's.
    """

    def __init__(self, id: str, name: str, secret_key: str, public_key: str) -> None:
        self.id = id
        self.name = name
        self.secret_key = secret_key
        self.public_key = public_key
        self.developers_enabled = True
        self.subscription = "active"
        self.funnels: dict[str, Funnel] = {}
        self.entrypoints: dict[str, Entrypoint] = {}
        self.templates: dict[str, Template] = {}
        self.chats = Chats()
        self.messages: dict[str, tuple[Message, ...]] = {}  # by chat id, oldest first
        self.forms: dict[str, Form] = {}
        self.webhooks: dict[str, Webhook] = {}
        self.campaigns: dict[str, Campaign] = {}
        self.executions: dict[str, Execution] = {}
        self.sessions: dict[str, Session] = {}
        self.hosted_flows: dict[str, HostedFlow] = {}  # by session id
        self.media: dict[str, Media] = {}
        self.removed_entrypoints: tuple[Entrypoint, ...] = ()  # the sessions that created them show them

    def set_settings(self, given: Mapping[str, Any]) -> None:
        """Set those of the settings `name`, `developersEnabled` and `subscription` that are given."""
        self.name = given.get("name", self.name)
        self.developers_enabled = given.get("developersEnabled", self.developers_enabled)
        self.subscription = given.get("subscription", self.subscription)

    def table(self, kind: str) -> Any:
        """Return the table of a kind of record: `campaign` -> `campaigns`. Only `Chats` is not a dictionary."""
        return getattr(self, TABLE_OF[kind])

    def uses_id(self, record_id: str) -> bool:
        """Return True if a record of any kind but an endpoint has this id."""
        return any(record_id in table for table in _tables_with_ids(self))

    def copy(self) -> Tenant:
        """Return a tenant with its own tables over the same frozen records."""
        return with_own_tables(self)

    def funnel_of_step(self, step_id: str) -> Funnel | None:
        """Return the funnel that has this step, or None."""
        for funnel in self.funnels.values():
            if step_id in dict(funnel.steps):
                return funnel
        return None

    def has_lost_channel(self, platform: str) -> bool:
        """Return True if entrypoints of the platform were removed and none is left."""
        is_left = any(entrypoint.platform == platform for entrypoint in self.entrypoints.values())
        return not is_left and any(removed.platform == platform for removed in self.removed_entrypoints)

    def __repr__(self) -> str:
        return f"Tenant(id={self.id!r}, name={self.name!r}, secret_key='{self.secret_key[:3]}...')"


class OfTenants:
    """Search in the records of several tenants."""

    tenants: Mapping[str, Tenant]

    def find(self, kind: str, record_id: str) -> tuple[Tenant, Any] | None:
        """Return the record of this kind and id with its tenant, whichever that is, or None if there is none."""
        for tenant in self.tenants.values():
            record = tenant.table(kind).get(record_id)
            if record is not None:
                return tenant, record
        return None

    def records(self, kind: str) -> Iterator[tuple[Tenant, Any]]:
        """Yield every record of this kind with its tenant, tenant by tenant in order of creation; not for chats."""
        for tenant in self.tenants.values():
            for record in tenant.table(kind).values():
                yield tenant, record


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

# The tables of the records that can be searched by id: `campaign` -> `campaigns`.
TABLE_OF: Mapping[str, str] = MappingProxyType(
    {table.removesuffix("s"): table for table in TABLES if table not in ("messages", "hosted_flows")}
)
_tables_with_ids = attrgetter(*(table for kind, table in TABLE_OF.items() if kind != "webhook"))
