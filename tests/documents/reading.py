"""The generated documents as a tool reads them: their operations, schemas and examples."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import jsonschema_rs

from mockserver.contract.choices import DEFAULTS, merged
from mockserver.contract.choices.profiles import PROFILES
from mockserver.contract.openapi.parts import closure
from mockserver.server.control.openapi import documents

JSON = dict[str, Any]
BASE_URL = "http://127.0.0.1:5055"


class DocumentedOperation(NamedTuple):
    """One operation of a document."""

    method: str
    path: str
    raw: JSON

    @property
    def id(self) -> str:
        return str(self.raw["operationId"])


def chosen(options: Mapping[str, object]) -> dict[str, object]:
    """Return every choice, these options in place of their defaults."""
    return {**DEFAULTS, **{name: merged(name, DEFAULTS[name], value) for name, value in options.items()}}


def public(**options: object) -> JSON:
    """Return the document of the public API with these options."""
    return documents.document("public", chosen(options), BASE_URL)


@cache
def of_profile(name: str) -> JSON:
    """Return the document of the public API as a profile has it; callers do not change it."""
    return public(**PROFILES[name])


@cache
def control() -> JSON:
    """Return the document of the control plane; callers do not change it."""
    return documents.document("control", DEFAULTS, BASE_URL)


def operations(document: JSON) -> dict[str, DocumentedOperation]:
    """Return the operations of a document by id."""
    rows = (
        DocumentedOperation(method.upper(), path, raw)
        for path, item in document["paths"].items()
        for method, raw in item.items()
    )
    return {row.id: row for row in rows}


def validator(document: JSON, schema: JSON, *, formats: bool = True) -> jsonschema_rs.Draft202012Validator:
    """Return a validator for a schema of the document, with or without the formats of text."""
    needed = closure(schema, document["components"]["schemas"])
    whole = {**schema, "components": {"schemas": needed}}
    return jsonschema_rs.Draft202012Validator(whole, validate_formats=formats)


def contents(document: JSON) -> Iterator[tuple[str, JSON]]:
    """Yield each body of the document: where it is, and its schema with its examples."""
    for operation in operations(document).values():
        yield from _bodies(operation.id, operation.raw)
    for event, item in document.get("webhooks", {}).items():
        yield from _bodies(event, item["post"])


def _bodies(name: str, operation: JSON) -> Iterator[tuple[str, JSON]]:
    for body in operation.get("requestBody", {}).get("content", {}).values():
        yield f"{name} body", body
    for status, response in operation["responses"].items():
        for body in response.get("content", {}).values():
            yield f"{name} {status}", body


def unfit_examples(document: JSON) -> list[str]:
    """Return the examples that their own schema refuses."""
    unfit = []
    for place, body in contents(document):
        check = validator(document, body["schema"])
        for name, example in body.get("examples", {}).items():
            unfit += [f"{place} {name}: {error}" for error in check.iter_errors(example["value"])]
    return unfit


def unfit_examples_of_schemas(document: JSON) -> list[str]:
    """Return the examples of a schema, as the page shows them, that the schema itself refuses."""
    return [
        f"{place}: {error}"
        for place, schema in _with_examples(document["components"]["schemas"], "")
        for example in schema["examples"]
        for error in validator(document, schema).iter_errors(example)
    ]


def _with_examples(part: Any, place: str) -> Iterator[tuple[str, JSON]]:
    if isinstance(part, dict):
        if isinstance(part.get("examples"), list):
            yield place, part
        for key, below in part.items():
            yield from _with_examples(below, f"{place}/{key}")
    elif isinstance(part, list):
        for number, below in enumerate(part):
            yield from _with_examples(below, f"{place}/{number}")


def texts(document: JSON) -> str:
    return json.dumps(document, ensure_ascii=False)
