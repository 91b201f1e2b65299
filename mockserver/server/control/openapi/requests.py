"""
The bodies of the control plane's commands as schemas, and the parts of scenario documents as named components.

The properties are those of the schema files `control.*`; here they are typed further, and what excludes each other is a
union of types.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from mockserver.contract import schemas
from mockserver.contract.choices import CHOICES, Choice
from mockserver.contract.choices.model import LEAST
from mockserver.contract.choices.profiles import PROFILES
from mockserver.contract.durations import PATTERN
from mockserver.contract.endpoints import ENDPOINTS, OPERATIONS
from mockserver.contract.openapi.parts import component_name, rewritten
from mockserver.core.state.matching import PATH_ROOTS
from mockserver.server.control.openapi.shapes import (
    ANYTHING,
    COUNT,
    FLAG,
    TEXT,
    Shape,
    array,
    either,
    mapping,
    nullable,
    obj,
    one_of,
    ref,
    titled,
)
from mockserver.server.control.webhooks import KINDS
from mockserver.server.hosting.config import SEED_MAX

JSON = dict[str, Any]

_NAME: Final[Shape] = {"type": "string", "minLength": 1}
_PERIOD: Final[Shape] = {
    "description": "Seconds above 0, or a duration such as 60s.",
    "type": ["string", "number"],
    "exclusiveMinimum": 0,
    "minLength": 1,
    "maxLength": 40,
    "pattern": PATTERN,
}
_SECRET: Final[Shape] = {"type": "string", "minLength": 1, "maxLength": 200}
_LABEL_KEY: Final = "^[A-Za-z0-9_.-]{1,63}$"
_LABEL_VALUE: Final = "^[^,\\x00-\\x1f\\x7f]{1,128}$"
_TRUE: Final[Shape] = {"type": "boolean", "const": True}

BODIES: Final[Mapping[str, Shape]] = MappingProxyType(
    {
        "createSandbox": obj(
            {
                "scenario": {
                    "description": "A library scenario's name, or a document.",
                    "oneOf": [_NAME, ref("Scenario")],
                },
                "seed": {"type": "integer", "minimum": 0, "maximum": SEED_MAX},
                "profile": {**one_of(*PROFILES), "description": "Options by choice; `choices` take precedence."},
                "choices": ref("Choices"),
                "clock": ref("Clock"),
                "given": ref("SeedData"),
                "labels": {
                    **mapping({"type": "string", "pattern": _LABEL_VALUE}),
                    "propertyNames": {"pattern": _LABEL_KEY},
                    "maxProperties": 16,
                    "description": "The client's own names, by which sandboxes are listed and ended.",
                },
            }
        ),
        "createCheckpoint": obj(
            {
                "label": {
                    **TEXT,
                    "minLength": 1,
                    "maxLength": 200,
                    "description": "What follows the checkpoint; of those with a label the newest twenty are stored.",
                }
            }
        ),
        "setClock": either(
            titled("Freeze", obj(freeze=either(ref("Instant"), _TRUE)), "At an instant, or true for the present one."),
            titled("Follow", obj({"catchUp": FLAG}, follow=_TRUE), "Along with the clock of the process."),
        ),
        "advanceClock": either(
            titled("Advance by", obj(by=ref("Duration"))),
            titled("Advance to", obj(to=ref("Instant"))),
            titled("Advance until idle", obj(until={"type": "string", "const": "idle"})),
        ),
        "choose": ref("Choices"),
        "applyScenario": either(titled("Library scenario", obj(name=_NAME)), ref("Scenario")),
        "setTenant": obj(
            {
                "name": _NAME,
                "developersEnabled": FLAG,
                "subscription": one_of("active", "suspended", "canceled", "none"),
            }
        ),
        "verifyJournal": either(
            titled("Exact count", obj({"where": ref("Where")}, operation=ref("OperationName"), times=COUNT)),
            titled(
                "Range of counts",
                obj({"atLeast": COUNT, "atMost": COUNT, "where": ref("Where")}, operation=ref("OperationName")),
            ),
        ),
        "completeSession": obj({"phone": _NAME, "name": _NAME}),
        "failSession": obj(reason=ref("FailureReason")),
        "createWebhook": obj(
            {
                "events": {**array(one_of(*KINDS)), "description": "Kinds of events; all of them if it is left out."},
                "secret": _SECRET,
                "tenantId": {**_NAME, "description": "The default tenant if it is left out."},
            },
            url={
                **TEXT,
                "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://.",
                "description": "An http or https url of this machine, or of a host that the server allows.",
            },
        ),
        "sendCall": obj(
            {
                "headers": {**mapping(TEXT), "maxProperties": 100},
                "bodyBase64": {**TEXT, "description": "The body, empty if it is left out."},
                "timeout": {
                    **ref("Duration"),
                    "description": "After this time by the sandbox's clock the client gives up; without it, never.",
                },
            },
            method={"type": "string", "pattern": "^[A-Za-z]{1,20}$"},
            path={"type": "string", "pattern": "^/[!-~]*$", "maxLength": 60_000},
        ),
        "rotateWebhook": obj(secret=_SECRET),
    }
)
# Bodies without a required property may be left out.
OPTIONAL_BODIES: Final = (
    "createSandbox",
    "createCheckpoint",
    "choose",
    "applyScenario",
    "setTenant",
    "completeSession",
)


def request_components() -> dict[str, JSON]:
    """Return the named schemas of bodies: choices, and every kind of seed data, rule and effect."""
    where = {"type": "string", "pattern": f"^({'|'.join(PATH_ROOTS)})([.]|$)"}
    return {
        **_scenario_components(),
        "Choices": titled("Choices", obj({row.id: _option(row) for row in CHOICES.values()})),
        "Where": titled("Where", {**mapping(ANYTHING), "propertyNames": where}, "Values of a call by path."),
        "OperationName": titled(
            "Operation",
            one_of("*", *OPERATIONS, *(f"{row.method} {row.path}" for row in ENDPOINTS.values())),
            "An operation id, `METHOD /path` of the API document, or `*` for all.",
        ),
        "FailureReason": titled(
            "Reason", one_of("token_exchange_failed", "phone_in_use", "funnel_not_found"), "Why a connection fails."
        ),
    }


def _option(choice: Choice) -> JSON:
    """Return the schema of the values of a choice."""
    options = [{"type": "string", "enum": list(choice.options)}] if choice.options else []
    forms = [*options, *_values(choice)]
    described = {"description": choice.question}
    return {**described, **forms[0]} if len(forms) == 1 else {**described, "oneOf": forms}


def _values(choice: Choice) -> list[JSON]:
    """Return the schema of the numbers that a choice may have instead of an option; none for most choices."""
    least = {"type": "integer", "minimum": LEAST.get(choice.id, 1)}
    if choice.value == "count":
        return [least]
    if choice.value == "rate":
        return [obj({"requests": least, "per": _PERIOD})]
    if not isinstance(choice.default, Mapping):
        return []
    number = nullable(least) if choice.value == "per-platform" else least
    return [obj(dict.fromkeys(choice.default, number))]


# Parts of the schema of scenario documents that have another name as components; the other parts are seed data.
_PARTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "given": "SeedData",
        "call": "RecordedCall",
        **{name: name[0].upper() + name[1:] for name in ("rule", "effects", "when", "latency", "duration", "clock")},
        **{name: name[0].upper() + name[1:] for name in ("instant", "instantOrNull", "id", "idOrNull", "choiceValue")},
    }
)


def _part_name(definition: str) -> str:
    return _PARTS.get(definition) or f"Seed{component_name(definition)}"


def _without_defaults(part: Any) -> Any:
    """Return a schema with its defaults in the descriptions: generators of types demand a property that has one."""
    if isinstance(part, list):
        return [_without_defaults(element) for element in part]
    if not isinstance(part, dict):
        return part
    own = {key: _without_defaults(value) for key, value in part.items()}
    if "default" not in own or not {"title", "type", "enum", "$ref"} & own.keys():
        return own
    default = json.dumps(own.pop("default"), ensure_ascii=False)
    return {**own, "description": f"{own.get('description', '')} By default {default}.".strip()}


def _without_deep_references(part: Any, definitions: Mapping[str, Any]) -> Any:
    """Return a schema with each reference into another definition replaced by its target: generators have no name for it."""
    if isinstance(part, list):
        return [_without_deep_references(element, definitions) for element in part]
    if not isinstance(part, dict):
        return part
    own = {key: _without_deep_references(value, definitions) for key, value in part.items()}
    name, *inner = str(part.get("$ref", "")).removeprefix("#/$defs/").split("/")
    if not inner:
        return own
    target = definitions[name]
    for step in inner:
        target = target[step]
    del own["$ref"]
    return {**_without_deep_references(target, definitions), **own}


def _scenario_components() -> dict[str, JSON]:
    """Return the schema of scenario documents with its parts as components, one for each effect of a rule."""
    whole = schemas.read("scenario")
    definitions = whole.pop("$defs")

    def target(reference: str) -> str:
        return ref(_part_name(reference.removeprefix("#/$defs/")))["$ref"]  # type: ignore[no-any-return]

    components = {
        _part_name(name): _without_defaults(rewritten(_without_deep_references(part, definitions), target))
        for name, part in definitions.items()
    }
    components["Scenario"] = _without_defaults(rewritten(whole, target))
    for holder, key in (("SeedTenant", "secretKey"), ("SeedTenant", "publicKey"), ("SeedWebhook", "secret")):
        del components[holder]["properties"][key]["examples"]  # the document holds no key
    components["Scenario"]["properties"]["choices"] = ref("Choices")
    components["Duration"]["pattern"] = PATTERN
    components["ChoiceValue"]["type"] = ["string", "number", "object", "null"]
    variable = components["SeedTemplateVariable"]
    del variable["dependentSchemas"]  # linters apply it to every variable
    components["SeedCampaign"]["properties"]["filters"]["items"] = ref("FilterGroup")
    effects = components["Effects"]["properties"]
    for name, effect in effects.items():
        components[f"{component_name(name)}Effect"] = effect
        effects[name] = ref(f"{component_name(name)}Effect")
    rule = components["Rule"]
    components["RuleInForce"] = {
        **{key: value for key, value in rule.items() if key != "examples"},
        "title": "Rule in force",
        "description": "A rule as its document has it, with its counts.",
        "properties": {
            **rule["properties"],
            "id": TEXT,
            "scenario": nullable(TEXT),
            "matched": COUNT,
            "fired": COUNT,
            "noTarget": {**TEXT, "description": "Why the last firing had no record to act on."},
        },
        "required": [*rule["required"], "id", "scenario", "matched", "fired"],
    }
    return components
