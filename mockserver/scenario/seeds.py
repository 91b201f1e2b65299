"""
Seed data: the entries of `given` become records of a tenant, one function a kind, in the table `BUILDERS`.

1. Every field has a default; an id is given or assigned. An id that is taken, and a reference to what is not there,
   is a problem with its path.
2. A builder writes into its tenant as it goes; whoever applies a document takes everything back where a problem came up.
"""

from __future__ import annotations

import gc
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from mockserver.contract.filters import PLATFORMS
from mockserver.core import ids
from mockserver.core.entrypoints import e164
from mockserver.core.instants import MILLISECOND, Instant, parse, parse_date
from mockserver.core.records import Chat, Entrypoint, Form, Funnel, Message, Template, TemplateItem, Variable, Webhook
from mockserver.core.sandbox import Sandbox
from mockserver.core.tenant import Tenant
from mockserver.scenario.documents import Problem, nearest

_MANY = 50_000  # chats from which on the garbage collector is in the way: it would walk them over and over
_GROUP_SIZE = 3  # participants of a group chat whose number was not given

Entry = Mapping[str, Any]


class Seeding:
    """One tenant being given records: where they go, what went wrong, and the ids that were made, by kind."""

    def __init__(
        self, sandbox: Sandbox, tenant: Tenant, problems: list[Problem], created: dict[str, list[str]]
    ) -> None:
        self.sandbox = sandbox
        self.tenant = tenant
        self.problems = problems
        self.created = created

    def wrong(self, path: str, found: object, wanted: str, known: Any = ()) -> None:
        self.problems.append(Problem(path, repr(found), wanted, nearest(found, known)))

    def name_id(self, kind: str, prefix: str, entry: Entry, path: str) -> str:
        """The entry's own id, refused where it is taken, or a fresh one."""
        given = entry.get("id")
        if given is None:
            made = self.sandbox.new_id(prefix)
        else:
            made = given
            if self.sandbox.has_id(made) or made in self.created.get(kind, ()):
                self.wrong(f"{path}/id", made, "an id that nothing in the sandbox has yet")
        self.created.setdefault(kind, []).append(made)
        return made

    def instant(self, entry: Entry, key: str, path: str, default: Instant) -> Instant:
        written = entry.get(key)
        if written is None:
            return default
        read = parse(written)
        if read is None:
            self.wrong(f"{path}/{key}", written, "a day and time that exist, as RFC 3339")
            return default
        return read[0]

    def step(self, entry: Entry, path: str) -> str | None:
        """The funnel step that an entry names, which must be there."""
        step_id: str | None = entry.get("funnelStepId")
        if step_id is not None and self.tenant.funnel_of_step(step_id) is None:
            steps = [step for funnel in self.tenant.funnels.values() for step, _ in funnel.steps]
            self.wrong(f"{path}/funnelStepId", step_id, "a step of one of the tenant's funnels", steps)
        return step_id


def funnels(seeding: Seeding, entries: Sequence[Entry], path: str) -> None:
    for number, entry in enumerate(entries):
        at = f"{path}/{number}"
        funnel_id = seeding.name_id("funnels", "funnel_", entry, at)
        steps = []
        for place, step in enumerate(entry.get("steps", ())):
            step_id = step.get("id")
            if step_id is None:
                step_id = seeding.sandbox.new_id("funnel_step_")
            elif any(tenant.funnel_of_step(step_id) for tenant in seeding.sandbox.tenants.values()):
                seeding.wrong(f"{at}/steps/{place}/id", step_id, "a step id that no funnel has yet")
            seeding.created.setdefault("funnelSteps", []).append(step_id)
            steps.append((step_id, step.get("name", step_id)))
        seeding.tenant.funnels[funnel_id] = Funnel(funnel_id, entry.get("name", funnel_id), tuple(steps))


