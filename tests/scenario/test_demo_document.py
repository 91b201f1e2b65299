"""The demo scenario is valid, names every documented field at least once, and refers to nothing that is not there."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from tests.harness.rows import each_row

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "schemas" / "scenario.json").read_text(encoding="utf-8"))
DOCUMENT: dict[str, Any] = YAML(typ="safe", pure=True).load((ROOT / "scenarios" / "demo.yaml").read_text("utf-8"))
GIVEN = DOCUMENT["given"]
TENANTS = {tenant["id"]: tenant for tenant in GIVEN["tenants"]}
KINDS = ("funnels", "entrypoints", "templates", "chats", "messages", "forms", "webhooks")

# Transcribed from the seed data table and the message record of the API document; the keys of a tenant are left out,
# since the demo has them assigned.
FIELDS = {
    "tenants": "id name developersEnabled subscription templates chats forms",
    "funnels": "id name steps",
    "funnels.steps": "id name",
    "entrypoints": "id name platform displayName displayPhone funnelStepId isCoexistence",
    "templates": "id name description isOfficial providerTemplateStatus items variables createdAt updatedAt",
    "templates.items": "type text mediaId",
    "templates.variables": "key label required source",
    "chats": "id name platform status monetization entrypointId funnelStepId trackingLinkId isGroupChat isAnswered"
    " needsHumanAttention attentionReason tagIds assignedUserId participantsCount contact birthDate custom"
    " lastMessageAt lastUpdateAt",
    "messages": "chatId id type status sender isOfficialTemplate templateCharged createdAt text transcription forward"
    " replyToId photoapp media location templateComponents ad",
    "messages.sender": "id name isParticipant avatarUrl",
    "messages.forward": "displayName type date",
    "messages.photoapp": "kind commentId mediaId parentCommentId",
    "messages.media": "id type url mimeType fileName",
    "messages.location": "latitude longitude name address url",
    "messages.ad": "id type url headline",
    "forms": "id active iframeEmbedAllowedOrigins",
}
VALUES = {
    "entrypoints.platform": "chatapp chatapp_lite photoapp botapp",
    "chats.platform": "chatapp chatapp_lite photoapp botapp",
    "chats.status": "open closed",
    "templates.providerTemplateStatus": "APPROVED PENDING PAUSED",
    "messages.type": "text image audio video document sticker location contact template comment system unsupported",
    "messages.status": "pending sent delivered read failed",
}
PREFIXES = {
    "tenants": "tenant_",
    "funnels": "funnel_",
    "funnels.steps": "funnel_step_",
    "entrypoints": "entrypoint_",
    "templates": "template_",
    "chats": "chat_",
    "messages": "message_",
    "forms": "form_",
}


def found(path: str) -> Iterator[Any]:
    """Everything at a dotted path of the default tenant, lists flattened; what a record lacks is skipped."""
    values: list[Any] = [GIVEN]
    for name in path.split("."):
        steps = [value[name] for value in values if name in value]
        values = [item for step in steps for item in (step if isinstance(step, list) else [step])]
    yield from values


def test_the_document_is_valid() -> None:
    problems = [f"{error.json_path}: {error.message}" for error in Draft202012Validator(SCHEMA).iter_errors(DOCUMENT)]

    assert [] == problems


@each_row("path", FIELDS)
def test_every_documented_field_appears(path: str) -> None:
    seen = {name for record in found(path) for name in record}

    assert set(FIELDS[path].split()) <= seen


@pytest.mark.parametrize("path", VALUES)
def test_every_listed_value_appears(path: str) -> None:
    assert set(VALUES[path].split()) == set(found(path))


def test_ids_are_unique_and_begin_with_their_kind() -> None:
    ids = [(path, record["id"]) for path in PREFIXES for record in found(path)]
    ids += [(kind, record["id"]) for kind in KINDS for record in TENANTS["tenant_vizinha"].get(kind, [])]

    assert len(ids) == len({id for _, id in ids})
    assert [] == [id for path, id in ids if not id.startswith(PREFIXES[path])]


def test_every_reference_leads_to_a_record() -> None:
    steps, entrypoints, chats = (
        {record["id"] for record in found(kind)} for kind in ("funnels.steps", "entrypoints", "chats")
    )

    assert set(found("entrypoints.funnelStepId")) | set(found("chats.funnelStepId")) <= steps
    assert set(found("chats.entrypointId")) <= entrypoints
    assert set(found("messages.chatId")) <= chats


def test_the_neighbour_has_records_of_its_own_and_assigned_keys() -> None:
    neighbour = TENANTS["tenant_vizinha"]

    assert not {"secretKey", "publicKey"} & set(neighbour)
    assert (1, 2, 1) == tuple(len(neighbour[kind]) for kind in ("templates", "chats", "forms"))


def test_phones_are_from_the_fictitious_range() -> None:
    phones = [phone for phone in (*found("entrypoints.displayPhone"), *found("chats.contact")) if phone[0] == "+"]
    digits = ["".join(char for char in phone if char.isdigit()) for phone in phones]

    assert len(digits) > 20
    assert [] == [number for number in digits if not (number.startswith("5511555001") and len(number) == 12)]
