"""JSON schemas and descriptions as HTML: links, code and words; all text of the document is escaped."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from markupsafe import Markup, escape

Schema = Mapping[str, Any]

_LIMITS: Final = (
    "pattern", "minLength", "maxLength", "minimum", "exclusiveMinimum", "maximum", "minItems", "maxItems", "uniqueItems",
    "minProperties",
)  # fmt: skip
_PARAGRAPHS: Final = re.compile(r"\n\s*\n")
_CODE: Final = re.compile(r"`([^`]+)`")


def prose(text: str) -> Markup:
    """Return a description as paragraphs, with what is between backticks as code."""
    paragraphs = (part for part in _PARAGRAPHS.split(text.strip()) if part)
    return Markup("").join(Markup("<p>{}</p>").format(_inline(part)) for part in paragraphs)


def _inline(text: str) -> Markup:
    parts = _CODE.split(text)  # text and code by turns
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if i % 2 else escape(part) for i, part in enumerate(parts)
    )


def json_text(value: object) -> str:
    """Return a JSON value as indented text."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def kind(schema: Schema) -> Markup:
    """Return what a schema allows in a few words, with a link to each named schema."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return Markup('<a href="#schema-{0}">{0}</a>').format(name)
    if "const" in schema:
        return _code(schema["const"])
    if "enum" in schema:
        return Markup(", ").join(map(_code, schema["enum"]))
    for key, word in (("oneOf", " or "), ("anyOf", " or "), ("allOf", " and ")):
        if key in schema:
            return Markup(word).join(dict.fromkeys(map(kind, schema[key])))
    types = schema.get("type", "any value")
    words = escape(types if isinstance(types, str) else " or ".join(types))
    if "items" in schema:
        words += Markup(" of {}").format(kind(schema["items"]))
    if isinstance(schema.get("additionalProperties"), Mapping):
        words += Markup(" with values {}").format(kind(schema["additionalProperties"]))
    return words + Markup(" ({})").format(schema["format"]) if "format" in schema else words


def _code(value: object) -> Markup:
    return Markup("<code>{}</code>").format(json.dumps(value, ensure_ascii=False))


def values_of(schema: Schema, schemas: Mapping[str, Schema]) -> list[Any]:
    """Return the values of an enumeration, which may be one of the named `schemas`; empty if the schema is none."""
    named = schemas.get(str(schema.get("$ref", "")).rpartition("/")[2], schema)
    return list(named.get("enum", ()))


def limits(schema: Schema) -> str:
    """Return the constraints of a schema, under the names of JSON Schema."""
    return ", ".join(f"{name} {json.dumps(schema[name], ensure_ascii=False)}" for name in _LIMITS if name in schema)


def samples(schema: Schema) -> Markup:
    """Return the examples of a schema as code."""
    return Markup(", ").join(map(_code, schema.get("examples", ())))


def alternatives(schema: Schema) -> list[Schema]:
    """Return the parts of a schema that have properties and no name of their own."""
    inside = [below for key in ("oneOf", "anyOf", "allOf") for below in schema.get(key, ())]
    inside += [schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), Mapping)]
    return [below for below in inside if has_parts(below)]


def has_parts(schema: Schema) -> bool:
    """Return True if the schema, or an unnamed one in it, has properties."""
    return "$ref" not in schema and bool(schema.get("properties") or alternatives(schema))