def entrypoints(seeding: Seeding, entries: Sequence[Entry], path: str) -> None:
    for number, entry in enumerate(entries):
        at = f"{path}/{number}"
        phone = entry.get("displayPhone")
        if phone is not None and e164(phone) is None:
            seeding.wrong(f"{at}/displayPhone", phone, "a phone number of 7 to 15 digits with its country code")
        step_id = seeding.step(entry, at)
        funnel = seeding.tenant.funnel_of_step(step_id) if step_id else None
        entrypoint_id = seeding.name_id("entrypoints", "entrypoint_", entry, at)
        name = entry.get("name", entrypoint_id)
        seeding.tenant.entrypoints[entrypoint_id] = Entrypoint(
            seq=seeding.sandbox.next_seq(),
            id=entrypoint_id,
            name=name,
            platform=entry.get("platform", PLATFORMS[0]),
            display_name=entry.get("displayName", name),
            display_phone=phone,
            phone_number_id=None,
            business_account_id=None,
            funnel_id=funnel.id if funnel else None,
            funnel_step_id=step_id,
            is_coexistence=entry.get("isCoexistence", False),
        )


def templates(seeding: Seeding, entries: Sequence[Entry], path: str) -> None:
    for number, entry in enumerate(entries):
        at = f"{path}/{number}"
        template_id = seeding.name_id("templates", "template_", entry, at)
        created_at = seeding.instant(entry, "createdAt", at, seeding.sandbox.now)
        name = entry.get("name", template_id)
        seeding.tenant.templates[template_id] = Template(
            seq=seeding.sandbox.next_seq(),
            id=template_id,
            name=name,
            description=entry.get("description"),
            provider_status=_provider_status(seeding, entry, at),
            items=_items(seeding, entry.get("items", [{"type": "text", "text": name}])),
            variables=_variables(seeding, entry.get("variables", ()), at),
            created_at=created_at,
            updated_at=seeding.instant(entry, "updatedAt", at, created_at),
        )


def _provider_status(seeding: Seeding, entry: Entry, path: str) -> str | None:
    """The status; `isOfficial` follows from it, and a pair that contradicts this is refused."""
    status: str | None = entry.get("providerTemplateStatus")
    official = entry.get("isOfficial")
    if status is None:
        return "APPROVED" if official else None
    if official is not None and official != (status == "APPROVED"):
        seeding.wrong(
            f"{path}/isOfficial",
            official,
            f"{status == 'APPROVED'}, since the status is {status}: only APPROVED is official",
        )
    return status


def _items(seeding: Seeding, entries: Sequence[Entry]) -> tuple[TemplateItem, ...]:
    return tuple(
        TemplateItem(
            id=seeding.sandbox.new_id("template_item_"),
            order=order,
            type=entry.get("type", "text"),
            text=entry.get("text", "" if entry.get("type", "text") == "text" else None),
            media_id=entry.get("mediaId"),
        )
        for order, entry in enumerate(entries)
    )


def _variables(seeding: Seeding, entries: Sequence[Entry], path: str) -> tuple[Variable, ...]:
    keys = [entry["key"] for entry in entries]
    for number, key in enumerate(keys):
        if key in keys[:number]:
            seeding.wrong(f"{path}/variables/{number}/key", key, "a key that the template does not have yet")
    return tuple(
        Variable(entry["key"], entry.get("label", entry["key"]), entry.get("required", False), entry.get("source"))
        for entry in entries
    )


def chats(seeding: Seeding, entries: Sequence[Entry] | Entry, path: str) -> None:
    if isinstance(entries, Mapping):
        _chat_pattern(seeding, entries, path)
        return
    for number, entry in enumerate(entries):
        at = f"{path}/{number}"
        chat_id = seeding.name_id("chats", "chat_", entry, at)
        seeding.tenant.chats.add(_chat(seeding, chat_id, _chat_fields(seeding, entry, at)))


