"""
The OpenAPI 3.1 document of the public API, as a set of choices has it.

1. Operations, parameters, keys, statuses and codes are those of the contract's tables, and ids those of `endpoints`.
2. Examples are samples of a run, which the caller provides; without them the document has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from mockserver.contract.endpoints import COMMON_ERRORS, ENDPOINTS, SUCCESS_STATUS, Endpoint
from mockserver.contract.errors import ERRORS
from mockserver.contract.limits import PAGE_LIMIT_MAX
from mockserver.contract.media_types import KINDS
from mockserver.contract.openapi.components import Choices, error_component, public_components, status_of
from mockserver.contract.openapi.parts import (
    JSON,
    LICENSE,
    OPENAPI,
    closure,
    component_name,
    content,
    path_names,
    ref,
)
from mockserver.contract.openapi.texts import INTERFACE_VERSION, INTRODUCTION, LINKS, OPERATION_TEXTS, PARAMETERS, TAGS
from mockserver.contract.openapi.webhook_headers import webhook_headers

_EMPTY: Final[Mapping[str, Any]] = MappingProxyType({})


class Samples(NamedTuple):
    """
    What a run of the API returned, by operation id and name of the example.

    `refusals` are error bodies by operation and code, `events` bodies by event;
    `parameters` are values of path and query, and `choices` the ids of the choices that each operation read.
    """

    requests: Mapping[str, Mapping[str, Any]] = _EMPTY
    answers: Mapping[str, Mapping[str, Any]] = _EMPTY
    refusals: Mapping[str, Mapping[str, Any]] = _EMPTY
    parameters: Mapping[str, Mapping[str, Any]] = _EMPTY
    events: Mapping[str, Mapping[str, Any]] = _EMPTY
    choices: Mapping[str, tuple[str, ...]] = _EMPTY


_QUERY: Final[Mapping[str, JSON]] = MappingProxyType(
    {
        "cursor": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1, "maximum": PAGE_LIMIT_MAX},
    }
)
_KEYS: Final[Mapping[str, JSON]] = MappingProxyType(
    {
        "secretKey": {
            "type": "apiKey",
            "in": "header",
            "name": "X-API-Key",
            "description": "A private key, which begins with `sk_`. It never leaves a back end.",
        },
        "publicKey": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "A public key."},
    }
)
_SECURITY: Final[Mapping[str, list[JSON]]] = MappingProxyType(
    {"secret": [{"secretKey": []}], "any": [{"secretKey": []}, {"publicKey": []}]}
)
_EVENTS: Final[Mapping[str, tuple[str, str, str]]] = MappingProxyType(
    {
        "entrypoints.chatapp.connected": (
            "event.connected",
            "A session completed",
            "Sent to the endpoints registered for `entrypoints` when a connection session completes.",
        ),
        "entrypoints.chatapp.connection_failed": (
            "event.connection_failed",
            "A session failed or expired",
            "Sent to the endpoints registered for `entrypoints` when a connection session fails or expires.",
        ),
    }
)


def public_document(choices: Choices, samples: Samples, base_url: str) -> JSON:
    """
    Return the document of the public API.

    Args:
        choices: every choice with its option.
        samples: examples for the document.
        base_url: the address of the server.
    """
    components = public_components(choices)
    paths: dict[str, JSON] = {}
    for endpoint in ENDPOINTS.values():
        operation = _operation(endpoint, choices, samples, components)
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = operation
    webhooks = {event: _webhook(event, choices, samples) for event in _EVENTS}
    return {
        "openapi": OPENAPI,
        "info": {
            "title": "Campaign, messaging and channel-connection API",
            "version": INTERFACE_VERSION,
            "description": INTRODUCTION,
            "license": LICENSE,
            "contact": {"name": "mockserver"},
        },
        "servers": [{"url": base_url, "description": "This server"}],
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": paths,
        "webhooks": webhooks,
        "components": {"schemas": closure([paths, webhooks], components), "securitySchemes": dict(_KEYS)},
    }


def codes_by_status(endpoint: Endpoint, choices: Choices) -> dict[int, list[str]]:
    """Return the error codes that a call of this operation may get, by status."""
    codes: dict[int, list[str]] = {}
    for code in (*COMMON_ERRORS, *endpoint.errors):
        codes.setdefault(status_of(code, endpoint.path, choices), []).append(code)
    return dict(sorted(codes.items()))


def _operation(endpoint: Endpoint, choices: Choices, samples: Samples, components: Mapping[str, JSON]) -> JSON:
    tag, summary, description = OPERATION_TEXTS[endpoint.id]
    body = _request_body(endpoint, choices, samples)
    parameters = _parameters(endpoint, tag, samples.parameters.get(endpoint.id, {}))
    read = {choice: choices[choice] for choice in samples.choices.get(endpoint.id, ())}
    return {
        "operationId": endpoint.id,
        "tags": [tag],
        "summary": summary,
        "description": description,
        **({"parameters": parameters} if parameters else {}),
        **({"requestBody": body} if body else {}),
        "responses": _responses(endpoint, choices, samples, components),
        "security": _SECURITY[endpoint.keys],
        "x-clause": endpoint.clause,
        **({"x-choices": read} if read else {}),
    }


def _parameters(endpoint: Endpoint, tag: str, values: Mapping[str, Any]) -> list[JSON]:
    any_text = {"type": "string", "minLength": 1}
    places = [(name, "path", any_text) for name in path_names(endpoint.path)]
    places += [(name, "query", _QUERY[name]) for name in endpoint.query]
    return [
        {
            "name": name,
            "in": place,
            "description": PARAMETERS[tag, name],
            **({"required": True} if place == "path" else {}),
            "schema": schema,
            **({"example": values[name]} if name in values else {}),
        }
        for name, place, schema in places
    ]


def _request_body(endpoint: Endpoint, choices: Choices, samples: Samples) -> JSON | None:
    required: JSON = {} if endpoint.optional_body else {"required": True}
    if endpoint.body == "multipart":
        file = {"type": "string", "format": "binary"}
        files = {"type": "array", "items": file, "minItems": 1, "maxItems": choices["media-max-files"]}
        schema = {"type": "object", "properties": {"files": files}, "required": ["files"]}
        types = {"files": {"contentType": ", ".join(KINDS)}}
        return {**required, "content": {"multipart/form-data": {"schema": schema, "encoding": types}}}
    if endpoint.request_schema is None:
        return None
    schema = ref(component_name(endpoint.request_schema))
    return {**required, "content": content(schema, samples.requests.get(endpoint.id))}


def _responses(
    endpoint: Endpoint, choices: Choices, samples: Samples, components: Mapping[str, JSON]
) -> dict[str, JSON]:
    success = SUCCESS_STATUS[str(choices["success-status"])][endpoint.id]
    responses = {str(success): _success(endpoint, samples)}
    bodies = samples.refusals.get(endpoint.id, {})
    for status, codes in codes_by_status(endpoint, choices).items():
        schema = error_component(status, codes, components["Error"])
        examples = {code: bodies[code] for code in codes if code in bodies}
        responses[str(status)] = {
            "description": "Refused: " + ", ".join(codes),
            **_retry_headers(status, choices),
            "content": content(schema, examples),
        }
    return responses


def _retry_headers(status: int, choices: Choices) -> JSON:
    """Return the headers of a 429 by `rate-limit-headers`."""
    if status != ERRORS["RATE_LIMIT_EXCEEDED"].status:
        return {}
    option = str(choices["rate-limit-headers"])
    kinds = {"seconds": {"Retry-After": "Seconds to wait."}, "http-date": {"Retry-After": "An HTTP date to wait for."}}
    kinds["draft-fields"] = {"RateLimit-Policy": "The quota and its window.", "RateLimit": "What is left of it."}
    headers = kinds.get(option, {})
    described = {name: {"description": text, "schema": {"type": "string"}} for name, text in headers.items()}
    return {"headers": described} if described else {}


def _success(endpoint: Endpoint, samples: Samples) -> JSON:
    answer: JSON = {"description": "Done; there is no content."}
    if endpoint.response_schema is not None:
        schema = ref(component_name(endpoint.response_schema))
        answer = {"description": "Done.", "content": content(schema, samples.answers.get(endpoint.id))}
    links = LINKS.get(endpoint.id, {})
    named = {target: {"operationId": target, "parameters": dict(parameters)} for target, parameters in links.items()}
    return {**answer, **({"links": named} if named else {})}


def _webhook(event: str, choices: Choices, samples: Samples) -> JSON:
    schema, summary, description = _EVENTS[event]
    headers = [
        {"name": name, "in": "header", "description": text, "schema": {"type": "string"}}
        for name, text in webhook_headers(choices).items()
    ]
    return {
        "post": {
            "operationId": component_name(schema),
            "tags": ["Connection sessions"],
            "summary": summary,
            "description": description,
            **({"parameters": headers} if headers else {}),
            "requestBody": {
                "required": True,
                "content": content(ref(component_name(schema)), samples.events.get(event)),
            },
            "responses": {
                "2XX": {"description": "Received. Any other status makes the server send it again."},
                "4XX": {"description": "Refused; the server sends it again."},
            },
            "security": [],
        }
    }
