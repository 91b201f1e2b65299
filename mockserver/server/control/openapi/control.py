"""
The OpenAPI 3.1 document of the control plane, from the table of its commands.

The table is the caller's: the commands themselves serve this document.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from mockserver._json import JSON, changed
from mockserver.contract import schemas as schema_files
from mockserver.contract.choices import CHOICES, Choice
from mockserver.contract.choices.profiles import PROFILES
from mockserver.contract.durations import MAX_SECONDS, PATTERN
from mockserver.contract.endpoints import ENDPOINTS, OPERATIONS
from mockserver.contract.errors import FAILURE_REASONS
from mockserver.contract.lifecycles import SUBSCRIPTIONS
from mockserver.contract.media_types import KINDS
from mockserver.contract.openapi.older import VERSIONS
from mockserver.contract.openapi.parts import (
    OPENAPI,
    closure,
    component_name,
    content,
    path_names,
    ref,
    rewritten,
    success,
    with_member_names,
)
from mockserver.contract.openapi.skeleton import apply, filled
from mockserver.core.state.matching import PATH_ROOTS
from mockserver.server.control.commands import Route
from mockserver.server.control.openapi.answers import FILE, answer, answer_components
from mockserver.server.control.openapi.shapes import TEXT, nullable, obj, titled
from mockserver.server.control.replay_document import NAME_MAX_CHARS
from mockserver.server.control.views import STATE_CHATS
from mockserver.server.hosting.config import SEED_MAX
from mockserver.version import VERSION
from mockserver.wire.request import SANDBOXES

PLANES: Final = ("public", "control")

# What the texts and schemas of the skeleton have of other tables.
_ROWS: Final[Mapping[str, object]] = MappingProxyType(
    {
        "chatsMax": STATE_CHATS,
        "durationMaxSeconds": MAX_SECONDS,
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
    for status, codes in row.codes_by_status().items():
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
    if row.form != "report":
        return content(schema, shown, "text/plain" if row.form == "text" else "application/json")
    texts = {name: example for name, example in shown.items() if isinstance(example, str)}
    views = {name: example for name, example in shown.items() if name not in texts}
    return content(dict(TEXT), texts, "text/plain") | content(schema, views, "application/json")


def request_components(written: Mapping[str, JSON]) -> dict[str, JSON]:
    """
    Return the named schemas of bodies that tables have: choices, and every kind of seed data, rule and effect.

    The properties are those of the schema file `scenario`; here they are typed further, and have names.

    Args:
        written: the `schemas` of the skeleton: `components`, among them what a `RuleInForce` has beyond a rule, the names of
            `parts` of scenario documents that are no seed data, and `changes` of parts.
    """
    components = _scenario_components(written)
    rule, own = components["Rule"], written["components"]["RuleInForce"]
    components["RuleInForce"] = {
        **{key: value for key, value in rule.items() if key != "examples"},
        **own,
        "properties": rule["properties"] | own["properties"],
        "required": rule["required"] + own["required"],
    }
    options = {row.id: _option(row, written["components"]["Period"]) for row in CHOICES.values()}
    return {**written["components"], **components, "Choices": titled("Choices", obj(options))}


def _option(choice: Choice, period: JSON) -> JSON:
    """Return the schema of the values of a choice."""
    options = [{"type": "string", "enum": list(choice.options)}] if choice.options else []
    forms = [*options, *_values(choice, period)]
    described = {"description": choice.question}
    return {**described, **forms[0]} if len(forms) == 1 else {**described, "oneOf": forms}


def _values(choice: Choice, period: JSON) -> list[JSON]:
    """Return the schema of the numbers that a choice may have instead of an option; none for most choices."""
    least = {"type": "integer", "minimum": choice.least}
    if choice.value == "count":
        return [least]
    if choice.value == "rate":
        return [obj({"requests": least, "per": period})]
    if choice.value == "duration":
        return [period]
    if not isinstance(choice.default, Mapping):
        return []
    number = nullable(least) if choice.value == "per-platform" else least
    return [obj(dict.fromkeys(choice.default, number))]


def _without_default(part: JSON) -> JSON:
    """Return a schema with its default in the description: generators of types demand a property that has one."""
    if "default" not in part or not {"title", "type", "enum", "$ref"} & part.keys():
        return part
    default = json.dumps(part.pop("default"), ensure_ascii=False)
    return {**part, "description": f"{part.get('description', '')} By default {default}.".strip()}


def _without_deep_references(schema: JSON, definitions: Mapping[str, Any]) -> Any:
    """Return a schema with each reference into another definition replaced by its target: generators have no name for it."""

    def own(part: JSON) -> JSON:
        name, *inner = str(part.get("$ref", "")).removeprefix("#/$defs/").split("/")
        if not inner:
            return part
        target = definitions[name]
        for step in inner:
            target = target[step]
        del part["$ref"]
        return {**changed(target, own), **part}

    return changed(schema, own)


def _scenario_components(written: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the schema of scenario documents with its parts as components, one for each effect of a rule."""
    whole = schema_files.read("scenario")
    definitions = whole.pop("$defs")
    names = {name: written["parts"].get(name) or f"Seed{component_name(name)}" for name in definitions}

    def target(reference: str) -> str:
        return ref(names[reference.removeprefix("#/$defs/")])["$ref"]  # type: ignore[no-any-return]

    components = {
        names[name]: changed(rewritten(_without_deep_references(part, definitions), target), _without_default)
        for name, part in definitions.items()
    }
    components["Scenario"] = changed(rewritten(whole, target), _without_default)
    apply(components, written["changes"])
    effects = components["Effects"]["properties"]
    for name, effect in effects.items():
        components[f"{component_name(name)}Effect"] = effect
        effects[name] = ref(f"{component_name(name)}Effect")
    return components