def _chat_pattern(seeding: Seeding, pattern: Entry, path: str) -> None:
    """`count` chats alike but for the fields of `vary`, whose values take turns; ids share one drawn stem."""
    each, vary = pattern.get("each", {}), pattern.get("vary", {})
    count = pattern["count"]
    stem = seeding.sandbox.new_id("chat_")[:13] if "id" not in each and "id" not in vary else None
    read = {
        key: [_chat_fields(seeding, {**each, key: value}, path) for value in values] for key, values in vary.items()
    }
    base = _chat_fields(seeding, each, f"{path}/each")
    changed = [
        (each_field, [fields[each_field] for fields in read[key]])
        for key in vary
        for each_field in _ATTRIBUTES_OF.get(key, ())
    ]
    made = seeding.created.setdefault("chats", [])
    with _collector_resting(count):
        for number in range(count):
            fields = base | {field: values[number % len(values)] for field, values in changed}
            if stem is not None:
                chat_id = f"{stem}{number:07d}"
                made.append(chat_id)
            else:
                chat_id = seeding.name_id(
                    "chats", "chat_", {**each, **{k: v[number % len(v)] for k, v in vary.items()}}, path
                )
            seeding.tenant.chats.add(_chat(seeding, chat_id, fields))


@contextmanager
def _collector_resting(count: int) -> Iterator[None]:
    rests = count >= _MANY and gc.isenabled()
    if rests:
        gc.disable()
    try:
        yield
    finally:
        if rests:
            gc.enable()


# The attributes of a Chat that follow from a field of the document.
_ATTRIBUTES_OF: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "name": ("name",),
        "platform": ("platform",),
        "status": ("status",),
        "monetization": ("monetization",),
        "entrypointId": ("entrypoint_id",),
        "funnelStepId": ("funnel_step_id",),
        "trackingLinkId": ("tracking_link_id",),
        "isGroupChat": ("is_group_chat", "participants_count"),
        "isAnswered": ("is_answered",),
        "needsHumanAttention": ("needs_human_attention",),
        "attentionReason": ("attention_reason",),
        "tagIds": ("tag_ids",),
        "assignedUserId": ("assigned_user_id",),
        "participantsCount": ("participants_count",),
        "contact": ("contact",),
        "birthDate": ("birth_date",),
        "custom": ("custom",),
        "lastMessageAt": ("last_message_at",),
        "lastUpdateAt": ("last_update_at",),
    }
)


def _chat_fields(seeding: Seeding, entry: Entry, path: str) -> dict[str, Any]:
    """The attributes of a chat but for `seq` and `id`."""
    entrypoint_id = entry.get("entrypointId")
    if entrypoint_id is not None and entrypoint_id not in seeding.tenant.entrypoints:
        seeding.wrong(f"{path}/entrypointId", entrypoint_id, "an entrypoint of the tenant", seeding.tenant.entrypoints)
    is_group = entry.get("isGroupChat", False)
    last_message_at = entry.get("lastMessageAt")
    return {
        "name": entry.get("name"),
        "platform": entry.get("platform", PLATFORMS[0]),
        "status": entry.get("status", "open"),
        "monetization": entry.get("monetization"),
        "entrypoint_id": entrypoint_id,
        "funnel_step_id": seeding.step(entry, path),
        "tracking_link_id": entry.get("trackingLinkId"),
        "is_group_chat": is_group,
        "is_answered": entry.get("isAnswered", False),
        "needs_human_attention": entry.get("needsHumanAttention", False),
        "attention_reason": entry.get("attentionReason"),
        "tag_ids": tuple(entry.get("tagIds", ())),
        "assigned_user_id": entry.get("assignedUserId"),
        "participants_count": entry.get("participantsCount", _GROUP_SIZE if is_group else 1),
        "contact": entry.get("contact"),
        "birth_date": _birth_date(seeding, entry, path),
        "custom": entry.get("custom") or {},
        "last_message_at": None
        if last_message_at is None
        else _to_ms(seeding.instant(entry, "lastMessageAt", path, 0)),
        "last_update_at": _to_ms(seeding.instant(entry, "lastUpdateAt", path, seeding.sandbox.now)),
    }


