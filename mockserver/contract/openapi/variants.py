"""
Unions of object types, one for each value of a property, made of schemas that use `if` and `then`.

Generators of types ignore conditions, and turn a `oneOf` whose members have a constant property into a union.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mockserver.contract.openapi.parts import JSON, ref

_CONDITIONS = ("if", "then", "else", "allOf")


def union(schema: JSON, key: str, names: Mapping[Any, str]) -> tuple[JSON, dict[str, JSON]]:
    """
    Return the union of an object schema's variants by the value of `key`, and the variants by name.

    Args:
        schema: an object schema whose conditions, if it has any, test `key` alone.
        key: a required property with a closed set of values.
        names: the name of the variant of each value.
    """
    variants = {name: _variant(schema, key, value) for value, name in names.items()}
    whole: JSON = {name: text for name, text in schema.items() if name in ("title", "description")}
    whole["oneOf"] = [ref(name) for name in variants]
    if all(isinstance(value, str) for value in names):
        mapping = {value: ref(name)["$ref"] for value, name in names.items()}
        whole["discriminator"] = {"propertyName": key, "mapping": mapping}
    return whole, variants


def _variant(schema: JSON, key: str, value: Any) -> JSON:
    """Return the schema of the objects whose `key` has this value."""
    properties, required = dict(schema["properties"]), list(schema["required"])
    conditions = [*schema.get("allOf", ()), *([schema] if "if" in schema else ())]
    for condition in conditions:
        holds = condition["if"]["properties"][key]["const"] == value
        consequence = condition.get("then" if holds else "else", {})
        required += [name for name in consequence.get("required", ()) if name not in required]
        for name, then in consequence.get("properties", {}).items():
            properties[name] = _narrowed(properties[name], then)
    kind = "boolean" if isinstance(value, bool) else "string"
    properties[key] = {"type": kind, "const": value}
    own = {name: part for name, part in schema.items() if name not in (*_CONDITIONS, "title", "description")}
    return {"title": f"{schema.get('title', 'Object')}: {str(value).lower()}", **own} | {
        "properties": properties,
        "required": required,
    }


def _narrowed(base: JSON, then: JSON) -> JSON:
    """Return a property's schema as the consequence of a condition narrows it."""
    if then == {"type": "null"}:
        return then
    if "enum" in then or "const" in then:
        return {"type": "string", **then}
    kinds = [alternative for alternative in base.get("anyOf", ()) if alternative != {"type": "null"}]
    return kinds[0] if kinds else {**base, **then}
