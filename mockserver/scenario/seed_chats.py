"""Seed chats: a list of entries, or a pattern of very many alike."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from mockserver.contract.filters import PLATFORMS
from mockserver.core.instants import Instant, as_shown, parse_date
from mockserver.core.records import Chat
from mockserver.scenario.seeding import Entry, Seeding

_MANY = 50_000  # chats from which on the garbage collector is in the way: it would walk them over and over
_GROUP_SIZE = 3  # participants of a group chat whose number was not given


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
