"""The schema of scenario documents takes every documented shape and refuses everything else, at the place it is wrong."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

ROOT = Path(__file__).resolve().parents[2]
SCHEMA: dict[str, Any] = json.loads((ROOT / "schemas" / "scenario.json").read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)

# Transcribed from the seed data table; a message's fields are those of the record plus its chat.
DOCUMENTED = {
    "funnel": "id name steps",
    "funnelStep": "id name",
    "entrypoint": "id name platform displayName displayPhone funnelStepId isCoexistence",
    "template": "id name description isOfficial providerTemplateStatus items variables commonVariables createdAt updatedAt",
    "templateItem": "type text mediaId",
    "templateVariable": "key label required source",
    "chat": "id name platform status monetization entrypointId funnelStepId trackingLinkId isGroupChat isAnswered"
    " needsHumanAttention attentionReason tagIds assignedUserId participantsCount participants-count contact birthDate custom"
    " dm-participant.contact dm-participant.birthDate lastMessageAt lastUpdateAt",
    "message": "chatId id type status sender isOfficialTemplate templateCharged createdAt text transcription forward"
    " replyToId photoapp media location templateComponents ad",
    "campaign": "id name description platform templateId cadence filters status createdAt startedAt completedAt"
    " commonVariables executionId",
    "form": "id active iframeEmbedAllowedOrigins",
    "webhook": "url secret events",
    "given": "tenants funnels entrypoints templates chats messages campaigns forms webhooks",
    "tenant": "id name secretKey publicKey developersEnabled subscription country"
    " funnels entrypoints templates chats messages campaigns forms webhooks",
}

# fmt: off
GOOD: dict[str, Any] = {
    "nothing at all":            {},
    "a followed clock":          {"clock": {"follow": True, "catchUp": True}},
    "an instant with an offset": {"clock": {"freeze": "2026-03-01T09:00:00.250-03:00"}},
    "the largest seed":          {"seed": 2**53 - 1},
    "a number for a choice":     {"choices": {"media-max-files": 3, "dual-status": "guide"}},
    "numbers for a choice":      {"choices": {"rate-limit-numbers": {"requests": 2, "per": "60s"},
                                              "size-limit-values": {"chatapp": 250, "photoapp": None}}},
    "records of defaults":       {"given": {"tenants": [{}], "funnels": [{"steps": [{}]}], "entrypoints": [{}],
                                            "templates": [{"items": [{}]}], "chats": [{}], "forms": [{}]}},
    "two million chats":         {"given": {"chats": {"count": 2_000_000, "each": {"platform": "botapp"},
                                                      "vary": {"monetization": [0, 10, 250.5, None],
                                                               "tagIds": [[], ["tag_a"]]}}}},
    "a birth date with a time":  {"given": {"chats": [{"birthDate": "1990-05-17T03:00:00Z"},
                                                      {"birthDate": "1990-05-17"}, {"birthDate": None}]}},
    "both kinds of variable":    {"given": {"templates": [{"variables": [
        {"key": "var1", "source": "custom.plano de saúde"}, {"key": "var12", "label": "Cupom", "required": True},
        {"key": "var3"}]}]}},
    "a webhook":                 {"given": {"webhooks": [{"url": "http://127.0.0.1:9000/hook", "secret": "whsec_YQ==",
                                                          "events": ["entrypoints"]}]}},
}

BAD: dict[str, tuple[Any, str]] = {
    "a list":                       ([], "$"),
    "a misspelt key":               ({"scenrio": "x"}, "$"),
    "a script that is no list":     ({"script": {}}, "$.script"),
    "a name that is a number":      ({"scenario": 7}, "$.scenario"),
    "an empty name":                ({"scenario": ""}, "$.scenario"),
    "a clause that is a number":    ({"clauses": [1]}, "$.clauses[0]"),
    "a choice that is a list":      ({"choices": {"dual-status": ["guide"]}}, "$.choices['dual-status']"),
    "a choice that is true":        ({"choices": {"dual-status": True}}, "$.choices['dual-status']"),
    "a negative seed":              ({"seed": -1}, "$.seed"),
    "a seed past 2^53":             ({"seed": 2**53}, "$.seed"),
    "a seed with a fraction":       ({"seed": 1.5}, "$.seed"),
    "a clock that does neither":    ({"clock": {}}, "$.clock"),
    "a clock that does both":       ({"clock": {"freeze": "2026-03-01T12:00:00Z", "follow": True}}, "$.clock"),
    "a clock not followed":         ({"clock": {"follow": False}}, "$.clock.follow"),
    "a frozen clock catching up":   ({"clock": {"freeze": "2026-03-01T12:00:00Z", "catchUp": True}}, "$.clock"),
    "an instant without offset":    ({"clock": {"freeze": "2026-03-01T12:00:00"}}, "$.clock.freeze"),
    "a thirteenth month":           ({"clock": {"freeze": "2026-13-01T12:00:00Z"}}, "$.clock.freeze"),
    "an unknown kind":              ({"given": {"sessions": []}}, "$.given"),
    "tenants as an object":         ({"given": {"tenants": {}}}, "$.given.tenants"),
    "tenants in a tenant":          ({"given": {"tenants": [{"tenants": []}]}}, "$.given.tenants[0]"),
    "a public key as secret":       ({"given": {"tenants": [{"secretKey": "pk_x"}]}}, "$.given.tenants[0].secretKey"),
    "an unknown subscription":      ({"given": {"tenants": [{"subscription": "paid"}]}},
                                     "$.given.tenants[0].subscription"),
    "an empty id":                  ({"given": {"funnels": [{"id": ""}]}}, "$.given.funnels[0].id"),
    "an id of 201 characters":      ({"given": {"forms": [{"id": "f" * 201}]}}, "$.given.forms[0].id"),
    "an id that is a number":       ({"given": {"chats": [{"id": 1}]}}, "$.given.chats[0].id"),
    "a platform in capitals":       ({"given": {"entrypoints": [{"platform": "ChatApp"}]}},
                                     "$.given.entrypoints[0].platform"),
    "a field of the session":       ({"given": {"entrypoints": [{"phoneNumberId": "1"}]}}, "$.given.entrypoints[0]"),
    "an unknown approval":          ({"given": {"templates": [{"providerTemplateStatus": "APROVED"}]}},
                                     "$.given.templates[0].providerTemplateStatus"),
    "a sticker in a template":      ({"given": {"templates": [{"items": [{"type": "sticker"}]}]}},
                                     "$.given.templates[0].items[0].type"),
    "var0":                         ({"given": {"templates": [{"variables": [{"key": "var0"}]}]}},
                                     "$.given.templates[0].variables[0].key"),
    "a variable without a key":     ({"given": {"templates": [{"variables": [{"label": "Cupom"}]}]}},
                                     "$.given.templates[0].variables[0]"),
    "an unknown source":            ({"given": {"templates": [{"variables": [{"key": "var1", "source": "chat.age"}]}]}},
                                     "$.given.templates[0].variables[0].source"),
    "a manual automatic variable":  ({"given": {"templates": [{"variables": [
        {"key": "var1", "source": "chat.name", "required": True}]}]}}, "$.given.templates[0].variables[0]"),
    "chats as a number":            ({"given": {"chats": 50}}, "$.given.chats"),
    "a pattern without a count":    ({"given": {"chats": {"each": {}}}}, "$.given.chats"),
    "a count too many":             ({"given": {"chats": {"count": 2_000_001}}}, "$.given.chats.count"),
    "nothing to vary by":           ({"given": {"chats": {"count": 1, "vary": {"status": []}}}},
                                     "$.given.chats.vary.status"),
    "an unknown field to vary":     ({"given": {"chats": {"count": 1, "vary": {"state": ["open"]}}}},
                                     "$.given.chats.vary"),
    "a wrong value to vary by":     ({"given": {"chats": {"count": 1, "vary": {"isAnswered": [True, "no"]}}}},
                                     "$.given.chats.vary.isAnswered[1]"),
    "a filter's own field name":    ({"given": {"chats": [{"chat.virtual.lastMessageAt": None}]}}, "$.given.chats[0]"),
    "tags in one text":             ({"given": {"chats": [{"tagIds": "tag_a,tag_b"}]}}, "$.given.chats[0].tagIds"),
    "a birth date the other way":   ({"given": {"chats": [{"birthDate": "17/05/1990"}]}},
                                     "$.given.chats[0].birthDate"),
    "a custom field with a number": ({"given": {"chats": [{"custom": {"idade": 36}}]}},
                                     "$.given.chats[0].custom.idade"),
    "a message of no chat":         ({"given": {"messages": [{"text": "Oi"}]}}, "$.given.messages[0]"),
    "an unknown message type":      ({"given": {"messages": [{"chatId": "chat_a", "type": "photo"}]}},
                                     "$.given.messages[0].type"),
    "an unknown message status":    ({"given": {"messages": [{"chatId": "chat_a", "status": "seen"}]}},
                                     "$.given.messages[0].status"),
    "an unknown sender field":      ({"given": {"messages": [{"chatId": "chat_a", "sender": {"phone": "1"}}]}},
                                     "$.given.messages[0].sender"),
    "a latitude beyond the pole":   ({"given": {"messages": [{"chatId": "chat_a", "location": {"latitude": 91}}]}},
                                     "$.given.messages[0].location.latitude"),
    "an origin without TLS":        ({"given": {"forms": [{"iframeEmbedAllowedOrigins": ["http://a.example"]}]}},
                                     "$.given.forms[0].iframeEmbedAllowedOrigins[0]"),
    "a webhook to nowhere":         ({"given": {"webhooks": [{"secret": "whsec_YQ=="}]}}, "$.given.webhooks[0]"),
    "an unknown event group":       ({"given": {"webhooks": [{"url": "http://127.0.0.1:1/", "events": ["campaigns"]}]}},
                                     "$.given.webhooks[0].events[0]"),
}
# fmt: on


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


@pytest.mark.parametrize("record", DOCUMENTED)
def test_the_fields_are_the_documented_ones(record: str) -> None:
    assert set(DOCUMENTED[record].split()) == set(SCHEMA["$defs"][record]["properties"])


def test_every_field_of_a_chat_can_vary() -> None:
    assert list(SCHEMA["$defs"]["chat"]["properties"]) == list(SCHEMA["$defs"]["chatVariation"]["properties"])


def test_every_definition_has_a_title() -> None:
    assert [] == [name for name, part in SCHEMA["$defs"].items() if "title" not in part]


@pytest.mark.parametrize("name", SCHEMA["$defs"])
def test_the_examples_in_the_schema_are_valid(name: str) -> None:
    definition = SCHEMA["$defs"][name]
    validator = Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]})

    assert [] == [example for example in definition.get("examples", []) if not validator.is_valid(example)]


def test_the_examples_of_the_whole_document_are_valid() -> None:
    assert [] == [example for example in SCHEMA["examples"] if not VALIDATOR.is_valid(example)]


@pytest.mark.parametrize("name", GOOD)
def test_a_documented_shape_is_taken(name: str) -> None:
    assert [] == [error.message for error in VALIDATOR.iter_errors(GOOD[name])]


@pytest.mark.parametrize("name", BAD)
def test_a_broken_document_is_refused_where_it_is_broken(name: str) -> None:
    document, path = BAD[name]

    assert path in [error.json_path for error in VALIDATOR.iter_errors(document)]