def _birth_date(seeding: Seeding, entry: Entry, path: str) -> Instant | None:
    """An instant where a time is given; of a date alone, midnight where `birthdate-zone` says."""
    written = entry.get("birthDate")
    if written is None:
        return None
    midnight = parse_date(written, brazil=seeding.sandbox.choices["birthdate-zone"] == "brazil")
    return _to_ms(seeding.instant(entry, "birthDate", path, 0)) if midnight is None else midnight


def _to_ms(instant: Instant) -> Instant:
    return instant // MILLISECOND * MILLISECOND


def _chat(seeding: Seeding, chat_id: str, fields: Mapping[str, Any]) -> Chat:
    """The record; a group chat has no direct participant, so what is said of one is left out."""
    if fields["is_group_chat"]:
        fields = {**fields, "contact": None, "birth_date": None}
    return Chat(seq=seeding.sandbox.next_seq(), id=chat_id, **fields)


def messages(seeding: Seeding, entries: Sequence[Entry], path: str) -> None:
    taken = {
        each.id for tenant in seeding.sandbox.tenants.values() for rows in tenant.messages.values() for each in rows
    }
    for number, entry in enumerate(entries):
        at = f"{path}/{number}"
        chat = seeding.tenant.chats.get(entry["chatId"])
        if chat is None:
            seeding.wrong(f"{at}/chatId", entry["chatId"], "a chat of the tenant", seeding.tenant.chats)
            continue
        if entry.get("id") in taken:
            seeding.wrong(f"{at}/id", entry["id"], "an id that no message has yet")
        message_id = seeding.name_id("messages", "message_", entry, at)
        fields: dict[str, Any] = {"type": "text", "status": "delivered"}
        if entry.get("type") != "system":
            fields["sender"] = {"id": f"participant_{chat.id}", "name": chat.name or chat.id, "isParticipant": True}
        fields |= {key: value for key, value in entry.items() if key not in ("chatId", "id", "createdAt")}
        created_at = seeding.instant(entry, "createdAt", at, seeding.sandbox.now)
        message = Message(seeding.sandbox.next_seq(), message_id, chat.id, created_at, fields)
        seeding.tenant.messages[chat.id] = (*seeding.tenant.messages.get(chat.id, ()), message)


def forms(seeding: Seeding, entries: Sequence[Entry], path: str) -> None:
    for number, entry in enumerate(entries):
        form_id = seeding.name_id("forms", "form_", entry, f"{path}/{number}")
        origins = tuple(entry.get("iframeEmbedAllowedOrigins", ()))
        seeding.tenant.forms[form_id] = Form(form_id, entry.get("active", True), origins)


def webhooks(seeding: Seeding, entries: Sequence[Entry], path: str) -> None:
    for entry in entries:
        webhook_id = seeding.name_id("webhooks", "webhook_", entry, path)
        secret = entry.get("secret") or _signing_secret(seeding.sandbox)
        seeding.tenant.webhooks[webhook_id] = Webhook(webhook_id, entry["url"], secret, tuple(entry.get("events", ())))


def _signing_secret(sandbox: Sandbox) -> str:
    drawn = ids.draw(sandbox.seed, "signing secret", sandbox.count("signing secret"), chars=24)
    return "whsec_" + b64encode(drawn.encode()).decode()


# In the order in which they are made, so that what is referred to comes first.
BUILDERS: Mapping[str, Callable[[Seeding, Any, str], None]] = MappingProxyType(
    {
        "funnels": funnels,
        "entrypoints": entrypoints,
        "templates": templates,
        "chats": chats,
        "messages": messages,
        "forms": forms,
        "webhooks": webhooks,
    }
)
