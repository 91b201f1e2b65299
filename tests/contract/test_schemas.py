"""
The schema files agree with the API document: no field less, none more.

`documented_fields.py` is the document's side, transcribed manually; `documented_examples.json` has values of each
schema, `documented_forms.json` spellings of each form of text.
"""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema

from mockserver._data import data_dir
from mockserver.contract import limits, schemas
from tests.contract.documented_fields import TABLE, Field

DRAFT = "https://json-schema.org/draft/2020-12/schema"
FILES = sorted(data_dir("schemas").glob("*.json"))
HERE = Path(__file__).parent
EXAMPLES: dict[str, list[Any]] = json.loads((HERE / "documented_examples.json").read_text("utf-8"))
FORMS: dict[str, dict[str, list[str]]] = json.loads((HERE / "documented_forms.json").read_text("utf-8"))

Path_ = tuple[str | int, ...]


SILENT = {"$schema", "$comment", "title", "description", "type", "format", "properties", "required", "items", "enum", "pattern",
          "anyOf", "allOf", "if", "then", "else", "additionalProperties", "uniqueItems", "dependentRequired",
          "minimum", "maximum", "minLength", "maxLength", "minItems"}  # fmt: skip


def written(schema: dict[str, Any], place: str = "", presence: str = "whole") -> Iterator[tuple[str, Field]]:
    """The fields of a schema file, in the form of the document's table."""
    kinds: set[str] = set()
    facts: dict[str, Any] = {}
    for part in schema.get("anyOf", [schema]):
        kind = part.get("type", "any")
        kinds |= {kind} if isinstance(kind, str) else set(kind)
        facts |= facts_of(part)
        for key, inner in part.get("properties", {}).items():
            needed = "required" if key in part.get("required", ()) else "optional"
            yield from written(inner, f"{place}/{key}".lstrip("/"), needed)
        for keyword in ("items", "additionalProperties"):
            if isinstance(part.get(keyword), dict):
                yield from written(part[keyword], f"{place}/*".lstrip("/"), "each")
    yield place, Field(presence, frozenset(kinds), **facts)


def facts_of(part: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a field that a part of a schema sets."""
    facts: dict[str, Any] = {}
    if unknown := part.keys() - SILENT:
        facts["unknown"] = frozenset(unknown)
    if "object" in part.get("type", ()):
        others = part.get("additionalProperties")
        facts["keys"] = "map" if isinstance(others, dict) else "closed" if others is False else "open"
    if "enum" in part:
        facts["enum"] = frozenset(part["enum"])
    for fact, low, high in (
        ("range", "minimum", "maximum"),
        ("length", "minLength", "maxLength"),
        ("items", "minItems", ""),
    ):
        if low in part or high in part:
            facts[fact] = (part.get(low), part.get(high))
    if part.get("uniqueItems"):
        facts["is_unique"] = True
    if "pattern" in part:
        facts["form"] = form_of(part["pattern"])
    if "dependentRequired" in part:
        facts["needs"] = tuple((key, other) for key, others in part["dependentRequired"].items() for other in others)
    return facts


def form_of(pattern: str) -> str:
    for name, form in FORMS.items():
        if all(re.search(pattern, text) for text in form["good"]) and not any(
            re.search(pattern, text) for text in form["bad"]
        ):
            return name
    return pattern


def spots(value: Any, place: str) -> list[tuple[Path_, Any]]:
    """Where in a value a place of the table is, and what is there."""
    found: list[tuple[Path_, Any]] = [((), value)]
    for step in place.split("/") if place else ():
        found = [((*path, key), at[key]) for path, at in found for key in keys_of(at) if step in ("*", key)]
    return found


def keys_of(value: Any) -> list[str] | range:
    return list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []


def changed(value: Any, path: Path_, new: Any) -> Any:
    """A copy of `value` with something else at `path`."""
    whole = [deepcopy(value)]
    *way, last = (0, *path)
    holder: Any = whole
    for key in way:
        holder = holder[key]
    holder[last] = new
    return whole[0]


def test_every_schema_file_is_a_titled_schema_of_the_declared_draft() -> None:
    files = {path.stem: json.loads(path.read_text("utf-8")) for path in FILES}
    meta = jsonschema.Draft202012Validator(jsonschema.Draft202012Validator.META_SCHEMA)

    assert {} == {name: wrong.message for name, schema in files.items() for wrong in meta.iter_errors(schema)}
    assert [] == [name for name, schema in files.items() if schema["$schema"] != DRAFT]
    assert [] == [name for name, schema in files.items() if not schema["title"] or not schema["description"]]
    assert [] == [name for name, schema in files.items() if "$id" in schema]


def test_a_shared_schema_is_referred_to_alone_and_whole_and_is_used() -> None:
    texts = {path.stem: path.read_text("utf-8") for path in FILES if path.stem != "scenario"}
    used = set(re.findall(r'\{"\$ref": "(\w+)\.json"\}', "".join(texts.values())))

    assert used == {name for name in texts if "." not in name} - {"error"}
    assert "$ref" not in json.dumps([schemas.load(name) for name in texts])


def test_the_table_covers_every_schema_file_of_the_api() -> None:
    assert sorted(TABLE) == sorted(
        {name for name in schemas.names() if name != "scenario" and not name.startswith("control.")}
    )
    assert sorted(EXAMPLES) == sorted(TABLE)


FIELDS = [(name, place, field) for name, section in TABLE.items() for place, field in section.items()]


def test_a_schema_has_exactly_the_documented_fields() -> None:
    assert {name: dict(written(schemas.load(name))) for name in TABLE} == TABLE


def test_a_schema_accepts_its_documented_examples() -> None:
    examples = [(name, example) for name in TABLE for example in EXAMPLES[name]]

    assert [] == [(name, refusal) for name, example in examples if (refusal := schemas.check(name, example))]
    assert [] == [
        (name, place) for name, place, _ in FIELDS if not any(spots(example, place) for example in EXAMPLES[name])
    ]


def test_a_whole_decimal_is_no_integer_at_any_documented_place() -> None:
    whole = [
        (name, path, changed(example, path, Decimal(410)))
        for name, place, field in FIELDS
        if "integer" in field.kinds
        for example in EXAMPLES[name]
        for path, _ in spots(example, place)
    ]

    assert [] == [(name, path) for name, path, value in whole if schemas.is_valid(name, value)]
    assert {"createCampaign.request", "readCampaign.response", "readTemplate.response"} <= {name for name, *_ in whole}


def test_the_bounds_of_the_schemas_are_those_of_the_limits() -> None:
    in_schemas = {
        "cadence": schemas.load("cadence")["maximum"],
        "name": schemas.load("campaignName")["maxLength"],
        "description": schemas.load("campaignDescription")["maxLength"],
        "returnUrl": schemas.load("createConnectionSession.request")["properties"]["returnUrl"]["maxLength"],
    }

    assert in_schemas == {
        "cadence": limits.CADENCE_MAX_PER_MINUTE,
        "name": limits.CAMPAIGN_NAME_MAX_CHARS,
        "description": limits.CAMPAIGN_DESCRIPTION_MAX_CHARS,
        "returnUrl": limits.RETURN_URL_MAX_CHARS,
    }
