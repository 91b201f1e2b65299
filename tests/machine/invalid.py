"""Bodies and filters that the gateway refuses, each with one fault, its error code and the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from mockserver._json import JSON
from mockserver.contract import schemas
from mockserver.contract.endpoints import ENDPOINTS, Operation
from mockserver.contract.filters import COMBINATORS, FIELDS, OPERATORS
from mockserver.contract.limits import RETURN_URL_MAX_CHARS
from mockserver.testing.strategies import bodies

_BASE_URL = "https://app.example/"
REQUIRED = "var2"  # of the template with variables in `GIVEN`
_FILTER_ERROR = "CAMPAIGN_INVALID_FILTERS"
_OF_OTHER_TYPES: Mapping[str, tuple[Any, ...]] = {
    "string": (1, True, None, ["a"], {"a": "b"}),
    "integer": ("60", 1.5, True, None, [1]),
    "boolean": ("true", 1, 0, None),
    "array": ({}, "all", 1, None),
    "object": ([], "{}", 1, True),  # not None, which HTTP libraries take for no body at all
}


class Invalid(NamedTuple):
    """
    A body that the gateway refuses.

    Attributes:
        body: The JSON value.
        code: The error code under the default choices.
        why: The fault, such as "name is missing".
    """

    body: Any
    code: str
    why: str


def invalid_bodies(operation: Operation, *, taken: Sequence[str] = ()) -> st.SearchStrategy[Invalid]:
    """Draw bodies that an operation refuses in a sandbox of `GIVEN` with campaigns of these names."""
    makers: Mapping[str, Callable[[Any], Iterator[Invalid]]] = {
        "createCampaign": lambda valid: _wrong_campaigns(valid, taken),
        "startCampaign": _wrong_starts,
        "createConnectionSession": _wrong_sessions,
        "previewAudience": lambda valid: _of_schema("previewAudience", valid),
    }
    valid = bodies(operation)

    def wrong(body: Any) -> st.SearchStrategy[Invalid]:
        by_code: dict[str, list[Invalid]] = {}
        for row in makers[operation](body):
            by_code.setdefault(row.code, []).append(row)
        return st.sampled_from(list(by_code)).flatmap(
            lambda code: st.sampled_from(by_code[code])
        )  # codes equally often

    broken = valid.flatmap(wrong)
    if "filters" not in dict(ENDPOINTS[operation].field_clauses):
        return broken
    filtered = st.tuples(valid, invalid_filters()).map(
        lambda pair: Invalid({**pair[0], "filters": pair[1][0]}, pair[1][1], pair[1][2])
    )
    return st.one_of(broken, filtered)


def _of_schema(operation: str, valid: JSON) -> Iterator[Invalid]:
    for why, body in breaking(schemas.load(f"{operation}.request"), valid):
        yield Invalid(body, "VALIDATION_ERROR", why)


def _wrong_campaigns(valid: JSON, taken: Sequence[str]) -> Iterator[Invalid]:
    yield from _of_schema("createCampaign", valid)
    yield Invalid({**valid, "templateId": "template_nowhere"}, "MESSAGE_TEMPLATE_NOT_FOUND", "an unknown template")
    official = {**valid, "templateId": "template_official", "platform": "chatapp_lite"}
    yield Invalid(official, "CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH", "an official template on chatapp_lite")
    for name in taken:
        yield Invalid({**valid, "name": name}, "CAMPAIGN_NAME_ALREADY_EXISTS", "a name that is taken")


def _wrong_starts(valid: Any) -> Iterator[Invalid]:
    body = valid or {}
    yield from _of_schema("startCampaign", body)
    variables = body.get("commonVariables", {})
    for key in variables:
        yield Invalid({"commonVariables": {**variables, key: 10}}, "VALIDATION_ERROR", f"{key} is a number")
    rest = {key: value for key, value in variables.items() if key != REQUIRED}
    code = "CAMPAIGN_MISSING_COMMON_VARIABLES"
    yield Invalid({"commonVariables": rest}, code, f"{REQUIRED} is missing")
    number = REQUIRED.removeprefix("var")
    yield Invalid({"commonVariables": {**rest, number: "x"}}, code, f"{REQUIRED} is called {number}")


def _wrong_sessions(valid: JSON) -> Iterator[Invalid]:
    yield from _of_schema("createConnectionSession", valid)
    for url in (
        "http://app.example/back",
        "/back",
        "app.example/back",
        "https://",
        "https://user:pass@app.example/",
        "https://user@app.example/",
        "https://app.example/a b",
        "javascript:alert(1)",
        _BASE_URL + "x" * (RETURN_URL_MAX_CHARS - len(_BASE_URL) + 1),
    ):
        yield Invalid({**valid, "returnUrl": url}, "VALIDATION_ERROR", f"returnUrl is {url[:40]}")


def breaking(schema: Mapping[str, Any], valid: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield bodies that violate one rule of an object's schema, derived from a valid one: (reason, body)."""
    for other in _OF_OTHER_TYPES["object"]:
        yield f"the body is {other!r}", other
    for name in schema.get("required", ()):
        yield f"{name} is missing", {key: value for key, value in valid.items() if key != name}
    for name, below in schema.get("properties", {}).items():
        yield from ((f"{name} is {label}", {**valid, name: value}) for label, value in _invalid_values(below))
    if schema.get("additionalProperties") is False:
        yield "a property that is not allowed", {**valid, "unknown": 1}
    for name, companions in schema.get("dependentRequired", {}).items():
        rest = {key: value for key, value in valid.items() if key not in companions}
        yield f"{name} without {' and '.join(companions)}", {**rest, name: "x"}


