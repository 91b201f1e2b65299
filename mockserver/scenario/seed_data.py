"""
Seed data: the entries of `given` become records of a tenant, one function per kind, in the table `BUILDERS`.

1. Every field has a default; an id is given or assigned. An id in use, and a reference to an unknown record, is a
   problem with its path.
2. A builder writes to its tenant immediately; the caller restores everything if there was a problem.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from mockserver.contract.filters import PLATFORMS
from mockserver.contract.text import as_written
from mockserver.core.instants import Instant, as_shown, parse_date
from mockserver.core.operations.connections import seeded_provider_id
from mockserver.core.operations.templates import declared_variables
from mockserver.core.phone_numbers import EXPECTED, normalize_phone
from mockserver.core.redaction import to_json_text
from mockserver.core.state.records import (
    Chat,
    ChatAttributes,
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
from mockserver.scenario.problems import WrongPart
from mockserver.scenario.seed_campaigns import seed_campaigns
from mockserver.scenario.seed_context import Entry, SeedContext, placed

_GROUP_SIZE = 3  # participants of a group chat whose number was not given


def chats(context: SeedContext, entries: Sequence[Entry] | Entry, path: str) -> None:
    if isinstance(entries, Mapping):
        _chat_pattern(context, entries, path)
        return
    for at, entry in placed(entries, path):
        chat_id = context.assign_id("chats", "chat_", entry, at)
        attributes = _attributes(_chat_fields(context, entry, at))
        context.tenant.chats.add(Chat(context.sandbox.next_seq(), chat_id, attributes))


def _chat_pattern(context: SeedContext, pattern: Entry, path: str) -> None:
    """
    Add `count` equal chats except for the fields of `vary`, whose values alternate; ids share one seeded stem.

    Chats with the same values share their attributes.
    """
    shared, vary = pattern.get("each", {}), pattern.get("vary", {})
    stem = context.sandbox.new_id("chat_")[:13] if "id" not in shared and "id" not in vary else None
    place = "vary" if "id" in vary else "each"  # of an id that is given
    chat_ids = context.created.setdefault("chats", [])
    alike: dict[tuple[int, ...], ChatAttributes] = {}  # by the places of the values in `vary`
    for number in range(pattern["count"]):
        varied = {key: values[number % len(values)] for key, values in vary.items()}
        if stem is not None:
            chat_id = f"{stem}{number:07d}"
            chat_ids.append(chat_id)
        else:
            chat_id = context.assign_id("chats", "chat_", {**shared, **varied}, f"{path}/{place}")
        places = tuple(number % len(values) for key, values in vary.items() if key != "id")
        if places not in alike:
            alike[places] = _attributes(_chat_fields(context, {**shared, **varied}, path))
        context.tenant.chats.add(Chat(context.sandbox.next_seq(), chat_id, alike[places]))


def _chat_fields(context: SeedContext, entry: Entry, path: str) -> dict[str, Any]:
    """Return the attributes of a chat."""
    entrypoint_id = entry.get("entrypointId")
    if entrypoint_id is not None and entrypoint_id not in context.tenant.entrypoints:
        context.problems.add(
            f"{path}/entrypointId", entrypoint_id, "an entrypoint of the tenant", context.tenant.entrypoints
        )
    is_group = entry.get("isGroupChat", False)
    last_message_at = entry.get("lastMessageAt")
    return {
        "name": entry.get("name"),
        "platform": entry.get("platform", PLATFORMS[0]),
        "status": entry.get("status", "open"),
        "monetization": as_written(entry.get("monetization")),
        "entrypoint_id": entrypoint_id,
        "funnel_step_id": context.require_funnel_step(entry, path),
        "tracking_link_id": entry.get("trackingLinkId"),
        "is_group_chat": is_group,
        "is_answered": entry.get("isAnswered", False),
        "needs_human_attention": entry.get("needsHumanAttention", False),
        "attention_reason": entry.get("attentionReason"),
        "tag_ids": tuple(entry.get("tagIds", ())),
        "assigned_user_id": entry.get("assignedUserId"),
        "participants_count": as_written(entry.get("participantsCount", _GROUP_SIZE if is_group else 1)),
        "contact": entry.get("contact"),
        "birth_date": _birth_date(context, entry, path),
        "custom": entry.get("custom") or {},
        "last_message_at": None
        if last_message_at is None
        else as_shown(context.instant(entry, "lastMessageAt", path, 0)),
        "last_update_at": as_shown(context.instant(entry, "lastUpdateAt", path, context.sandbox.now)),
    }


def _birth_date(context: SeedContext, entry: Entry, path: str) -> Instant | None:
    """Return the instant of a date and time, or the midnight of a date alone in the zone of `birthdate-zone`."""
    written = entry.get("birthDate")
    if written is None:
        return None
    midnight = parse_date(written, brazil=context.sandbox.choices["birthdate-zone"] == "brazil")
    if midnight is None and "T" not in written.upper():
        context.problems.add(f"{path}/birthDate", written, "a day that exists, such as 1990-05-17")
        return None
    return as_shown(context.instant(entry, "birthDate", path, 0)) if midnight is None else midnight


def _attributes(fields: Mapping[str, Any]) -> ChatAttributes:
    """Return the record; a group chat has no direct participant, hence no contact and no birth date."""
    if fields["is_group_chat"]:
        fields = {**fields, "contact": None, "birth_date": None}
    return ChatAttributes(**fields)


def funnels(context: SeedContext, entries: Sequence[Entry], path: str) -> None:
    for at, entry in placed(entries, path):
        funnel_id = context.assign_id("funnels", "funnel_", entry, at)
        steps: list[tuple[str, str]] = []
        for place, step in enumerate(entry.get("steps", ())):
            step_id = step.get("id")
            if step_id is None:
                step_id = context.sandbox.new_id("funnel_step_")
            elif step_id in [other for other, _ in steps] or any(
                tenant.funnel_of_step(step_id) for tenant in context.sandbox.tenants.values()
            ):
                context.problems.add(f"{at}/steps/{place}/id", step_id, "a step id that no funnel has yet")
            context.created.setdefault("funnelSteps", []).append(step_id)
            steps.append((step_id, step.get("name", step_id)))
        context.tenant.funnels[funnel_id] = Funnel(funnel_id, entry.get("name", funnel_id), tuple(steps))


def entrypoints(context: SeedContext, entries: Sequence[Entry], path: str) -> None:
    for at, entry in placed(entries, path):
        phone = entry.get("displayPhone")
        if phone is not None and normalize_phone(phone) is None:
            context.problems.add(f"{at}/displayPhone", phone, EXPECTED)
        if entry.get("isCoexistence") and entry.get("platform", PLATFORMS[0]) != PLATFORMS[0]:
            context.problems.add(
                f"{at}/isCoexistence", True, f"false: only {PLATFORMS[0]} shares a number with the phone's app"
            )
        step_id = context.require_funnel_step(entry, at)
        funnel = context.tenant.funnel_of_step(step_id) if step_id else None
        entrypoint_id = context.assign_id("entrypoints", "entrypoint_", entry, at)
        name = entry.get("name", entrypoint_id)
        context.tenant.entrypoints[entrypoint_id] = Entrypoint(
            seq=context.sandbox.next_seq(),
            id=entrypoint_id,
            name=name,
            platform=entry.get("platform", PLATFORMS[0]),
            display_name=entry.get("displayName", name),
            display_phone=phone,
            phone_number_id=phone and seeded_provider_id(context.sandbox, "phone number"),
            business_account_id=phone and seeded_provider_id(context.sandbox, "business account"),
            funnel_id=funnel.id if funnel else None,
            funnel_step_id=step_id,
            is_coexistence=entry.get("isCoexistence", False),
        )


def templates(context: SeedContext, entries: Sequence[Entry], path: str) -> None:
    seq = context.shared_seq(entries)
    for at, entry in placed(entries, path):
        template_id = context.assign_id("templates", "template_", entry, at)
        created_at = context.instant(entry, "createdAt", at, context.sandbox.now)
        name = entry.get("name", template_id)
        context.tenant.templates[template_id] = Template(
            seq=seq,
            id=template_id,
            name=name,
            description=entry.get("description"),
            provider_status=_provider_status(context, entry, at),
            items=_items(context, entry.get("items", [{"type": "text", "text": name}]), at),
            variables=_variables(context, entry.get("variables", ()), f"{at}/variables"),
            created_at=created_at,
            updated_at=context.instant(entry, "updatedAt", at, created_at),
        )


def _provider_status(context: SeedContext, entry: Entry, path: str) -> str | None:
    """Return the status, which determines `isOfficial`; an entry whose two values disagree is refused."""
    status: str | None = entry.get("providerTemplateStatus")
    official = entry.get("isOfficial")
    if status is None:
        return "APPROVED" if official else None
    if official is not None and official != (status == "APPROVED"):
        context.problems.add(
            f"{path}/isOfficial",
            official,
            f"{to_json_text(status == 'APPROVED')}, since the status is {status}: only APPROVED is official",
        )
    return status


def _items(context: SeedContext, entries: Sequence[Entry], path: str) -> tuple[TemplateItem, ...]:
    """Return the items in order; a text item has no media, a media item has an id and perhaps an empty text."""
    items = []
    for order, entry in enumerate(entries):
        kind, media_id = entry.get("type", "text"), entry.get("mediaId")
        if kind == "text" and media_id is not None:
            context.problems.add(f"{path}/items/{order}/mediaId", media_id, "null, since a text item has no media")
        if kind != "text" and media_id is None:
            media_id = context.sandbox.new_id("media_")
        item_id = context.sandbox.new_id("template_item_")
        items.append(
            TemplateItem(
                id=item_id,
                order=order,
                type=kind,
                text=entry.get("text", "" if kind == "text" else None),
                media_id=media_id,
            )
        )
    return tuple(items)


def _variables(context: SeedContext, entries: Sequence[Entry], path: str) -> tuple[Variable, ...]:
    keys = [entry["key"] for entry in entries]
    for number, key in enumerate(keys):
        if key in keys[:number]:
            context.problems.add(f"{path}/{number}/key", key, "a key that the template does not have yet")
    return declared_variables(entries)


def messages(context: SeedContext, entries: Sequence[Entry], path: str) -> None:
    used_ids = {
        message.id
        for tenant in context.sandbox.tenants.values()
        for rows in tenant.messages.values()
        for message in rows
    }
    for at, entry in placed(entries, path):
        chat = context.tenant.chats.get(entry["chatId"])
        if chat is None:
            context.problems.add(f"{at}/chatId", entry["chatId"], "a chat of the tenant", context.tenant.chats)
            continue
        if entry.get("id") in used_ids:
            context.problems.add(f"{at}/id", entry["id"], "an id that no message has yet")
        message_id = context.assign_id("messages", "message_", entry, at)
        fields: dict[str, Any] = {"type": "text", "status": "delivered"}
        fields |= {key: value for key, value in entry.items() if key not in ("chatId", "id", "createdAt")}
        if "sender" in entry or entry.get("type") != "system":
            fields["sender"] = _sender(context, chat, entry.get("sender", {}))
        created_at = context.instant(entry, "createdAt", at, context.sandbox.now)
        message = Message(
            seq=context.sandbox.next_seq(), id=message_id, chat_id=chat.id, created_at=created_at, fields=fields
        )
        context.tenant.messages[chat.id] = (*context.tenant.messages.get(chat.id, ()), message)
        _move_last_message(context, chat, as_shown(created_at))
    _refuse_unknown_replies(context, entries, path)


def _move_last_message(context: SeedContext, chat: Chat, created_at: Instant) -> None:
    """Let the chat's last message be no older than this one."""
    last = chat.attributes.last_message_at
    if last is None or last < created_at:
        context.tenant.chats.replace(chat._replace(attributes=chat.attributes._replace(last_message_at=created_at)))


