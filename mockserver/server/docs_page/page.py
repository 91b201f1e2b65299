"""
An OpenAPI document as one HTML page, and its script; its style is that of every page.

Every address on the page is relative to it, so that it is valid below the prefix of a sandbox, and where the server is
mounted in another program.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from jinja2 import Environment
from markupsafe import Markup, escape

from mockserver._json import JSON
from mockserver.report import pages

_HERE: Final = Path(__file__).parent


class Credential(NamedTuple):
    """What the one field of the page fills: a header, the text before the typed value, and the field's label and hint."""

    header: str
    before: str
    label: str
    hint: str


_CREDENTIALS: Final = {
    "public": Credential(
        header="X-API-Key",
        before="",
        label="API key",
        hint="It is sent as X-API-Key. A server on loopback has filled it in; any other prints it at its start.",
    ),
    "control": Credential(
        header="Authorization",
        before="Bearer ",
        label="Token",
        hint="Only a server beyond loopback requires one, and not of a browser that has typed it to open this page.",
    ),
}


class Operation(NamedTuple):
    """An operation of the document, or a webhook, whose `path` is the name of the event."""

    method: str
    path: str
    spec: JSON


class Group(NamedTuple):
    """A tag with its operations."""

    name: str
    description: str
    operations: list[Operation]


class BodyField(NamedTuple):
    """The field of a form for a body: text with its initial value, or the property that has the files."""

    media_type: str
    value: str
    file_property: str


def render(
    document: JSON,
    plane: Literal["public", "control"],
    query: str,
    *,
    sandbox_id: str,
    key: str,
    views: Sequence[str],
) -> str:
    """
    Return the page of a document.

    Args:
        document: of OpenAPI 3.1.
        plane: that the document describes; it decides which credential the page asks for.
        query: of the same document as JSON and YAML, with its question mark; empty if it has none.
        sandbox_id: of the sandbox to which the page sends.
        key: that the public plane's field has at first; empty if the reader types it.
        views: the dashboard's pages, as its head names them.
    """
    groups = {tag["name"]: Group(tag["name"], tag["description"], []) for tag in document["tags"]}
    for path, item in document["paths"].items():
        for method, spec in item.items():
            groups[spec["tags"][0]].operations.append(Operation(method.upper(), path, spec))
    events = [
        Operation(method.upper(), name, spec)
        for name, item in document.get("webhooks", {}).items()
        for method, spec in item.items()
    ]
    return (
        _environment()
        .get_template("document.html")
        .render(
            document=document,
            plane=plane,
            query=query,
            sandbox_id=sandbox_id,
            key=key,
            views=views,
            groups=[group for group in groups.values() if group.operations],
            events=events,
            schemas=document["components"].get("schemas", {}),
            credential=_CREDENTIALS[plane],
        )
    )


@cache
def script() -> str:
    """Return the script of the page."""
    return (_HERE / "static" / "script.js").read_text(encoding="utf-8")


def body_field(spec: JSON) -> BodyField | None:
    """Return the field for the body of an operation; None if it has no body."""
    for media_type, content in spec.get("requestBody", {}).get("content", {}).items():
        if media_type == "multipart/form-data":
            return BodyField(media_type, "", next(iter(content["schema"]["properties"])))
        examples = [example["value"] for example in content.get("examples", {}).values()]
        return BodyField(media_type, pages.json_text(examples[0] if examples else {}), "")
    return None


@cache
def _environment() -> Environment:
    environment = pages.environment(_HERE / "templates")
    environment.filters |= {
        "prose": prose,
        "kind": kind,
        "values_of": values_of,
        "limits": limits,
        "samples": samples,
        "alternatives": alternatives,
        "body_field": body_field,
    }
    environment.tests["with_parts"] = has_parts
    return environment


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
