"""
The generated document of the public API with ids of records that exist.

A path parameter or property takes `Known` ids or any other text, so that generated calls also reach records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from tests.documents.reading import JSON, of_profile, operations

Known = Mapping[str, Mapping[str, Sequence[str]]]
"""Operation id -> name of a path parameter, or of a property of the body -> ids that exist."""


def document(known: Known | None = None, bodies: Mapping[str, Any] | None = None) -> JSON:
    """Return the whole document; `bodies` holds one example body an operation."""
    whole = deepcopy(of_profile("literal"))
    for name, operation in operations(whole).items():
        ids = (known or {}).get(name, {})
        for parameter in operation.raw.get("parameters", ()):
            parameter.pop("example", None)
            if parameter["name"] in ids:
                parameter["schema"] = _known_or_any(parameter["schema"], ids[parameter["name"]])
                parameter["example"] = ids[parameter["name"]][0]
        for content in operation.raw.get("requestBody", {}).get("content", {}).values():
            content.pop("examples", None)
            content["schema"] = _with_known_ids(content["schema"], ids, whole)
            if name in (bodies or {}):
                content["example"] = (bodies or {})[name]
    return whole


def _with_known_ids(schema: JSON, ids: Mapping[str, Sequence[str]], whole: JSON) -> JSON:
    if "$ref" not in schema or not ids:
        return schema
    target = whole["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    named = {name: _known_or_any(part, ids[name]) for name, part in target["properties"].items() if name in ids}
    return {**target, "properties": {**target["properties"], **named}}


def _known_or_any(schema: JSON, ids: Sequence[str]) -> JSON:
    return {"anyOf": [{"type": "string", "enum": list(ids)}, schema]}
