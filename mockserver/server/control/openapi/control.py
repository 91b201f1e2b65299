"""
The OpenAPI 3.1 document of the control plane, from the table of its commands.

The table is the caller's: the commands themselves serve this document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from mockserver._json import JSON
from mockserver.contract.choices.profiles import PROFILES
from mockserver.contract.durations import PATTERN
from mockserver.contract.endpoints import ENDPOINTS, OPERATIONS
from mockserver.contract.errors import FAILURE_REASONS
from mockserver.contract.lifecycles import SUBSCRIPTIONS
from mockserver.contract.media_types import KINDS
from mockserver.contract.openapi.older import VERSIONS
from mockserver.contract.openapi.parts import OPENAPI, closure, content, path_names, ref, success, with_member_names
from mockserver.contract.openapi.skeleton import filled
from mockserver.core.state.matching import PATH_ROOTS
from mockserver.server.api.request import SANDBOXES
from mockserver.server.control.accept import REPORT_TYPES
from mockserver.server.control.commands import Route
from mockserver.server.control.openapi.answers import FILE, answer, answer_components
from mockserver.server.control.openapi.requests import request_components
from mockserver.server.control.openapi.shapes import TEXT
from mockserver.server.control.reports import NAME_MAX_CHARS
from mockserver.server.control.views import STATE_CHATS
from mockserver.server.errors import STATUSES
from mockserver.server.hosting.config import SEED_MAX
from mockserver.version import VERSION

PLANES: Final = ("public", "control")


_OF_DOCUMENTS: Final = ("MOCK_NOT_ACCEPTABLE", "MOCK_BAD_PLANE", "MOCK_BAD_PROFILE")
# The refusals of a command of its own. MOCK_LOOP_BLOCKED is none: only a call in process can block a receiver's event loop.
REFUSALS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "createSandbox": ("MOCK_BAD_SCENARIO", "MOCK_TOO_MANY_SANDBOXES", "MOCK_DRAINING"),
        "deleteSandbox": ("MOCK_DEFAULT_SANDBOX",),
        "setClock": ("MOCK_BAD_CLOCK", "MOCK_BAD_INSTANT", "MOCK_TIME_GOES_FORWARD"),
        "advanceClock": ("MOCK_BAD_ADVANCE", "MOCK_BAD_INSTANT", "MOCK_BAD_DURATION", "MOCK_TIME_GOES_FORWARD"),
        "choose": ("MOCK_BAD_CHOICE",),
        "readTrackedChoices": ("MOCK_NOT_WATCHED",),
        "readStream": ("MOCK_NOT_ACCEPTABLE",),
        "applyScenario": ("MOCK_BAD_SCENARIO",),
        "addRules": ("MOCK_BAD_SCENARIO",),
        "readJournal": ("MOCK_BAD_OPERATION",),
        "verifyJournal": ("MOCK_BAD_WHERE", "MOCK_BAD_VERIFY", "MOCK_BAD_OPERATION"),
        "readReport": ("MOCK_NOT_ACCEPTABLE",),
        "completeSession": ("MOCK_BAD_PHONE", "MOCK_ILLEGAL_MOVE"),
        "failSession": ("MOCK_BAD_REASON", "MOCK_ILLEGAL_MOVE"),
        "cancelSession": ("MOCK_ILLEGAL_MOVE",),
        "expireSession": ("MOCK_ILLEGAL_MOVE",),
        "failCampaign": ("MOCK_ILLEGAL_MOVE",),
        "rotateWebhook": ("MOCK_BAD_SECRET",),
        "createWebhook": ("MOCK_BAD_EVENT", "MOCK_BAD_TARGET", "MOCK_BAD_SECRET"),
        "redeliverEvent": ("MOCK_ILLEGAL_MOVE",),
        "readOpenapi": (*_OF_DOCUMENTS, "MOCK_BAD_OPENAPI"),
        "readOpenapiYaml": (*_OF_DOCUMENTS, "MOCK_BAD_OPENAPI"),
        "readDocs": _OF_DOCUMENTS,
        "sendCall": ("MOCK_BAD_CALL", "MOCK_BAD_DURATION"),
        "readMetrics": ("MOCK_NOT_ACCEPTABLE",),
        "readDocsStyle": ("MOCK_NOT_ACCEPTABLE",),
        "readDocsScript": ("MOCK_NOT_ACCEPTABLE",),
    }
)
_COMMON: Final = (
    "MOCK_TOKEN_WANTED",
    "MOCK_FOREIGN_HOST",
    "MOCK_FOREIGN_ORIGIN",
    "MOCK_BAD_QUERY",
    "MOCK_BAD_BODY",
    "MOCK_NOT_FOUND",
    "MOCK_SANDBOX_CLOSED",
    "MOCK_INTERNAL_ERROR",
)
_OF_BODIES: Final = ("MOCK_BAD_JSON", "MOCK_BODY_TOO_LARGE")


def codes_by_status(row: Route) -> dict[int, list[str]]:
    """Return the codes with which a command can be refused, by status."""
    codes = [code for code in _COMMON if code != "MOCK_BAD_QUERY" or row.id != "readHealth"]  # probes add parameters
    if row.method != "GET":  # a browser needs a header
        codes.append("MOCK_HEADER_WANTED")
    if row.schema is not None:
        codes += _OF_BODIES
    if row.target == "host" and row.id != "readHealth":  # refused at a port that only one sandbox has
        codes.append("MOCK_OWN_PORT")
    by_status: dict[int, list[str]] = {}
    for code in (*codes, *REFUSALS.get(row.id, ())):
        by_status.setdefault(STATUSES[code], []).append(code)
    return dict(sorted(by_status.items()))


# What the texts and schemas of the skeleton have of other tables.
_ROWS: Final[Mapping[str, object]] = MappingProxyType(
    {
        "chatsMax": STATE_CHATS,
        "durationPattern": PATTERN,
        "failureReasons": list(FAILURE_REASONS),
        "nameMaxChars": NAME_MAX_CHARS,
        "openapiVersions": list(VERSIONS),
        "operations": ["*", *OPERATIONS, *(f"{row.method} {row.path}" for row in ENDPOINTS.values())],
        "pathRoots": "|".join(PATH_ROOTS),
        "planes": list(PLANES),
        "profiles": list(PROFILES),
        "seedMax": SEED_MAX,
        "subscriptions": list(SUBSCRIPTIONS),
        "uploadTypes": list(KINDS),
        "version": VERSION,
    }
)


def control_document(
    skeleton: JSON, schemas: Mapping[str, JSON], commands: Iterable[Route], choices: Mapping[str, object], base_url: str
) -> JSON:
    """
    Return the document of the control plane.

    Args:
        skeleton: the prose, the bodies and the examples (see `contract.openapi.skeleton`): `requests` and `answers` by
            command and name, `refusals` by command and code.
        schemas: those of the public API, whose records the answers show.
        commands: the rows of the table.
        choices: every choice with its option.
        base_url: the address of the sandbox.
    """
    own_url = base_url.partition(SANDBOXES)[0]  # of the default sandbox, which the examples show
    whole = filled(skeleton, {**_ROWS, "baseUrl": own_url})
    components = {**schemas} | request_components(whole["schemas"]) | answer_components()
    if choices["additive-fields"] != "none":
        for name in ("EventEntry", "EventInFull"):
            components[name]["additionalProperties"] = True
    paths: dict[str, JSON] = {}
    for row in commands:
        paths.setdefault(row.path, {})[row.method.lower()] = _operation(row, whole)
    return {
        "openapi": OPENAPI,
        "info": whole["info"],
        "servers": [{"url": base_url, "description": "This sandbox"}],
        "tags": whole["tags"],
        "paths": paths,
        "components": {
            "schemas": with_member_names(closure(paths, components)),
            "securitySchemes": whole["securitySchemes"],
        },
        "security": [{}, {"token": []}],
    }


def _operation(row: Route, whole: JSON) -> JSON:
    own, examples = whole["operations"][row.id], whole["examples"]
    shared = whole["parameters"]
    kind = row.path.split("/")[2].removesuffix("s").replace("sandboxe", "sandbox")
    id_schema = {"type": "string", "minLength": 1}
    parameters = [
        {"name": name, "in": "path", "description": f"Id of a {kind}.", "required": True, "schema": id_schema}
        for name in path_names(row.path)
    ]
    parameters += [shared[each] if isinstance(each, str) else each for each in own.get("parameters", ())]
    body: JSON = {}
    if row.schema:
        body = {"required": True} if "required" in own["requestBody"] else {}
        body["content"] = content(own["requestBody"]["schema"], examples["requests"].get(row.id))
    schema = own.get("answer") or answer(row.handler)
    responses = {str(row.status): success(own, None if schema is None else _contents(row, schema, examples))}
    refused = examples["refusals"].get(row.id, {})
    for status, codes in codes_by_status(row).items():
        narrowed = {"code": {"type": "string", "enum": codes}, "statusCode": {"type": "integer", "const": status}}
        schema = {"allOf": [ref("ControlError"), {"type": "object", "properties": narrowed}]}
        shown = {code: refused[code] for code in codes if code in refused}
        responses[str(status)] = {"description": "Refused: " + ", ".join(codes), "content": content(schema, shown)}
    return {
        "operationId": row.id,
        "tags": own["tags"],
        "summary": row.summary,
        "description": own.get("description", f"{row.summary}."),
        **({"parameters": parameters} if parameters else {}),
        **({"requestBody": body} if body else {}),
        "responses": responses,
    }


def _contents(row: Route, schema: JSON, examples: JSON) -> JSON:
    """Return the forms of an answer: JSON, a document, a file, or a report as text and as JSON."""
    if schema == FILE:
        return {media_type: {"schema": schema} for media_type in KINDS}
    shown = examples["answers"].get(row.id, {})
    if row.media_types is not REPORT_TYPES:
        return content(schema, shown, (*row.media_types, "application/json")[0])
    text, json = REPORT_TYPES
    texts = {name: example for name, example in shown.items() if isinstance(example, str)}
    views = {name: example for name, example in shown.items() if name not in texts}
    return content(dict(TEXT), texts, text) | content(schema, views, json)
