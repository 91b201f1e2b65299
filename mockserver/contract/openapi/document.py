"""
The OpenAPI 3.1 document of the public API, as a set of choices has it.

1. Operations, parameters, keys, statuses and codes are those of the contract's tables, and ids those of `endpoints`.
2. Prose and examples are those of the skeleton, with the bodies of refusals from the caller.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from mockserver._json import JSON
from mockserver.contract.endpoints import COMMON_ERRORS, ENDPOINTS, HEAD_ERROR, SUCCESS_STATUS, Endpoint
from mockserver.contract.errors import ERRORS
from mockserver.contract.lifecycles import EVENTS
from mockserver.contract.openapi.components import Choices, Components, error_component
from mockserver.contract.openapi.parts import (
    OPENAPI,
    closure,
    component_name,
    content,
    path_names,
    ref,
    success,
    with_member_names,
)

_SECURITY: Final[Mapping[str, list[JSON]]] = MappingProxyType(
    {"secret": [{"secretKey": []}], "any": [{"secretKey": []}, {"publicKey": []}]}
)


def public_document(skeleton: JSON, components: Components, choices: Choices, base_url: str) -> JSON:
    """
    Return the document of the public API.

    Args:
        skeleton: the prose and the examples (see `skeleton`): `requests` and `answers` by operation and name, `refusals` by
            operation and code, `parameters` and the `choices` that it read by operation, `events` by name and status.
        components: the schemas (see `public_components`).
        choices: every choice with its option.
        base_url: the address of the server.
    """
    paths: dict[str, JSON] = {}
    for endpoint in ENDPOINTS.values():
        operation = _operation(endpoint, choices, skeleton, components)
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = operation
    webhooks = {event: _webhook(event, choices, skeleton) for event in EVENTS}
    return {
        "openapi": OPENAPI,
        "info": skeleton["info"],
        "servers": [{"url": base_url, "description": "This server"}],
        "tags": skeleton["tags"],
        "paths": paths,
        "webhooks": webhooks,
        "components": {
            "schemas": with_member_names(closure([paths, webhooks], components)),
            "securitySchemes": skeleton["securitySchemes"],
        },
    }


def codes_by_status(endpoint: Endpoint, choices: Choices) -> dict[int, list[str]]:
    """Return the error codes that a call of this operation may get, by status."""
    codes: dict[int, list[str]] = {}
    by_status = choices["head-bounds"] == "http-status"
    for code in dict.fromkeys((*COMMON_ERRORS, *endpoint.errors, *(() if by_status else (HEAD_ERROR,)))):
        codes.setdefault(ERRORS[code].status_of(endpoint.path, choices), []).append(code)
    if by_status:
        codes |= {414: [HEAD_ERROR], 431: [HEAD_ERROR]}
    return dict(sorted(codes.items()))


def _operation(endpoint: Endpoint, choices: Choices, skeleton: JSON, components: Mapping[str, JSON]) -> JSON:
    own, examples = skeleton["operations"][endpoint.id], skeleton["examples"]
    body = own.get("requestBody")
    if endpoint.request_schema is not None:
        body = content(ref(component_name(endpoint.request_schema)), examples["requests"].get(endpoint.id))
    required: JSON = {"required": True} if endpoint.needs_body else {}
    parameters = _parameters(endpoint, own, examples["parameters"].get(endpoint.id, {}))
    read = dict(sorted(examples["choices"].get(endpoint.id, {}).items()))
    return {
        "operationId": endpoint.id,
        "tags": own["tags"],
        "summary": own["summary"],
        "description": own["description"],
        **({"parameters": parameters} if parameters else {}),
        **({"requestBody": {**required, "content": body}} if body else {}),
        "responses": _responses(endpoint, choices, skeleton, components),
        "security": _SECURITY[endpoint.keys],
        "x-clause": endpoint.clause,
        **({"x-choices": read} if read else {}),
    }


def _parameters(endpoint: Endpoint, own: JSON, values: Mapping[str, Any]) -> list[JSON]:
    places = [*((name, "path") for name in path_names(endpoint.path)), *((name, "query") for name in endpoint.query)]
    return [
        {
            "name": name,
            "in": place,
            "description": own["parameters"][name]["description"],
            **({"required": True} if place == "path" else {}),
            "schema": own["parameters"][name].get("schema", {"type": "string", "minLength": 1}),
            **({"example": values[name]} if name in values else {}),
        }
        for name, place in places
    ]


def _responses(endpoint: Endpoint, choices: Choices, skeleton: JSON, components: Mapping[str, JSON]) -> dict[str, JSON]:
    own, examples = skeleton["operations"][endpoint.id], skeleton["examples"]
    contents = None
    if endpoint.response_schema is not None:
        schema = ref(component_name(endpoint.response_schema))
        contents = content(schema, examples["answers"].get(endpoint.id))
    status = SUCCESS_STATUS[str(choices["success-status"])][endpoint.id]
    responses = {str(status): success(own, contents)}
    bodies = examples["refusals"].get(endpoint.id, {})
    texts = skeleton["headers"]["rate-limit-headers"][choices["rate-limit-headers"]]
    headers = {name: {"description": text, "schema": {"type": "string"}} for name, text in texts.items()}
    for status, codes in codes_by_status(endpoint, choices).items():
        schema = error_component(endpoint.id, status, codes, components["Error"])
        shown = {code: {**bodies[code], "statusCode": status} for code in codes if code in bodies}
        responses[str(status)] = {
            "description": "Refused: " + ", ".join(codes),
            **({"headers": headers} if headers and status == ERRORS["RATE_LIMIT_EXCEEDED"].status else {}),
            "content": content(schema, shown),
        }
    return responses


def _webhook(event: str, choices: Choices, skeleton: JSON) -> JSON:
    kind = EVENTS[event]
    headers = [  # in the order in which a receiver reads them; one without a text is not sent
        {"name": name, "in": "header", "description": text, "schema": {"type": "string"}}
        for name, text in skeleton["headers"]["wh-signature"][choices["wh-signature"]].items()
        if text
    ]
    return {
        "post": {
            "operationId": component_name(kind.schema),
            "tags": skeleton["webhooks"]["tags"],
            "summary": kind.summary,
            "description": kind.description,
            **({"parameters": headers} if headers else {}),
            "requestBody": {
                "required": True,
                "content": content(ref(component_name(kind.schema)), skeleton["examples"]["events"].get(event)),
            },
            "responses": skeleton["webhooks"]["responses"],
            "security": skeleton["webhooks"]["security"],
        }
    }
