"""
The parts of scenario documents as named components, and the choices, for the bodies of the control plane's commands.

The properties are those of the schema file `scenario`; here they are typed further, and have names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mockserver._json import JSON, changed
from mockserver.contract import schemas
from mockserver.contract.choices import CHOICES, Choice
from mockserver.contract.choices.model import LEAST
from mockserver.contract.openapi.parts import component_name, ref, rewritten
from mockserver.contract.openapi.skeleton import apply
from mockserver.server.control.openapi.shapes import nullable, obj, titled


def request_components(written: Mapping[str, JSON]) -> dict[str, JSON]:
    """
    Return the named schemas of bodies that tables have: choices, and every kind of seed data, rule and effect.

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
    least = {"type": "integer", "minimum": LEAST.get(choice.id, 1)}
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
    whole = schemas.read("scenario")
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
