"""
OpenAPI 3.1 documents as OpenAPI 3.0.3, for generators that lack 3.1.

1. What 3.0 has no word for is left out, and so is what generators make no working code of.
   But for another name of a property, a schema accepts more then, never less.
2. A union of objects that a constant distinguishes is one object, in which that property has an enumeration: some generators
   make one class of the union, with the constants of its last variant alone, which then cannot read the other ones.
3. A reference that may be null is `nullable` beside `allOf`. The specification leaves open what that means; generators take
   it for what it says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from mockserver._json import JSON, changed
from mockserver.contract.openapi.parts import referenced

VERSIONS: Final = ("3.1", "3.0")
_OPENAPI: Final = "3.0.3"

# Keywords of a schema that 3.0 does not have, and two more: of `uniqueItems` generators make sets, which have no order and
# which Java's fails at; by `title` they name types, two of which are then one.
_LEFT_OUT: Final = frozenset(
    {
        "if", "then", "else", "contains", "minContains", "maxContains", "dependentRequired", "dependentSchemas",
        "patternProperties", "prefixItems", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "uniqueItems", "title",
    }
)  # fmt: skip

_KINDS: Final[Mapping[type, str]] = MappingProxyType({bool: "boolean", int: "integer", float: "number", str: "string"})

# 3.0 has no type for null alone, and generators fail at an enumeration of it.
_ALWAYS_NULL: Final[JSON] = {"type": "string", "nullable": True, "maxLength": 0}


def as_3_0(document: JSON) -> JSON:
    """Return a document of 3.1 as one of 3.0.3; its examples are the same."""
    document = _with_one_object_for_a_union(document)
    older = {"x-webhooks" if name == "webhooks" else name: _part(part) for name, part in document.items()}
    license_ = _less(document["info"].get("license", {}), "identifier")
    older["info"] = {**document["info"], **({"license": license_} if license_ else {})}
    return {**older, "openapi": _OPENAPI}


def _with_one_object_for_a_union(document: JSON) -> JSON:
    """Return a document without its unions of objects that a constant distinguishes, and without the variants that nothing else needs."""
    schemas = document["components"]["schemas"]
    variants: set[str] = set()

    def merged(part: JSON) -> JSON:
        alternatives = part.get("oneOf", ())
        names = [name for each in alternatives if each.keys() == {"$ref"} for name in referenced(each)]
        objects = [schemas[name] for name in names if schemas.get(name, {}).get("type") == "object"]
        if len(objects) < 2 or len(objects) < len(alternatives) or not _constants(objects):
            return part
        variants.update(names)
        return {**_less(part, "oneOf", "discriminator"), **_one_object(objects)}

    whole: JSON = changed(document, merged)
    components = whole["components"]
    rest = {name: schema for name, schema in components["schemas"].items() if name not in variants}
    needed = {name: schema for name, schema in components["schemas"].items() if name in variants & _needed(whole, rest)}
    return {**whole, "components": {**components, "schemas": dict(sorted({**rest, **needed}.items()))}}


def _needed(whole: JSON, rest: JSON) -> set[str]:
    """Return the names of the schemas that a document refers to, but for references between its variants."""
    return referenced({**whole, "components": {**whole["components"], "schemas": rest}})


def _constants(objects: Sequence[JSON]) -> list[str]:
    """Return the properties of which each object requires another constant."""
    first = objects[0]["properties"]
    return [
        name
        for name in first
        if len({str(each["properties"].get(name, {}).get("const")) for each in objects} - {"None"}) == len(objects)
        and all(name in each["required"] for each in objects)
    ]


def _one_object(objects: Sequence[JSON]) -> JSON:
    """Return an object schema that accepts what any of these accepts."""
    names = dict.fromkeys(name for each in objects for name in each["properties"])
    properties = {
        name: _one_property([each["properties"][name] for each in objects if name in each["properties"]])
        for name in names
    }
    required = [name for name in names if all(name in each["required"] for each in objects)]
    return {**objects[0], "properties": properties, "required": required}


def _one_property(schemas: Sequence[JSON]) -> JSON:
    """Return a schema that accepts what any of these accepts: null, constants, enumerations, and at most one other schema."""
    forms = [schema for schema in schemas if schema != {"type": "null"}]
    if not forms:
        return schemas[0]
    values: list[Any] = []
    for form in forms:
        values += form.get("enum", [form["const"]] if "const" in form else [])
    one = _less(forms[0], "const", "enum")
    if values and not isinstance(values[0], bool):
        one["enum"] = [*dict.fromkeys(values)]
    return one if len(forms) == len(schemas) else {"anyOf": [one, {"type": "null"}]}


def _part(part: Any) -> Any:
    """Return a part of a document in which each schema is one of 3.0."""
    if isinstance(part, list):
        return [_part(element) for element in part]
    if not isinstance(part, dict):
        return part
    return {name: below if name in ("example", "examples") else _member(name, below) for name, below in part.items()}


def _member(name: str, below: Any) -> Any:
    if name == "schemas":
        return {each: _schema(schema) for each, schema in below.items()}
    return _schema(below) if name == "schema" else _part(below)


def _schema(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    own = _less(schema, *_LEFT_OUT)
    for name in own.keys() & {"items", "additionalProperties", "not"}:
        own[name] = _schema(own[name])
    for name in own.keys() & {"allOf", "anyOf", "oneOf"}:
        own[name] = [_schema(alternative) for alternative in own[name]]
    if "properties" in own:
        own["properties"] = {name: _schema(below) for name, below in own["properties"].items()}
    for rule in _RULES:
        own = rule(own)
    return own


def _without_conditions(schema: JSON) -> JSON:
    """Leave out alternatives that only list what they require: generators make types of them."""
    return {
        name: value
        for name, value in schema.items()
        if name not in ("anyOf", "oneOf") or any(alternative.keys() - {"required"} for alternative in value)
    }


def _with_enumeration(schema: JSON) -> JSON:
    """Replace a constant by an enumeration of one, and name the type of an enumeration, which generators ask for."""
    if "const" in schema:
        schema = {**_less(schema, "const"), "enum": [schema["const"]]}
    kinds = {_KINDS.get(type(value)) for value in schema.get("enum", ())}
    return {"type": kinds.pop(), **schema} if len(kinds) == 1 and None not in kinds else schema


def _with_one_example(schema: JSON) -> JSON:
    return {**_less(schema, "examples"), "example": schema["examples"][0]} if schema.get("examples") else schema


def _with_exclusive_flags(schema: JSON) -> JSON:
    """Replace an exclusive bound by an inclusive one and the flag that excludes it."""
    for flag, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if flag in schema:
            schema = {**schema, bound: schema[flag], flag: True}
    return schema


def _with_nullable(schema: JSON) -> JSON:
    """
    Replace the type null, alone or among others, by `nullable`.

    A text that may be null has no format: of an optional date Go's generator makes code that does not compile.
    """
    kinds = schema.get("type")
    if kinds == "null":
        return {**schema, **_ALWAYS_NULL}
    if isinstance(kinds, list) and "null" in kinds:
        return {**_less(schema, "format"), "type": [kind for kind in kinds if kind != "null"], "nullable": True}
    for name in ("anyOf", "oneOf"):
        others = [
            alternative for alternative in schema.get(name, ()) if not _ALWAYS_NULL.items() <= alternative.items()
        ]
        if len(others) == len(schema.get(name, ())):
            continue
        rest = {**_less(schema, name), "nullable": True}
        if len(others) > 1:
            return {**rest, name: others}
        return {**rest, "allOf": others} if "$ref" in others[0] else {**others[0], **rest}
    return schema


def _with_one_type(schema: JSON) -> JSON:
    """Let what has several types be anything: generators fail at alternatives that are a list or a map."""
    kinds = schema.get("type")
    if isinstance(kinds, list) and len(kinds) == 1:
        return {**schema, "type": kinds[0]}
    if not isinstance(kinds, list) and all(other.get("type") != "array" for other in schema.get("oneOf", ())):
        return schema
    return {name: value for name, value in schema.items() if name in ("description", "example", "nullable")}


def _without_bounds_of_files(schema: JSON) -> JSON:
    """Leave out how many files an array has: Go's generator makes code of it that does not compile."""
    if schema.get("items", {}).get("format") != "binary":
        return schema
    return _less(schema, "minItems", "maxItems")


def _with_reference_alone(schema: JSON) -> JSON:
    """Leave out what is beside a reference: 3.0 ignores it, and Go's generator loses what may be null in an `allOf`."""
    return {"$ref": schema["$ref"]} if "$ref" in schema else schema


def _without_aliases(schema: JSON) -> JSON:
    """Leave out a property whose name differs from another's in case and punctuation alone: both are one name in Go."""
    names = {re.sub("[^a-z0-9]", "", name.lower()): name for name in reversed(schema.get("properties", {}))}
    if len(names) == len(schema.get("properties", {})):
        return schema
    return {**schema, "properties": {name: schema["properties"][name] for name in reversed(names.values())}}


def _less(schema: JSON, *names: str) -> JSON:
    return {name: value for name, value in schema.items() if name not in names}


# In this order: each finds what those before it have left.
_RULES: Final[tuple[Callable[[JSON], JSON], ...]] = (
    _without_conditions,
    _with_enumeration,
    _with_one_example,
    _with_exclusive_flags,
    _with_nullable,
    _with_one_type,
    _without_bounds_of_files,
    _with_reference_alone,
    _without_aliases,
)
