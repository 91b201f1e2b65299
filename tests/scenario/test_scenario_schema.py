"""The schema of scenario documents takes every documented shape and refuses everything else, at the place it is wrong."""

import json
import re
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from tests.harness.rows import each_row

ROOT = Path(__file__).resolve().parents[2]
SCHEMA: dict[str, Any] = json.loads((ROOT / "schemas" / "scenario.json").read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)

# Transcribed from the seed data table; a message's fields are those of the record plus its chat.
DOCUMENTED = {
    "funnel": "id name steps",
    "funnelStep": "id name",
    "entrypoint": "id name platform displayName displayPhone funnelStepId isCoexistence",
    "template": "id name description isOfficial providerTemplateStatus items variables createdAt updatedAt",
    "templateItem": "type text mediaId",
    "templateVariable": "key label required source",
    "chat": "id name platform status monetization entrypointId funnelStepId trackingLinkId isGroupChat isAnswered"
    " needsHumanAttention attentionReason tagIds assignedUserId participantsCount contact birthDate custom"
    " lastMessageAt lastUpdateAt",
    "message": "chatId id type status sender isOfficialTemplate templateCharged createdAt text transcription forward"
    " replyToId photoapp media location templateComponents ad",
    "campaign": "id name description platform templateId cadence filters status createdAt startedAt completedAt"
    " commonVariables executionId",
    "form": "id active iframeEmbedAllowedOrigins",
    "webhook": "url secret events",
    "given": "tenants funnels entrypoints templates chats messages campaigns forms webhooks",
    "tenant": "id name secretKey publicKey developersEnabled subscription"
    " funnels entrypoints templates chats messages campaigns forms webhooks",
}


def objects(schema: Any, path: str = "#") -> list[tuple[str, dict[str, Any]]]:
    """Every part of the schema that describes an object by its properties, with its place."""
    if isinstance(schema, list):
        return [found for index, part in enumerate(schema) for found in objects(part, f"{path}/{index}")]
    if not isinstance(schema, dict):
        return []
    here = [(path, schema)] if "properties" in schema and "type" in schema else []
    return here + [found for name, part in schema.items() for found in objects(part, f"{path}/{name}")]


def test_the_schema_is_a_valid_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_every_object_is_closed() -> None:
    described = objects({name: part for name, part in SCHEMA.items() if name != "examples"})

    assert len(described) > 20
    assert [] == [path for path, part in described if part.get("additionalProperties") is not False]


def test_the_schema_refers_to_itself_alone() -> None:
    references = re.findall(r'"\$ref": "([^"]*)"', json.dumps(SCHEMA))

    assert [] == [reference for reference in references if not reference.startswith("#/$defs/")]


@each_row("record", DOCUMENTED)
def test_the_fields_are_the_documented_ones(record: str) -> None:
    assert set(DOCUMENTED[record].split()) == set(SCHEMA["$defs"][record]["properties"])


def test_every_field_of_a_chat_can_vary() -> None:
    assert list(SCHEMA["$defs"]["chat"]["properties"]) == list(SCHEMA["$defs"]["chatVariation"]["properties"])


def test_every_definition_has_a_title() -> None:
    assert [] == [name for name, part in SCHEMA["$defs"].items() if "title" not in part]


@each_row("name", SCHEMA["$defs"])
def test_the_examples_in_the_schema_are_valid(name: str) -> None:
    definition = SCHEMA["$defs"][name]
    validator = Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]})

    assert [] == [example for example in definition.get("examples", []) if not validator.is_valid(example)]


def test_the_examples_of_the_whole_document_are_valid() -> None:
    assert [] == [example for example in SCHEMA["examples"] if not VALIDATOR.is_valid(example)]
