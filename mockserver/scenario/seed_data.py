"""
Seed data: the entries of `given` become records of a tenant, one function per kind, in the table `BUILDERS`.

1. Every field has a default; an id is given or assigned. An id in use, and a reference to an unknown record, is a
   problem with its path.
2. A builder writes to its tenant immediately; the caller restores everything if there was a problem.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from mockserver.contract.filters import PLATFORMS
from mockserver.core.instants import Instant, as_shown, parse_date
from mockserver.core.operations.connections import seeded_provider_id
from mockserver.core.phone_numbers import e164, expected
from mockserver.core.state.records import (
    Chat,
    Entrypoint,
    Form,
    Funnel,
    Message,
    Template,
    TemplateItem,
    Variable,
    Webhook,
)
from mockserver.core.webhooks import deliveries, url_policy
from mockserver.scenario.seed_campaigns import seed_campaigns
from mockserver.scenario.seeding import Entry, Seeding

_MANY = 50_000  # chats from which on the garbage collector is in the way: it would walk them over and over
_GROUP_SIZE = 3  # participants of a group chat whose number was not given


def chats(seeding: Seeding, entries: Sequence[Entry] | Entry, path: str) -> None:
    if isinstance(entries, Mapping):
        _chat_pattern(seeding, entries, path)
        return
    for number, entry in enumerate(entries):
        at = f"{path}/{number}"
        chat_id = seeding.assign_id("chats", "chat_", entry, at)
        seeding.tenant.chats.add(_chat(seeding, chat_id, _chat_fields(seeding, entry, at)))


def _chat_pattern(seeding: Seeding, pattern: Entry, path: str) -> None:
    """`count` chats alike but for the fields of `vary`, whose values take turns; ids share one drawn stem."""
    each, vary = pattern.get("each", {}), pattern.get("vary", {})
    count = pattern["count"]
    stem = seeding.sandbox.new_id("chat_")[:13] if "id" not in each and "id" not in vary else None
    counted = "participantsCount" in each or "participantsCount" in vary
    read = {
        key: [_chat_fields(seeding, {**each, key: value}, path) for value in values] for key, values in vary.items()
    }
    base = _chat_fields(seeding, each, f"{path}/each")
    changed = [
        (each_field, [fields[each_field] for fields in read[key]])
        for key in vary
        for each_field in _ATTRIBUTES_OF.get(key, ())
        if key == "participantsCount" or each_field != "participants_count" or not counted
    ]
    made = seeding.created.setdefault("chats", [])
    with _collector_resting(count):
        for number in range(count):
            fields = base | {field: values[number % len(values)] for field, values in changed}
            if stem is not None:
                chat_id = f"{stem}{number:07d}"
                made.append(chat_id)
            else:
                chat_id = seeding.assign_id(
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
            gc.collect(1)  # now, once, rather than in the middle of the first calls


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
        seeding.add_problem(
            f"{path}/entrypointId", entrypoint_id, "an entrypoint of the tenant", seeding.tenant.entrypoints
        )
    is_group = entry.get("isGroupChat", False)
    last_message_at = entry.get("lastMessageAt")
    return {
        "name": entry.get("name"),
        "platform": entry.get("platform", PLATFORMS[0]),
        "status": entry.get("status", "open"),
        "monetization": entry.get("monetization"),
        "entrypoint_id": entrypoint_id,
        "funnel_step_id": seeding.require_funnel_step(entry, path),
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
        else as_shown(seeding.instant(entry, "lastMessageAt", path, 0)),
        "last_update_at": as_shown(seeding.instant(entry, "lastUpdateAt", path, seeding.sandbox.now)),
    }


def _birth_date(seeding: Seeding, entry: Entry, path: str) -> Instant | None:
    """An instant where a time is given; of a date alone, midnight where `birthdate-zone` says."""
    written = entry.get("birthDate")
    if written is None:
        return None
    midnight = parse_date(written, brazil=seeding.sandbox.choices["birthdate-zone"] == "brazil")
    return as_shown(seeding.instant(entry, "birthDate", path, 0)) if midnight is None else midnight


def _chat(seeding: Seeding, chat_id: str, fields: Mapping[str, Any]) -> Chat:
    """The record; a group chat has no direct participant, so what is said of one is left out."""
    if fields["is_group_chat"]:
        fields = {**fields, "contact": None, "birth_date": None}
    return Chat(seq=seeding.sandbox.next_seq(), id=chat_id, **fields)


def funnels(seeding: Seeding, entries: Sequence[Entry], path: str) -> None:
    for number, entry in enumerate(entries):
        at = f"{path}/{number}"
        funnel_id = seeding.assign_id("funnels", "funnel_", entry, at)
        steps: list[tuple[str, str]] = []
        for place, step in enumerate(entry.get("steps", ())):
            step_id = step.get("id")
            if step_id is None:
                step_id = seeding.sandbox.new_id("funnel_step_")
            elif step_id in [made for made, _ in steps] or any(
                tenant.funnel_of_step(step_id) for tenant in seeding.sandbox.tenants.values()
            ):
                seeding.add_problem(f"{at}/steps/{place}/id", step_id, "a step id that no funnel has yet")
            seeding.created.setdefault("funnelSteps", []).append(step_id)
            steps.append((step_id, step.get("name", step_id)))
        seeding.tenant.funnels[funnel_id] = Funnel(funnel_id, entry.get("name", funnel_id), tuple(steps))


def entrypoints(seeding: Seeding, entries: Sequence[Entry], path: str) -> None:
    for number, entry in enumerate(entries):
        at = f"{path}/{number}"
        phone = entry.get("displayPhone")
        if phone is not None and e164(phone, seeding.tenant.country) is None:
            seeding.add_problem(f"{at}/displayPhone", phone, expected(seeding.tenant.country))
        if entry.get("isCoexistence") and entry.get("platform", PLATFORMS[0]) != PLATFORMS[0]:
            seeding.add_problem(
                f"{at}/isCoexistence", True, f"false: only a {PLATFORMS[0]} number is shared with the phone's app"
            )
        step_id = seeding.require_funnel_step(entry, at)
        funnel = seeding.tenant.funnel_of_step(step_id) if step_id else None
        entrypoint_id = seeding.assign_id("entrypoints", "entrypoint_", entry, at)
        name = entry.get("name", entrypoint_id)
        seeding.tenant.entrypoints[entrypoint_id] = Entrypoint(
            seq=seeding.sandbox.next_seq(),
            id=entrypoint_id,
            name=name,
            platform=entry.get("platform", PLATFORMS[0]),
            display_name=entry.get("displayName", name),
            display_phone=phone,
            phone_number_id=phone and seeded_provider_id(seeding.sandbox, "phone number"),
            business_account_id=phone and seeded_provider_id(seeding.sandbox, "business account"),
            funnel_id=funnel.id if funnel else None,
            funnel_step_id=step_id,
            is_coexistence=entry.get("isCoexistence", False),
        )


def templates(seeding: Seeding, entries: Sequence[Entry], path: str) -> None:
    for number, entry in enumerate(entries):
        at = f"{path}/{number}"
        template_id = seeding.assign_id("templates", "template_", entry, at)
        created_at = seeding.instant(entry, "createdAt", at, seeding.sandbox.now)
        name = entry.get("name", template_id)
        seeding.tenant.templates[template_id] = Template(
            seq=seeding.sandbox.next_seq(),
            id=template_id,
            name=name,
            description=entry.get("description"),
            provider_status=_provider_status(seeding, entry, at),
            items=_items(seeding, entry.get("items", [{"type": "text", "text": name}]), at),
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
        seeding.add_problem(
            f"{path}/isOfficial",
            official,
            f"{status == 'APPROVED'}, since the status is {status}: only APPROVED is official",
        )
    return status


def _items(seeding: Seeding, entries: Sequence[Entry], path: str) -> tuple[TemplateItem, ...]:
    """The items in order; one of text has no media, one of media has a text that may be blank and an id of its own."""
    items = []
    for order, entry in enumerate(entries):
        kind, media_id = entry.get("type", "text"), entry.get("mediaId")
        if kind == "text" and media_id is not None:
            seeding.add_problem(f"{path}/items/{order}/mediaId", media_id, "null, since a text item has no media")
        if kind != "text" and media_id is None:
            media_id = seeding.sandbox.new_id("media_")
        item_id = seeding.sandbox.new_id("template_item_")
        items.append(TemplateItem(item_id, order, kind, entry.get("text", "" if kind == "text" else None), media_id))
    return tuple(items)


def _variables(seeding: Seeding, entries: Sequence[Entry], path: str) -> tuple[Variable, ...]:
    keys = [entry["key"] for entry in entries]
    for number, key in enumerate(keys):
        if key in keys[:number]:
            seeding.add_problem(f"{path}/variables/{number}/key", key, "a key that the template does not have yet")
    return tuple(
        Variable(entry["key"], entry.get("label", entry["key"]), entry.get("required", False), entry.get("source"))
        for entry in entries
    )


def messages(seeding: Seeding, entries: Sequence[Entry], path: str) -> None:
    taken = {
        each.id for tenant in seeding.sandbox.tenants.values() for rows in tenant.messages.values() for each in rows
    }
    for number, entry in enumerate(entries):
        at = f"{path}/{number}"
        chat = seeding.tenant.chats.get(entry["chatId"])
        if chat is None:
            seeding.add_problem(f"{at}/chatId", entry["chatId"], "a chat of the tenant", seeding.tenant.chats)
            continue
        if entry.get("id") in taken:
            seeding.add_problem(f"{at}/id", entry["id"], "an id that no message has yet")
        message_id = seeding.assign_id("messages", "message_", entry, at)
        fields: dict[str, Any] = {"type": "text", "status": "delivered"}
        fields |= {key: value for key, value in entry.items() if key not in ("chatId", "id", "createdAt")}
        if "sender" in entry or entry.get("type") != "system":
            fields["sender"] = _sender(seeding, chat, entry.get("sender", {}))
        created_at = seeding.instant(entry, "createdAt", at, seeding.sandbox.now)
        message = Message(seeding.sandbox.next_seq(), message_id, chat.id, created_at, fields)
        seeding.tenant.messages[chat.id] = (*seeding.tenant.messages.get(chat.id, ()), message)
    _refuse_lost_replies(seeding, entries, path)


def _sender(seeding: Seeding, chat: Chat, given: Entry) -> dict[str, Any]:
    """Who wrote it: the chat's participant, or the tenant where `isParticipant` is false."""
    tenant = seeding.tenant
    if given.get("isParticipant", True):
        return {"id": f"participant_{chat.id}", "name": chat.name or chat.id, "isParticipant": True, **given}
    return {"id": tenant.id, "name": tenant.name, **given}


