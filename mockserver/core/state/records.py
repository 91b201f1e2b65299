"""
The records of a sandbox. They are frozen: a change creates a new record, and checkpoints share them.

Every instant is in whole microseconds since 1970, UTC (`instants`). `seq` is the order of creation within the sandbox:
of equal instants the larger `seq` is later. `state_version` numbers the changes of state: a timer scheduled for an
earlier version does nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mockserver.core.instants import Instant


class ChatAttributes(NamedTuple):
    """
    The attributes of a chat: its name, and the values behind the filter fields, None if the chat does not have them.

    Chats of one pattern share one object, so that a filter is evaluated once for all of them. Two objects are never equal.
    """

    name: str | None
    platform: str
    status: str | None
    monetization: float | None
    entrypoint_id: str | None
    funnel_step_id: str | None
    tracking_link_id: str | None
    is_group_chat: bool
    is_answered: bool
    needs_human_attention: bool
    attention_reason: str | None
    tag_ids: tuple[str, ...]
    assigned_user_id: str | None
    participants_count: int | None
    contact: str | None
    birth_date: Instant | None  # cut to the millisecond, like every date that a filter compares
    custom: Mapping[str, str]
    last_message_at: Instant | None
    last_update_at: Instant | None


# Compared by identity, and that in C: chats are counted by them, a million at once.
ChatAttributes.__eq__ = object.__eq__  # type: ignore[method-assign]
ChatAttributes.__ne__ = object.__ne__  # type: ignore[method-assign]
ChatAttributes.__hash__ = object.__hash__  # type: ignore[method-assign]


class Chat(NamedTuple):
    """A chat of a tenant."""

    seq: int
    id: str
    attributes: ChatAttributes


class TemplateItem(NamedTuple):
    """One message of a template; `order` counts from 0."""

    id: str
    order: int
    type: str
    text: str | None
    media_id: str | None


class Variable(NamedTuple):
    """`varN` of a template: manual if `source` is None, else filled from the chat for each recipient."""

    key: str
    label: str
    required: bool
    source: str | None


class Template(NamedTuple):
    """A message template; `provider_status` is None for an internal one, which has no approval."""

    seq: int
    id: str
    name: str
    description: str | None
    provider_status: str | None
    items: tuple[TemplateItem, ...]
    variables: tuple[Variable, ...]
    created_at: Instant
    updated_at: Instant

    @property
    def is_official(self) -> bool:
        """Return True if the provider has approved the template (fixed decision `isOfficial-derivation`)."""
        return self.provider_status == "APPROVED"

    @property
    def can_be_sent(self) -> bool:
        """Return True for an internal template, and for an approved one of the provider."""
        return self.provider_status in (None, "APPROVED")


class Campaign(NamedTuple):
    """A campaign; `filters` are the groups of the request, None if it had none."""

    seq: int
    id: str
    name: str
    description: str | None
    platform: str
    template_id: str
    cadence: int  # messages per minute, as sent
    filters: Sequence[Any] | None
    created_at: Instant
    status: str
    state_version: int
    execution_ids: tuple[str, ...] = ()  # oldest first


class Segment(NamedTuple):
    """From position `first`, one send every minute / `per_minute`, the first of them at `start`."""

    first_position: int
    start: Instant
    per_minute: int


class SendSchedule(NamedTuple):
    """
    The sends of an execution as arithmetic: nothing changes when time passes.

    `total` positions follow the `segments`; none from `stop` on is ever processed; those in `failed`, ascending, fail.
    """

    total: int
    stop: int
    segments: tuple[Segment, ...]
    failed: Sequence[int]


class Execution(NamedTuple):
    """One run of a campaign: its targets oldest chat first, and the template and values of its start."""

    seq: int
    id: str
    campaign_id: str
    platform: str
    template: Template
    values: Mapping[str, str]  # commonVariables
    targets: Sequence[Chat]
    schedule: SendSchedule
    started_at: Instant
    ended_at: Instant | None
    status: str
    state_version: int


class Session(NamedTuple):
    """
    A connection session; `token` is the secret in its url, never equal to `id`.

    `base_url` is the address that the call which created it was sent to, for its url.
    """

    seq: int
    id: str
    token: str
    funnel_id: str | None
    funnel_step_id: str | None
    coexistence: bool
    return_url: str | None
    created_at: Instant
    expires_at: Instant
    status: str
    state_version: int
    reason: str | None = None
    entrypoint_id: str | None = None
    base_url: str = ""

    def __repr__(self) -> str:
        return _without(self, "token")


class Entrypoint(NamedTuple):
    """A connected channel; the phone's fields are None on platforms without a number."""

    seq: int
    id: str
    name: str
    platform: str
    display_name: str
    display_phone: str | None  # E.164
    phone_number_id: str | None
    business_account_id: str | None
    funnel_id: str | None
    funnel_step_id: str | None
    is_coexistence: bool