def _sender(context: SeedContext, chat: Chat, given: Entry) -> dict[str, Any]:
    """Return the sender of a message: the chat's participant, or the tenant if `isParticipant` is false."""
    tenant = context.tenant
    if given.get("isParticipant", True):
        return {"id": f"participant_{chat.id}", "name": chat.attributes.name or chat.id, "isParticipant": True, **given}
    return {"id": tenant.id, "name": tenant.name, **given}


def _refuse_unknown_replies(context: SeedContext, entries: Sequence[Entry], path: str) -> None:
    known = {message.id for rows in context.tenant.messages.values() for message in rows}
    for at, entry in placed(entries, path):
        if entry.get("replyToId") is not None and entry["replyToId"] not in known:
            context.problems.add(f"{at}/replyToId", entry["replyToId"], "a message of the tenant", known)


def forms(context: SeedContext, entries: Sequence[Entry], path: str) -> None:
    for at, entry in placed(entries, path):
        form_id = context.assign_id("forms", "form_", entry, at)
        origins = tuple(entry.get("iframeEmbedAllowedOrigins", ()))
        context.tenant.forms[form_id] = Form(form_id, entry.get("active", True), origins)


def webhooks(context: SeedContext, entries: Sequence[Entry], path: str) -> None:
    for at, entry in placed(entries, path):
        webhook_id = context.assign_id("webhooks", "webhook_", entry, at)
        expected_url = url_policy.rejection_reason(entry["url"], context.sandbox.outbox.allowed_hosts)
        if expected_url is not None:
            context.problems.add(f"{at}/url", entry["url"], expected_url)
            continue
        expected_secret = deliveries.secret_rejection(context.sandbox, entry["secret"]) if "secret" in entry else None
        if expected_secret is not None:
            context.problems.append(
                WrongPart(f"{at}/secret", f"a text of {len(entry['secret'])} characters", expected_secret)
            )
            continue
        secret = entry.get("secret") or deliveries.new_secret(context.sandbox)
        if "secret" not in entry:
            context.secrets[webhook_id] = secret
        webhook = Webhook(webhook_id, entry["url"], secret, tuple(entry.get("events", ())))
        deliveries.register_webhook(context.sandbox, context.tenant, webhook)


# In the order of creation: a record precedes those that refer to it.
BUILDERS: Mapping[str, Callable[[SeedContext, Any, str], None]] = MappingProxyType(
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
