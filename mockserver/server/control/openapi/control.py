"""
The OpenAPI 3.1 document of the control plane, from the table of its commands.

The table is the caller's: the commands themselves serve this document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, Protocol

from mockserver.contract.choices.profiles import PROFILES
from mockserver.contract.openapi.components import public_components
from mockserver.contract.openapi.parts import JSON, LICENSE, OPENAPI, closure, content, path_names, ref
from mockserver.server.control.accept import REPORT_TYPES
from mockserver.server.control.openapi import refusals
from mockserver.server.control.openapi.answers import ANSWERS, answer_components
from mockserver.server.control.openapi.command_samples import CommandSamples, Handler
from mockserver.server.control.openapi.requests import BODIES, OPTIONAL_BODIES, request_components
from mockserver.server.control.openapi.shapes import COUNT, FLAG, TEXT, Shape, one_of
from mockserver.server.control.openapi.texts import DESCRIPTIONS, INTRODUCTION
from mockserver.server.control.reports import NAME_MAX_CHARS
from mockserver.server.control.views import STATE_CHATS

PLANES: Final = ("public", "control")


class Command(Protocol):
    """A row of the table of commands, as far as the document needs it."""

    @property
    def id(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def target(self) -> Literal["host", "sandbox"]: ...
    @property
    def status(self) -> int: ...
    @property
    def schema(self) -> str | None: ...
    @property
    def summary(self) -> str: ...
    @property
    def media_types(self) -> tuple[str, ...]: ...


class ControlPlane(NamedTuple):
    """The table of commands, and the function that responds to a request of one."""

    commands: tuple[Command, ...]
    handle: Handler


_OF_DOCUMENTS: Final[Mapping[str, Shape]] = MappingProxyType(
    {
        "plane": {**one_of(*PLANES), "description": "The public API, by default, or the control plane."},
        "profile": {
            **one_of(*PROFILES),
            "description": "The public API as this profile behaves; by default as the sandbox does.",
        },
    }
)
_OF_DELIVERIES: Final[Mapping[str, Shape]] = MappingProxyType(
    {
        "wait": {
            **FLAG,
            "description": "Whether the answer follows the delivery of what the command has made due; true by default.",
        }
    }
)
_OF_LABELS: Final[Mapping[str, Shape]] = MappingProxyType(
    {
        "label": {
            **TEXT,
            "pattern": "^[^,:]+:[^,]*(,[^,:]+:[^,]*)*$",
            "description": "Only sandboxes with these labels, `key:value`, several of them separated by commas.",
        }
    }
)
_DELIVERED: Final = (
    "completeSession", "failSession", "cancelSession", "expireSession", "createWebhook", "recoverWebhook",
    "setClock",
)  # fmt: skip
_QUERIES: Final[Mapping[str, Mapping[str, Shape]]] = MappingProxyType(
    {
        "listSandboxes": _OF_LABELS,
        "deleteSandboxes": _OF_LABELS,
        "readState": {
            "chats": {
                **COUNT,
                "maximum": STATE_CHATS,
                "description": "The number of chats of a tenant, and of targets of an execution, at most.",
            },
            "chatsFrom": {**COUNT, "maximum": 10**15 - 1, "description": "The number of chats before the first one."},
        },
        "readJournal": {
            "operation": {**ref("OperationName"), "description": "Only the exchanges of this operation."},
            "status": {**COUNT, "maximum": 10**15 - 1, "description": "Only exchanges with this status."},
            "text": {
                **TEXT,
                "description": "Only exchanges that contain this text, in upper or lower case, as this answer shows them.",
            },
            "since": {**COUNT, "maximum": 10**15 - 1, "description": "Only exchanges after this number."},
            "before": {**COUNT, "maximum": 10**15 - 1, "description": "Only exchanges before this number."},
            "limit": {
                **COUNT,
                "maximum": 10**15 - 1,
                "description": "The number of exchanges, at most, of the oldest.",
            },
            "last": {
                **COUNT,
                "maximum": 10**15 - 1,
                "description": "The number of exchanges, at most, of the newest; not with `limit`.",
            },
        },
        "readStream": {
            "since": {
                **TEXT,
                "pattern": "^[0-9]{1,15}[.][0-9]{1,15}[.][0-9]{1,15}$",
                "description": "The id of the last event that the reader has; the header `Last-Event-ID` takes precedence.",
            }
        },
        "readReport": {"failure": {**TEXT, "description": "The words of the failing test."}},
        **dict.fromkeys(_DELIVERED, _OF_DELIVERIES),
        "readOpenapi": _OF_DOCUMENTS,
        "readOpenapiYaml": _OF_DOCUMENTS,
        "readDocs": _OF_DOCUMENTS,
        "readReplay": {
            "name": {
                **TEXT,
                "minLength": 1,
                "maxLength": NAME_MAX_CHARS,
                "description": "The name of the scenario document.",
            }
        },
    }
)
_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({"deleteSandboxes": ("label",)})
_TAGS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "health": ("Server", "The server and its sandboxes."),
        "sandboxes": ("Server", "The server and its sandboxes."),
        "clock": ("Time", "The sandbox's clock, which moves only when it is moved, or follows the process's."),
        "choices": ("Behaviour", "Choices, scenarios, rules and tenants."),
        "scenarios": ("Behaviour", "Choices, scenarios, rules and tenants."),
        "rules": ("Behaviour", "Choices, scenarios, rules and tenants."),
        "tenants": ("Behaviour", "Choices, scenarios, rules and tenants."),
        "reset": ("State", "The whole state, and checkpoints of it."),
        "state": ("State", "The whole state, and checkpoints of it."),
        "checkpoints": ("State", "The whole state, and checkpoints of it."),
        "sessions": ("Transitions", "What the end user, the provider or time would do."),
        "calls": ("Transitions", "What the end user, the provider or time would do."),
        "campaigns": ("Transitions", "What the end user, the provider or time would do."),
        "events": ("Webhooks", "Events, their deliveries and their endpoints."),
        "webhooks": ("Webhooks", "Events, their deliveries and their endpoints."),
        **dict.fromkeys(
            ("journal", "steps", "replay", "report", "ledger", "conduct", "coverage", "stream"),
            ("Evidence", "What was called, and what it caused."),
        ),
        **dict.fromkeys(
            ("openapi.json", "openapi.yaml", "docs", "metrics"), ("Server", "The server and its sandboxes.")
        ),
    }
)
_LINKS: Final[Mapping[str, Mapping[str, Mapping[str, str]]]] = MappingProxyType(
    {
        "createSandbox": {"deleteSandbox": {"id": "$response.body#/sandboxId"}},
        "createCheckpoint": {"restoreCheckpoint": {"id": "$response.body#/checkpointId"}},
        "listRules": {"removeRule": {"id": "$response.body#/rules/0/id"}},
        "readEvents": {
            "readEvent": {"id": "$response.body#/events/0/id"},
            "redeliverEvent": {"id": "$response.body#/events/0/id"},
        },
    }
)


def control_document(
    commands: Iterable[Command],
    choices: Mapping[str, object],
    samples: CommandSamples,
    base_url: str,
    version: str,
) -> JSON:
    """
    Return the document of the control plane.

    Args:
        commands: the rows of the table.
        choices: every choice with its option; answers that show a record of the API follow them.
        samples: examples for the document.
        base_url: the address of the sandbox.
        version: the version of this package, which is the document's.
    """
    components = public_components(choices) | request_components() | answer_components()
    if choices["additive-fields"] != "none":
        for name in ("EventEntry", "EventInFull"):
            components[name]["additionalProperties"] = True
    rows = list(commands)
    paths: dict[str, JSON] = {}
    for row in rows:
        paths.setdefault(row.path, {})[row.method.lower()] = _operation(row, samples)
    return {
        "openapi": OPENAPI,
        "info": {
            "title": "mockserver control plane",
            "version": version,
            "description": INTRODUCTION,
            "license": LICENSE,
            "contact": {"name": "mockserver"},
        },
        "servers": [{"url": base_url, "description": "This sandbox"}],
        "tags": [{"name": name, "description": text} for name, text in dict(_tag(row) for row in rows).items()],
        "paths": paths,
        "components": {
            "schemas": closure(paths, components),
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Printed by a server beyond loopback; the creation of a sandbox returns one for that sandbox alone.",
                }
            },
        },
        "security": [{}, {"token": []}],
    }


def _tag(row: Command) -> tuple[str, str]:
    return _TAGS[row.path.split("/")[2]]


def _operation(row: Command, samples: CommandSamples) -> JSON:
    parameters = [*_path_parameters(row), *_query_parameters(row)]
    return {
        "operationId": row.id,
        "tags": [_tag(row)[0]],
        "summary": row.summary,
        "description": DESCRIPTIONS.get(row.id, f"{row.summary}."),
        **({"parameters": parameters} if parameters else {}),
        **({"requestBody": _request_body(row, samples)} if row.schema else {}),
        "responses": _responses(row, samples),
    }


def _path_parameters(row: Command) -> list[JSON]:
    kind = row.path.split("/")[2].removesuffix("s").replace("sandboxe", "sandbox")
    schema = {"type": "string", "minLength": 1}
    return [
        {"name": name, "in": "path", "description": f"Id of a {kind}.", "required": True, "schema": schema}
        for name in path_names(row.path)
    ]


def _query_parameters(row: Command) -> list[JSON]:
    parameters = []
    for name, shape in _QUERIES.get(row.id, {}).items():
        schema = {key: value for key, value in shape.items() if key != "description"}
        required: JSON = {"required": True} if name in _REQUIRED.get(row.id, ()) else {}
        parameters.append(
            {"name": name, "in": "query", "description": shape["description"], **required, "schema": schema}
        )
    return parameters


def _request_body(row: Command, samples: CommandSamples) -> JSON:
    required: JSON = {} if row.id in OPTIONAL_BODIES else {"required": True}
    return {**required, "content": content(dict(BODIES[row.id]), samples.requests.get(row.id))}


def _responses(row: Command, samples: CommandSamples) -> dict[str, JSON]:
    responses = {str(row.status): _success(row, samples)}
    refused = samples.refusals.get(row.id, {})
    for status, codes in refusals.codes_by_status(row.id, row.target, row.schema is not None, row.method).items():
        narrowed = {"code": {"type": "string", "enum": codes}, "statusCode": {"type": "integer", "const": status}}
        schema = {"allOf": [ref("ControlError"), {"type": "object", "properties": narrowed}]}
        examples = {code: refused[code] for code in codes if code in refused}
        responses[str(status)] = {"description": "Refused: " + ", ".join(codes), "content": content(schema, examples)}
    return responses


def _success(row: Command, samples: CommandSamples) -> JSON:
    answer = ANSWERS[row.id]
    links: dict[str, Any] = {
        target: {"operationId": target, "parameters": dict(parameters)}
        for target, parameters in _LINKS.get(row.id, {}).items()
    }
    described: JSON = {"description": "Done; there is no content."}
    if answer is not None:
        described = {"description": "Done.", "content": _contents(row, dict(answer), samples)}
    return {**described, **({"links": links} if links else {})}


def _contents(row: Command, answer: JSON, samples: CommandSamples) -> JSON:
    """Return the forms of an answer: JSON, a document, or a report as text and as JSON."""
    examples = samples.answers.get(row.id, {})
    if row.media_types is not REPORT_TYPES:
        return content(answer, examples, (*row.media_types, "application/json")[0])
    text, json = REPORT_TYPES
    texts = {name: example for name, example in examples.items() if isinstance(example, str)}
    views = {name: example for name, example in examples.items() if name not in texts}
    return content(dict(TEXT), texts, text) | content(answer, views, json)
