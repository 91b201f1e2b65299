"""
The components of the public API's document: the schema files, typed further, under the choices in force.

1. A filter's statement is one of seventeen schemas, by its `field`, so that generators make one type of each; each has one
   alternative for each form of operand. Choices that admit other operands widen the type of `value`.
   A field whose values the API document does not list has no enumeration, which the `changes` of the skeleton remove: a
   generated client would fail at a value that it may well meet.
2. Where a choice only decides which of the shapes of a schema an answer has, the schema holds all of them.
3. Where a choice makes answers that the schemas of the document exclude, or refuses other bodies, its row has what changes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from sys import float_info
from typing import Any, Final

from mockserver._json import JSON
from mockserver.contract.choices import CHOICES
from mockserver.contract.choices.document import with_nulls
from mockserver.contract.endpoints import ENDPOINTS
from mockserver.contract.filters import COMBINATORS, FIELDS, OPERATORS, PART_OPERATORS, FilterField, Operand
from mockserver.contract.lifecycles import EVENTS
from mockserver.contract.limits import FILTER_ENTRIES_MAX, JSON_VALUES_MAX
from mockserver.contract.openapi.parts import component_name, ref, schema_files
from mockserver.contract.openapi.patterns import HTTPS_URL, filter_date
from mockserver.contract.openapi.skeleton import apply, filled, place

Choices = Mapping[str, object]
Components = dict[str, JSON]
# `date-time` is the form of RFC 3339, the one that generators and validators have.
_BEYOND_RFC_3339: Final = "forms beyond RFC 3339 are accepted too (fixed decision date-format)."
_CONDITIONS = ("if", "then", "else", "allOf")


def public_components(written: JSON, choices: Choices) -> Components:
    """
    Return the schemas of the public API by name, as the choices have them.

    Args:
        written: the `schemas` of the skeleton: `components` that no schema file has, `changes` of the others, and which parts
            of them are `named`: an object becomes a component, one whose fields depend on the value of a key a union.
        choices: every choice with its option.
    """
    written = filled(written, {"combinators": list(COMBINATORS), "httpsUrl": HTTPS_URL, "valuesMax": JSON_VALUES_MAX})
    files = [name for row in ENDPOINTS.values() for name in (row.request_schema, row.response_schema) if name]
    components = schema_files((*files, "error", *(event.schema for event in EVENTS.values())))
    components |= _filter_components(written["components"], choices)
    apply(components, written["changes"])
    for pointer, part in written["named"].items():
        _name_part(components, pointer, part)
    edits = [
        row.document[str(choices[row.id])]
        for row in CHOICES.values()
        if row.document and choices[row.id] in row.document
    ]
    for edit in sorted(edits, key=lambda edit: edit is with_nulls):  # last: it wraps what the others change
        edit(components)
    return components


def error_component(operation: str, status: int, codes: list[str], component: JSON) -> JSON:
    """Return the schema of an operation's error bodies that have this status and one of these codes."""
    own = {"statusCode": {"type": "integer", "const": status}, "code": {"type": "string", "enum": codes}}
    # Generators make a type of each, and name it by its title.
    return {**component, "title": f"{operation} {status}", "properties": {**component["properties"], **own}}


def _name_part(components: Components, pointer: str, part: JSON) -> None:
    """
    Replace the part of a component at a place by a reference to a component `name`, or by a union `by` the values of a key.

    The variants of a union have the `names` of the values, or are named by a pattern: `{}` is the value, capitalised.
    """
    parent, key = place(components, pointer)
    whole = {**({"title": part["title"]} if "title" in part else {}), **parent[key]}
    if "name" in part:
        components[part["name"]], parent[key] = whole, ref(part["name"])
        return
    status = whole["properties"][part["by"]]
    values = (components["ExecutionStatus"] if "$ref" in status else status).get("enum", (True, False))
    names = part["names"]
    named = {
        value: names.format(value.capitalize()) if isinstance(names, str) else names[json.dumps(value)]
        for value in values
    }
    parent[key], variants = _union(whole, part["by"], named)
    components |= variants


def _union(schema: JSON, key: str, names: Mapping[Any, str]) -> tuple[JSON, dict[str, JSON]]:
    """
    Return the union of an object schema's variants by the value of `key`, and the variants by name.

    Generators of types ignore `if` and `then`, and turn a `oneOf` whose members have a constant property into a union.

    Args:
        schema: an object schema whose conditions, if it has any, test `key` alone.
        key: a required property with a closed set of values.
        names: the name of the variant of each value.
    """
    variants = {name: _variant(schema, key, value) for value, name in names.items()}
    whole: JSON = {name: text for name, text in schema.items() if name in ("title", "description")}
    whole["oneOf"] = [ref(name) for name in variants]
    if all(isinstance(value, str) for value in names):
        mapping = {value: ref(name)["$ref"] for value, name in names.items()}
        whole["discriminator"] = {"propertyName": key, "mapping": mapping}
    return whole, variants


