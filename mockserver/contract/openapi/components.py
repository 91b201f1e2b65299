"""
The components of the public API's document: the schema files, typed further, under the choices in force.

1. Filters are typed by field, so that generators make one type of each.
   A field whose values the API document does not list has no enumeration, which the `changes` of the skeleton remove: a
   generated client would fail at a value that it may well meet.
2. Where a choice only decides which of the shapes of a schema an answer has, the schema holds all of them.
3. Where a choice makes answers that the schemas of the document exclude, or refuses other bodies, its row has what changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mockserver._json import JSON
from mockserver.contract.choices import CHOICES
from mockserver.contract.choices.document import with_nulls
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.contract.errors import ERRORS
from mockserver.contract.filters import COMBINATORS
from mockserver.contract.lifecycles import EVENTS
from mockserver.contract.limits import JSON_VALUES_MAX
from mockserver.contract.openapi.filters import filter_components
from mockserver.contract.openapi.parts import ref, schema_files
from mockserver.contract.openapi.patterns import HTTPS_URL
from mockserver.contract.openapi.skeleton import apply, filled

Choices = Mapping[str, object]
Components = dict[str, JSON]
_CONDITIONS = ("if", "then", "else", "allOf")


def public_components(written: JSON, choices: Choices) -> Components:
    """
    Return the schemas of the public API by name, as the choices have them.

    Args:
        written: the `schemas` of the skeleton: `components` that no schema file has, and `changes` of the others.
        choices: every choice with its option.
    """
    written = filled(written, {"combinators": list(COMBINATORS), "httpsUrl": HTTPS_URL, "valuesMax": JSON_VALUES_MAX})
    files = [name for row in ENDPOINTS.values() for name in (row.request_schema, row.response_schema) if name]
    components = schema_files((*files, "error", *(event.schema for event in EVENTS.values())))
    components |= filter_components(written["components"], choices)
    apply(components, written["changes"])
    items = components["ReadTemplateResponse"]["properties"]["items"]
    components["TemplateItem"] = {"title": "Template item", **items["items"]}
    items["items"] = ref("TemplateItem")
    _make_unions(components)
    edits = [
        row.document[str(choices[row.id])]
        for row in CHOICES.values()
        if row.document and choices[row.id] in row.document
    ]
    for edit in sorted(edits, key=lambda edit: edit is with_nulls):  # last: it wraps what the others change
        edit(components)
    return components


def error_component(operation: str, status: int, codes: list[str], component: JSON) -> JSON:
    """Return the schema of an operation's error bodies that have this status and one of these codes."""
    own = {"statusCode": {"type": "integer", "const": status}, "code": {"type": "string", "enum": codes}}
    # Generators make a type of each, and name it by its title.
    return {**component, "title": f"{operation} {status}", "properties": {**component["properties"], **own}}


def _make_unions(components: Components) -> None:
    """Replace the schemas whose fields depend on another field by unions."""
    for name, suffix in (("ReadConnectionSessionResponse", "Session"), ("ExecutionEntry", "Execution")):
        status = components[name]["properties"]["status"]
        values: list[str] = components["ExecutionStatus"]["enum"] if "$ref" in status else status["enum"]
        components[name], variants = _union(
            components[name], "status", {value: value.capitalize() + suffix for value in values}
        )
        components |= variants
    connected = components["EventConnected"]["properties"]
    components["ConnectedData"] = {"title": "Data of a connection", **connected["data"]}
    connected["data"] = ref("ConnectedData")
    data = components["EventConnectionFailed"]["properties"]
    failure = {"title": "Data of a failed connection", **data["data"]}
    data["data"], variants = _union(failure, "status", {"expired": "ConnectionExpired", "failed": "ConnectionFailed"})
    components |= variants
    upload = {"title": "Upload", **components["UploadMediaResponse"]["items"]}
    whole, variants = _union(upload, "success", {True: "StoredFile", False: "RefusedFile"})
    components["UploadMediaResponse"]["items"] = whole
    components |= variants


def _union(schema: JSON, key: str, names: Mapping[Any, str]) -> tuple[JSON, dict[str, JSON]]:
    """
    Return the union of an object schema's variants by the value of `key`, and the variants by name.

    Generators of types ignore `if` and `then`, and turn a `oneOf` whose members have a constant property into a union.

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


def status_of(code: str, path: str, choices: Choices) -> int:
    """Return the status of an error code at a path: the catalogue's, or the campaign guide's by `dual-status`."""
    row = ERRORS[code]
    return row.guide_status if path.startswith("/v1/campaigns") and choices["dual-status"] == "guide" else row.status
