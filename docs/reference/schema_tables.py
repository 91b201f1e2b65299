"""JSON schemas as Markdown tables: the members of an object, one row each, and the sections of scenario documents."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from docs.reference.markdown import code, rows, sentence

Schema = Mapping[str, Any]

_SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"


def load_schema(name: str) -> dict[str, Any]:
    """Return the schema `schemas/NAME.json`."""
    schema: dict[str, Any] = json.loads((_SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    return schema


def resolved(schema: Schema, root: Schema) -> Schema:
    """Return the schema with what its `$ref` holds; its own keywords win."""
    reference = schema.get("$ref")
    if reference is None:
        return schema
    place, _, pointer = reference.partition("#")
    source: Any = load_schema(place.removesuffix(".json")) if place else root
    target = source
    for part in pointer.strip("/").split("/") if pointer else ():
        target = target[part]
    return {**resolved(target, source), **schema}


def value_type(schema: Schema, root: Schema) -> str:
    """Return the kind of value that a schema takes, in a few words: its constant, its options, or its types."""
    full = resolved(schema, root)
    if "const" in full:
        return _value(full["const"])
    if "enum" in full:
        options = [_value(option) for option in full["enum"]]
        return " or ".join(options) if len(options) <= 8 else "one of the codes"
    alternatives = full.get("anyOf") or full.get("oneOf") or ()
    kinds = [value_type(part, root) for part in alternatives if {"type", "const", "enum", "$ref"} & part.keys()]
    if not kinds and "type" in full:
        types = full["type"] if isinstance(full["type"], list) else [full["type"]]
        kinds = [_list_of(full, root) if kind == "array" else kind for kind in types]
    return " or ".join(dict.fromkeys(kinds)) or "any value"


def _value(value: object) -> str:
    """Return a JSON value as code; a text without its quotes."""
    return code(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _list_of(schema: Schema, root: Schema) -> str:
    """Return the words for an array, with a link to the section of its items where there is one."""
    items = schema.get("items", {})
    record = resolved(items, root)
    if "$ref" in items and "properties" in record:
        return f"list of [{record['title'].lower()}](scenario-documents.md#{_slug(record['title'])})"
    return f"list of {value_type(items, root)}" if items else "list"


def _slug(heading: str) -> str:
    """Return the anchor of a heading, as GitHub forms it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def fields(schema: Schema, root: Schema) -> Iterator[str]:
    """Yield the table of an object's members."""
    required = schema.get("required", ())
    body = []
    for name, member in schema.get("properties", {}).items():
        full = resolved(member, root)
        default = "required" if name in required else _value(full["default"]) if "default" in full else ""
        body.append((code(name), value_type(member, root), default, meaning(full)))
    yield from rows(("member", "value", "default", "meaning"), body)


def meaning(schema: Schema) -> str:
    """Return a schema's description, or its title where it has none, as sentences."""
    return sentence(schema.get("description") or schema.get("title", ""))


def _sections(names: Iterable[str]) -> Iterator[str]:
    """Yield one section for each of these definitions of scenario documents: its description, members and an example."""
    root = load_schema("scenario")
    for name in names:
        yield f"### {root['$defs'][name]['title']}\n"
        yield from _definition(root["$defs"][name], root)


def _definition(definition: Schema, root: Schema) -> Iterator[str]:
    if "description" in definition:
        yield definition["description"]
    yield from fields(definition, root)
    for example in definition.get("examples", ())[:1]:
        yield from ("```json", json.dumps(example, ensure_ascii=False), "```", "")


def _objects(names: Iterable[str], root: Schema) -> list[str]:
    return [name for name in names if root["$defs"][name].get("properties")]


def scenario_documents() -> Iterator[str]:
    """Yield the top-level members of a scenario document."""
    root = load_schema("scenario")
    yield from fields(root, root)


def seed_data() -> Iterator[str]:
    """Yield a section for each kind of seed data."""
    root = load_schema("scenario")
    other = ("given", "call", "choiceValue", "clock", "effects", "rule", "chatVariation")
    yield from _definition(root["$defs"]["given"], root)
    yield from _sections(_objects((name for name in root["$defs"] if name not in other), root))


def script() -> Iterator[str]:
    """Yield the sections of a rule, its durations, and the recorded calls of a replay document."""
    yield from _sections(("clock", "rule", "call"))