def _refuse_lost_replies(seeding: Seeding, entries: Sequence[Entry], path: str) -> None:
    known = {each.id for rows in seeding.tenant.messages.values() for each in rows}
    for number, entry in enumerate(entries):
        if entry.get("replyToId") is not None and entry["replyToId"] not in known:
            seeding.add_problem(f"{path}/{number}/replyToId", entry["replyToId"], "a message of the tenant", known)


def forms(seeding: Seeding, entries: Sequence[Entry], path: str) -> None:
    for number, entry in enumerate(entries):
        form_id = seeding.assign_id("forms", "form_", entry, f"{path}/{number}")
        origins = tuple(entry.get("iframeEmbedAllowedOrigins", ()))
        seeding.tenant.forms[form_id] = Form(form_id, entry.get("active", True), origins)


def webhooks(seeding: Seeding, entries: Sequence[Entry], path: str) -> None:
    for number, entry in enumerate(entries):
        webhook_id = seeding.assign_id("webhooks", "webhook_", entry, f"{path}/{number}")
        wrong = url_policy.rejection_reason(entry["url"], seeding.sandbox.outbox.allowed_hosts)
        if wrong is not None:
            seeding.add_problem(f"{path}/{number}/url", entry["url"], wrong)
            continue
        secret = entry.get("secret") or deliveries.new_secret(seeding.sandbox)
        if "secret" not in entry:
            seeding.secrets[webhook_id] = secret
        webhook = Webhook(webhook_id, entry["url"], secret, tuple(entry.get("events", ())))
        deliveries.register_webhook(seeding.sandbox, seeding.tenant, webhook)


# In the order in which they are made, so that what is referred to comes first.
BUILDERS: Mapping[str, Callable[[Seeding, Any, str], None]] = MappingProxyType(
    {
        "funnels": funnels,
        "entrypoints": entrypoints,
        "templates": templates,
        "chats": chats,
        "messages": messages,
        "campaigns": seed_campaigns,
        "forms": forms,
        "webhooks": webhooks,
    }
)
