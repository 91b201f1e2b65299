"""The documents as OpenAPI 3.0, for generators that lack 3.1."""

from __future__ import annotations

import json
from functools import cache

import pytest
from openapi_schema_validator import OAS30Validator
from openapi_spec_validator import OpenAPIV30SpecValidator

from mockserver.cli import main
from mockserver.contract.choices.profiles import PROFILES
from mockserver.contract.openapi.older import as_3_0
from tests.documents.reading import JSON, contents, control, of_profile, operations

# fmt: off
ROWS: tuple[tuple[str, JSON, JSON], ...] = (
    ("a type or null", {"type": ["integer", "null"], "minimum": 1}, {"type": "integer", "minimum": 1, "nullable": True}),
    ("a text or null", {"type": ["string", "null"], "format": "date-time"}, {"type": "string", "nullable": True}),
    ("several types", {"type": ["string", "array", "null"], "minLength": 1, "items": {}}, {"nullable": True}),
    ("always null", {"type": "null"}, {"type": "string", "nullable": True, "maxLength": 0}),
    ("a reference or null", {"anyOf": [{"$ref": "#/a"}, {"type": "null"}]}, {"nullable": True, "allOf": [{"$ref": "#/a"}]}),
    ("a schema or null", {"oneOf": [{"type": "object"}, {"type": "null"}]}, {"type": "object", "nullable": True}),
    ("some schemas or null", {"oneOf": [{"$ref": "#/a"}, {"$ref": "#/b"}, {"type": "null"}]}, {"nullable": True, "oneOf": [{"$ref": "#/a"}, {"$ref": "#/b"}]}),
    ("a constant", {"const": True}, {"type": "boolean", "enum": [True]}),
    ("an enumeration without a type", {"enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
    ("an enumeration of two types", {"enum": ["a", 1]}, {"enum": ["a", 1]}),
    ("examples", {"type": "string", "examples": ["a", "b"]}, {"type": "string", "example": "a"}),
    ("an exclusive bound", {"type": "number", "exclusiveMinimum": 0}, {"type": "number", "minimum": 0, "exclusiveMinimum": True}),
    ("one or a list", {"description": "A.", "oneOf": [{"$ref": "#/a"}, {"type": "array", "items": {"$ref": "#/a"}}]}, {"description": "A."}),
    ("beside a reference", {"$ref": "#/a", "description": "A."}, {"$ref": "#/a"}),
    ("conditions", {"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "dependentRequired": {"a": ["b"]}}, {}),
    ("an array of files", {"type": "array", "items": {"type": "string", "format": "binary"}, "maxItems": 2}, {"type": "array", "items": {"type": "string", "format": "binary"}}),
    ("another name of a property", {"properties": {"aB": {}, "a-b": {}, "c": {}}}, {"properties": {"aB": {}, "c": {}}}),
    ("a title, and unique items", {"title": "A", "uniqueItems": True}, {}),
    ("inside", {"items": {"properties": {"title": {"const": 1}}}}, {"items": {"properties": {"title": {"type": "integer", "enum": [1]}}}}),
)
# fmt: on


@cache
def both() -> tuple[tuple[JSON, JSON], ...]:
    """Each document as OpenAPI 3.1 and 3.0; tests do not change them."""
    return tuple((newer, as_3_0(newer)) for newer in (of_profile("literal"), control()))


def of_schema(schema: JSON) -> JSON:
    document = {"openapi": "3.1.0", "info": {}, "paths": {}, "components": {"schemas": {"A": schema}}}
    older: JSON = as_3_0(document)["components"]["schemas"]["A"]
    return older


def test_each_schema_of_3_1_has_one_of_3_0() -> None:
    assert {} == {name: of_schema(newer) for name, newer, older in ROWS if older != of_schema(newer)}


def test_a_union_of_objects_that_a_constant_tells_apart_is_one_object() -> None:
    text, number = {"type": "string"}, {"type": "integer"}
    opened = {"type": "object", "properties": {"id": text, "state": {**text, "const": "open"}, "at": {"type": "null"}}}
    closed = {
        "type": "object",
        "properties": {"id": text, "state": {**text, "const": "closed"}, "at": number, "by": text},
    }
    variants = {
        "Open": {**opened, "required": ["id", "state"]},
        "Closed": {**closed, "required": ["id", "state", "at"]},
    }
    union = {
        "oneOf": [{"$ref": f"#/components/schemas/{name}"} for name in variants],
        "discriminator": {"propertyName": "state"},
    }
    document = {"openapi": "3.1.0", "info": {}, "paths": {}, "components": {"schemas": {**variants, "Door": union}}}
    state = {"type": "string", "enum": ["open", "closed"]}
    properties = {"id": text, "state": state, "at": {**number, "nullable": True}, "by": text}

    door = {"type": "object", "properties": properties, "required": ["id", "state"]}
    assert {"Door": door} == as_3_0(document)["components"]["schemas"]
    used = {"schema": {"$ref": "#/components/schemas/Open"}}
    assert ["Door", "Open"] == [*as_3_0({**document, "paths": {"/open": used}})["components"]["schemas"]]


@pytest.mark.deep
def test_both_documents_are_valid() -> None:
    documents = {"control": control(), **{profile: of_profile(profile) for profile in PROFILES}}
    errors = {name: list(OpenAPIV30SpecValidator(as_3_0(whole)).iter_errors()) for name, whole in documents.items()}

    assert {name: [] for name in documents} == errors


def test_operations_and_examples_are_those_of_3_1() -> None:
    for newer, older in both():
        assert operations(newer).keys() == operations(older).keys()
        assert [body.get("examples") for _, body in contents({**newer, "webhooks": {}})] == [
            body.get("examples") for _, body in contents(older)
        ]


def test_every_example_fits_its_schema() -> None:
    """But for null beside `allOf`, whose meaning 3.0 leaves open."""
    for _, older in both():
        unfit = [
            f"{place} {name}: {error.message[:200]}"
            for place, body in contents(older)
            for name, example in body.get("examples", {}).items()
            for error in OAS30Validator({**body["schema"], "components": older["components"]}).iter_errors(
                example["value"]
            )
            if error.instance is not None
        ]

        assert [] == unfit


def test_the_webhooks_are_an_extension_with_their_own_tag() -> None:
    older = both()[0][1]

    assert "webhooks" not in older
    assert {"Webhooks"} == {tag for item in older["x-webhooks"].values() for tag in item["post"]["tags"]}
    assert set() == {"Webhooks"} & {tag for row in operations(older).values() for tag in row.raw["tags"]}


def test_values_that_two_enumerations_share_have_names_of_their_own() -> None:
    for whole in (of_profile("literal"), control()):
        names = [
            name
            for schema in whole["components"]["schemas"].values()
            for name in schema.get("x-enum-varnames", schema.get("enum", ()))
        ]

        assert sorted(set(names)) == sorted(names)


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["openapi", "--openapi", "3.0"])
    assert both()[0][1] == json.loads(capsys.readouterr().out)