class Funnel(NamedTuple):
    """A funnel with its steps as (id, name), in order."""

    id: str
    name: str
    steps: tuple[tuple[str, str], ...]


class Media(NamedTuple):
    """An uploaded file; `kind` is image, video, audio, document or sticker."""

    seq: int
    id: str
    name: str
    mime_type: str
    kind: str
    content: bytes
    uploaded_at: Instant


class Message(NamedTuple):
    """A message that seed data put into a chat; `fields` are the documented ones, as JSON, instants as Instant."""

    seq: int
    id: str
    chat_id: str
    created_at: Instant
    fields: Mapping[str, Any]


class Form(NamedTuple):
    """A form: whether it is active, and the origins that may embed it."""

    id: str
    active: bool
    origins: tuple[str, ...]


class Webhook(NamedTuple):
    """
    A receiver of events: of the groups or kinds in `events`, or of all.

    An `old_secret` signs too until `old_secret_until`, exclusive; None is without end.
    """

    id: str
    url: str
    secret: str
    events: tuple[str, ...]
    old_secret: str | None = None
    old_secret_until: Instant | None = None
    disabled: bool = False

    def __repr__(self) -> str:
        return _without(self, "secret", "old_secret")

    def former_secret(self, at: Instant) -> str | None:
        """Return the former secret if it still signs at this instant, or None."""
        has_ended = self.old_secret_until is not None and at >= self.old_secret_until
        return None if has_ended else self.old_secret


class Event(NamedTuple):
    """An event: the record as its transition left it and, of a session that connected, the entrypoint it created."""

    seq: int
    id: str
    at: Instant
    kind: str
    tenant_id: str
    record: Campaign | Execution | Session
    entrypoint: Entrypoint | None


class HostedFlow(NamedTuple):
    """
    An end user's progress through the hosted page of one session, started from its link.

    `secret` identifies the flow in its urls and never equals the link's token. `consumed_at` is when the link became
    invalid, None while it is valid. `phone` (E.164) and `name` are the end user's inputs so far.
    """

    session_id: str
    secret: str
    started_at: Instant
    consumed_at: Instant | None
    step: str
    phone: str | None = None
    name: str | None = None

    def __repr__(self) -> str:
        return _without(self, "secret")


class PageVisit(NamedTuple):
    """
    One request to a hosted page; texts from its headers are cut to `VISIT_TEXT_MAX_CHARS`.

    `session_id` is None if the link belongs to no session. `step` is the page shown, or the step that was submitted;
    `status` is the HTTP status of the response.
    """

    n: int
    at: Instant
    session_id: str | None
    method: str
    step: str
    user_agent: str | None
    sec_fetch_dest: str | None
    referer: str | None
    status: int


def _without(record: Any, *secrets: str) -> str:
    """Return the text of a record for a traceback, without its secrets."""
    shown = (f"{name}={value!r}" for name, value in record._asdict().items() if name not in secrets)
    return f"{type(record).__name__}({', '.join(shown)})"