def _variant(schema: JSON, key: str, value: Any) -> JSON:
    """Return the schema of the objects whose `key` has this value."""
    properties, required = dict(schema["properties"]), list(schema["required"])
    conditions = [*schema.get("allOf", ()), *([schema] if "if" in schema else ())]
    for condition in conditions:
        holds = condition["if"]["properties"][key]["const"] == value
        consequence = condition.get("then" if holds else "else", {})
        required += [name for name in consequence.get("required", ()) if name not in required]
        for name, then in consequence.get("properties", {}).items():
            properties[name] = _narrowed(properties[name], then)
    kind = "boolean" if isinstance(value, bool) else "string"
    properties[key] = {"type": kind, "const": value}
    own = {name: part for name, part in schema.items() if name not in (*_CONDITIONS, "title", "description")}
    return {"title": f"{schema.get('title', 'Object')}: {str(value).lower()}", **own} | {
        "properties": properties,
        "required": required,
    }


def _narrowed(base: JSON, then: JSON) -> JSON:
    """Return a property's schema as the consequence of a condition narrows it."""
    if then == {"type": "null"}:
        return then
    if "enum" in then or "const" in then:
        return {"type": "string", **then}
    kinds = [alternative for alternative in base.get("anyOf", ()) if alternative != {"type": "null"}]
    return kinds[0] if kinds else {**base, **then}


def _filter_components(written: Mapping[str, JSON], choices: Choices) -> dict[str, JSON]:
    """Return the components of filters by name: the list, a group and a statement, as `written`, and a statement of each field."""
    statements = {f"{component_name(name)}Statement": _statement(field, choices) for name, field in FIELDS.items()}
    may_be_empty = choices["group-no-statements"] != "reject"
    # Groups and statements are counted together: if each group has one statement at least, half of them are groups.
    most = FILTER_ENTRIES_MAX if may_be_empty else FILTER_ENTRIES_MAX // 2
    filters = {**written["Filters"], **_bounds(choices["filters-empty-list"] != "reject", most)}
    group = {**written["FilterGroup"], **_closed(choices)}
    group["properties"]["statements"] |= _bounds(may_be_empty, FILTER_ENTRIES_MAX - 1)
    any_statement = {**written["FilterStatement"], "oneOf": [ref(name) for name in statements]}
    return {"Filters": filters, "FilterGroup": group, "FilterStatement": any_statement, **statements}


def _bounds(may_be_empty: bool, most: int) -> JSON:
    return {"maxItems": most} if may_be_empty else {"minItems": 1, "maxItems": most}


def _statement(field: FilterField, choices: Choices) -> JSON:
    """Return the schema of the statements on a field: an alternative for each form of operand that its operators have."""
    kinds: dict[tuple[Operand, bool], list[str]] = {}
    for operator in OPERATORS[field.type].values():
        takes_part = operator.name in PART_OPERATORS and choices["platform-text-operators"] == "text"
        kinds.setdefault((operator.operand, takes_part and field.allowed is not None), []).append(operator.name)
    return {
        "title": f"Statement on {field.name}",
        "description": f"The value's format: {field.value_format}.",
        "oneOf": [
            _alternative(field, operators, operand, _scalar(field, choices, is_part), choices)
            for (operand, is_part), operators in kinds.items()
        ],
    }


def _alternative(field: FilterField, operators: list[str], operand: Operand, scalar: JSON, choices: Choices) -> JSON:
    operands: Mapping[Operand, JSON] = {
        "none": {},
        "one": {"value": scalar},
        "list": {"value": {"type": "array", "items": scalar, "minItems": 1, "maxItems": JSON_VALUES_MAX}},
        "pair": {"value": scalar, "value2": scalar},
    }
    ignored: JSON = {"value": {}, "value2": {}} if _closed(choices) else {}
    own = {"field": {"type": "string", "const": field.name}, "operator": {"type": "string", "enum": operators}}
    return {
        "type": "object",
        "properties": {**own, **ignored, **operands[operand]},
        "required": [*own, *operands[operand]],
        **_closed(choices),
    }


def _closed(choices: Choices) -> JSON:
    return {"additionalProperties": False} if choices["unknown-body-keys"] == "reject" else {}


def _scalar(field: FilterField, choices: Choices, is_part: bool) -> JSON:
    """Return the schema of one operand; a lenient choice admits a date, and a date-time without an offset, as a date-time."""
    if field.type == "date":
        pattern = {"type": "string", "pattern": filter_date(choices)}
        if choices["date-only-and-naive"] != "reject":
            return pattern
        offset = "with Z" if choices["date-offset"] == "z-only" else "with Z or an offset"
        return pattern | {
            "description": f"An ISO 8601 date-time {offset}; {_BEYOND_RFC_3339}",
            "format": "date-time",
        }
    if field.type == "number":
        return {"type": "number", "minimum": -float_info.max, "maximum": float_info.max}
    if field.type == "boolean":
        return {"type": "boolean"}
    if field.allowed is None or is_part or choices["platform-value-unknown"] == "match-none":
        return {"type": "string"}
    return {"type": "string", "enum": list(field.allowed)}
