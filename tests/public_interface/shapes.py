"""Shapes of JSON as facts, one per line: the members, types and options of a schema, or of a value."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

ABSENT = "may be left out"  # a member of what a user sends
REQUIRED = "is required"  # the opposite: new ones break what was sent so far
PRESENT = "is always there"  # a member of what a user receives


def schema_facts(
    place: str, schema: Mapping[str, Any], *, is_sent: bool = False, is_received: bool = False
) -> Iterator[str]:
    """
    Yield the facts of a JSON schema; a `$ref` is one fact, with the name of what it refers to.

    Args:
        place: what the schema describes, which begins each fact.
        schema: the schema.
        is_sent: a user sends such values: a new required member breaks.
        is_received: a user receives such values: a member that may be absent breaks.
    """
    if "$ref" in schema:
        yield f"{place}: {schema['$ref'].rpartition('/')[2].removesuffix('.json')}"
    kinds = schema.get("type", ())
    yield from (f"{place}: {kind}" for kind in ([kinds] if isinstance(kinds, str) else kinds))
    for option in [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else [])]:
        yield f"{place} = {json.dumps(option, ensure_ascii=False)}"
    for name, member in schema.get("properties", {}).items():
        inner = f"{place}.{name}"
        yield from schema_facts(inner, member, is_sent=is_sent, is_received=is_received)
        is_required = name in schema.get("required", ())
        if is_sent:
            yield f"{inner} {REQUIRED if is_required else ABSENT}"
        if is_received and is_required:
            yield f"{inner} {PRESENT}"
    for keyword, suffix in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(schema.get(keyword), Mapping):
            yield from schema_facts(place + suffix, schema[keyword], is_sent=is_sent, is_received=is_received)
    for part in schema.get("allOf", ()):
        yield from schema_facts(place, part, is_sent=is_sent, is_received=is_received)
    for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from schema_facts(place, part)  # what one alternative requires, another may not have


def value_facts(place: str, value: Any, tables: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield the members and types of an example; a member of `tables` has keys that are data."""
    if isinstance(value, Mapping):
        yield f"{place}: object"
        for name, member in value.items():
            inner = f"{place}.{name}"
            yield from [f"{inner}: object"] if name in tables else value_facts(inner, member, tables)
    elif isinstance(value, list | tuple):
        yield f"{place}: array"
        for member in value:
            yield from value_facts(f"{place}[]", member, tables)
    else:
        kinds = {bool: ": boolean", int: ": integer", float: ": number", str: ": string", type(None): ""}
        yield f"{place}{kinds[type(value)]}"
