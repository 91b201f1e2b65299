"""
The contract as an OpenAPI 3.1 document, made from the endpoint, error and schema tables.

1. An operation declares one success status, that of `success-status: rest`, and the statuses of its own and the common error codes.
2. The body of an error status names that status and the codes that the operation declares under it, and no others.
3. A path parameter or property takes `Known` ids or any other text, so that generated calls also reach records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mockserver.contract import schemas
from mockserver.contract.endpoints import COMMON_ERRORS, ENDPOINTS, SUCCESS_STATUS, Endpoint
from mockserver.contract.errors import ERRORS
from mockserver.contract.limits import PAGE_LIMIT_MAX
from mockserver.contract.media_types import KINDS

JSON = dict[str, Any]
Known = Mapping[str, Mapping[str, Sequence[str]]]
"""Operation id -> name of a path parameter, or of a property of the body -> ids that exist."""

_QUERY: Mapping[str, JSON] = {
    "cursor": {"type": "string"},
    "limit": {"type": "integer", "minimum": 1, "maximum": PAGE_LIMIT_MAX},
}
_FILES: JSON = {
    "type": "object",
    "properties": {"files": {"type": "array", "items": {"type": "string", "format": "binary"}, "minItems": 1}},
    "required": ["files"],
}


def document(known: Known | None = None, bodies: Mapping[str, Any] | None = None) -> JSON:
    """The whole document; `bodies` holds one example body an operation."""
    paths: dict[str, JSON] = {}
    for endpoint in ENDPOINTS.values():
        ids = (known or {}).get(endpoint.id, {})
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, ids, bodies or {})
    return {
        "openapi": "3.1.0",
        "info": {"title": "Campaign, messaging and channel-connection API", "version": "1"},
        "paths": paths,
        "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-API-Key"}}},
        "security": [{"key": []}],
    }


def codes_by_status(endpoint: Endpoint) -> dict[int, list[str]]:
    """The error codes that a call of this operation may get, under the catalogue's statuses."""
    found: dict[int, list[str]] = {}
    for code in (*COMMON_ERRORS, *endpoint.errors):
        found.setdefault(ERRORS[code].status, []).append(code)
    return found


def _operation(endpoint: Endpoint, ids: Mapping[str, Sequence[str]], bodies: Mapping[str, Any]) -> JSON:
    operation: JSON = {
        "operationId": endpoint.id,
        "parameters": [*_path_parameters(endpoint, ids), *_query_parameters(endpoint)],
        "responses": _responses(endpoint),
    }
    content = _content(endpoint, ids)
    if content is not None:
        media_type, described = content
        if endpoint.id in bodies:
            described["example"] = bodies[endpoint.id]
        operation["requestBody"] = {"required": not endpoint.optional_body, "content": {media_type: described}}
    return operation


def _content(endpoint: Endpoint, ids: Mapping[str, Sequence[str]]) -> tuple[str, JSON] | None:
    if endpoint.body == "multipart":
        return "multipart/form-data", {"schema": _FILES, "encoding": {"files": {"contentType": ", ".join(KINDS)}}}
    if endpoint.request_schema is None:
        return None
    schema = _schema(endpoint.request_schema)
    named = {name: _known_or_any(schema["properties"][name], ids[name]) for name in schema["properties"] if name in ids}
    return "application/json", {"schema": {**schema, "properties": {**schema["properties"], **named}}}


def _path_parameters(endpoint: Endpoint, ids: Mapping[str, Sequence[str]]) -> list[JSON]:
    names = [part[1:-1] for part in endpoint.path.split("/") if part.startswith("{")]
    return [_path_parameter(name, ids.get(name, ())) for name in names]


def _path_parameter(name: str, ids: Sequence[str]) -> JSON:
    any_text: JSON = {"type": "string", "minLength": 1}
    parameter: JSON = {"name": name, "in": "path", "required": True, "schema": any_text}
    if ids:
        parameter["schema"] = _known_or_any(any_text, ids)
        parameter["example"] = ids[0]
    return parameter


def _known_or_any(schema: JSON, ids: Sequence[str]) -> JSON:
    return {"anyOf": [{"enum": list(ids)}, schema]}


def _query_parameters(endpoint: Endpoint) -> list[JSON]:
    return [{"name": name, "in": "query", "required": False, "schema": _QUERY[name]} for name in endpoint.query]


def _responses(endpoint: Endpoint) -> dict[str, JSON]:
    responses = {str(SUCCESS_STATUS["rest"][endpoint.id]): _success(endpoint)}
    for status, codes in sorted(codes_by_status(endpoint).items()):
        responses[str(status)] = _answer(f"Refused: {', '.join(codes)}", _error(status, codes))
    return responses


def _success(endpoint: Endpoint) -> JSON:
    if endpoint.response_schema is None:
        return {"description": "Done; no content"}
    return _answer("Done", _schema(endpoint.response_schema))


def _answer(description: str, schema: JSON) -> JSON:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _error(status: int, codes: Sequence[str]) -> JSON:
    schema = _schema("error")
    narrowed = {**schema["properties"], "statusCode": {"const": status}, "code": {"enum": list(codes)}}
    return {**schema, "properties": narrowed}


def _schema(name: str) -> JSON:
    return {key: value for key, value in schemas.load(name).items() if key not in ("$schema", "$id")}