def _invalid_values(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield values that violate one rule of a property's schema, each with a label."""
    for other in _OF_OTHER_TYPES[schema.get("type", "object")]:
        yield repr(other), other
    if "enum" in schema:
        yield "not a member of its list", f"{schema['enum'][0]}_x"
        yield "in capitals", schema["enum"][0].upper()
    for bound, step in (("minimum", -1), ("maximum", 1)):
        if bound in schema:
            yield f"beyond its {bound}", schema[bound] + step
    if schema.get("minLength"):
        yield "too short", "x" * (schema["minLength"] - 1)
    if "maxLength" in schema:
        yield "too long", "x" * (schema["maxLength"] + 1)
        yield "too long, in emoji", "😀" * (schema["maxLength"] + 1)


def invalid_filters() -> st.SearchStrategy[tuple[Any, str, str]]:
    """Return a strategy of filters that the gateway refuses: (filters, the error code, the reason)."""
    return st.sampled_from([(groups, code, why) for why, code, groups in _malformed()])


def _malformed() -> Iterator[tuple[str, str, Any]]:
    for why, statement in _mistyped():
        for combinator in COMBINATORS:
            yield why, _FILTER_ERROR, [{"combinator": combinator, "statements": [statement]}]
    good = {"field": "chat.status", "operator": "equals", "value": "open"}
    for why, groups in (
        ("a group without combinator", [{"statements": [good]}]),
        ("an unknown combinator", [{"combinator": "xor", "statements": [good]}]),
        ("a group without statements", [{"combinator": "and"}]),
        ("an empty list of statements", [{"combinator": "and", "statements": []}]),
        ("a group within a group", [{"combinator": "and", "statements": [{"combinator": "or", "statements": [good]}]}]),
        ("a statement without a field", [{"combinator": "and", "statements": [{"operator": "exists"}]}]),
        ("a statement without an operator", [{"combinator": "and", "statements": [{"field": "chat.status"}]}]),
        ("a group that is a text", ["chat.status = open"]),
        ("filters that are one group", {"combinator": "and", "statements": [good]}),
        ("filters that are a text", "chat.status = open"),
    ):
        yield why, "VALIDATION_ERROR", groups


def _mistyped() -> Iterator[tuple[str, JSON]]:
    """Yield well-formed statements whose field, operator or value the gateway does not accept."""
    yield "an unknown field", {"field": "chat.mood", "operator": "equals", "value": "good"}
    yield "a field without its prefix", {"field": "status", "operator": "equals", "value": "open"}
    yield "an unknown platform", {"field": "chat.platform", "operator": "equals", "value": "sms"}
    yield (
        "a date without an offset",
        {
            "field": "chat.virtual.lastMessageAt",
            "operator": "greater-than",
            "value": "2026-03-01T12:00:00",
        },
    )
    for field in FIELDS.values():
        yield (
            f"{field.name} with an operator of another type",
            {"field": field.name, "operator": "has-any" if field.type != "array" else "equals", "value": ["a"]},
        )
        wrong: Any = {"string": 1, "number": "10", "boolean": "true", "date": 1772366400, "array": [1]}[field.type]
        first = next(operator for operator in OPERATORS[field.type].values() if operator.operand != "none")
        yield f"{field.name} with {wrong!r}", {"field": field.name, "operator": first.name, "value": wrong}
        yield f"{field.name} with null", {"field": field.name, "operator": first.name, "value": None}
        yield f"{field.name} without its value", {"field": field.name, "operator": first.name}
        for operator in OPERATORS[field.type].values():
            statement = {"field": field.name, "operator": operator.name}
            if operator.operand == "list":
                yield f"{field.name} {operator.name} nothing", {**statement, "value": []}
            if operator.operand == "pair":
                yield f"{field.name} {operator.name} without value2", {**statement, "value": 1}
