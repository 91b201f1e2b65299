"""
An OpenAPI document as one HTML page, and the static assets of that page.

Every address on the page is relative to it, so that it is valid below the prefix of a sandbox, and where the server is
mounted in another program.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, Literal, NamedTuple

from jinja2 import Environment

from mockserver import _templates
from mockserver._json import JSON
from mockserver.contract import clauses
from mockserver.server.docs_page import schema_text

_HERE: Final = Path(__file__).parent
# Of each plane: the header that the one field fills, the text before the typed value, and the field's label and hint.
_CREDENTIALS: Final = {
    "public": ("X-API-Key", "", "API key", "The server prints it at its start; it is sent as X-API-Key."),
    "control": (
        "Authorization",
        "Bearer ",
        "Token",
        "Only a server beyond loopback requires one, and not of a browser that has typed it to open this page.",
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


def render(document: JSON, plane: Literal["public", "control"], query: str) -> str:
    """
    Return the page of a document.

    Args:
        document: of OpenAPI 3.1.
        plane: that the document describes; it decides which credential the page asks for.
        query: of the same document as JSON and YAML, with its question mark; empty if it has none.
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
            groups=[group for group in groups.values() if group.operations],
            events=events,
            schemas=document["components"].get("schemas", {}),
            sentences=_sentences(),
            credential=_CREDENTIALS[plane],
        )
    )


@cache
def asset(name: Literal["style.css", "script.js"]) -> str:
    """Return a static asset of the page."""
    return (_HERE / "static" / name).read_text(encoding="utf-8")


def body_field(spec: JSON) -> BodyField | None:
    """Return the field for the body of an operation; None if it has no body."""
    for media_type, content in spec.get("requestBody", {}).get("content", {}).items():
        if media_type == "multipart/form-data":
            return BodyField(media_type, "", next(iter(content["schema"]["properties"])))
        examples = [example["value"] for example in content.get("examples", {}).values()]
        return BodyField(media_type, schema_text.json_text(examples[0] if examples else {}), "")
    return None


@cache
def _sentences() -> Mapping[str, str]:
    """Return the text of each clause by its id."""
    return {clause.id: clause.text for clause in clauses.read()}


@cache
def _environment() -> Environment:
    environment = _templates.environment(_HERE / "templates")
    environment.filters |= {
        "prose": schema_text.prose,
        "json_text": schema_text.json_text,
        "kind": schema_text.kind,
        "values_of": schema_text.values_of,
        "limits": schema_text.limits,
        "samples": schema_text.samples,
        "alternatives": schema_text.alternatives,
        "body_field": body_field,
    }
    environment.tests["with_parts"] = schema_text.has_parts
    return environment
