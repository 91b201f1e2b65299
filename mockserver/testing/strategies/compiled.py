"""A strategy of what fits a JSON Schema, and values that break one of its rules: as much of JSON Schema as our requests use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hypothesis import strategies as st

from mockserver.testing.strategies import values

Schema = Mapping[str, Any]
Own = Mapping[str, st.SearchStrategy[Any]]  # by property: what knows more of it than the schema does

_OF_OTHER_TYPES: Mapping[str, tuple[Any, ...]] = {
    "string": (1, True, None, ["a"], {"a": "b"}),
    "integer": ("60", 1.5, True, None, [1]),
    "boolean": ("true", 1, 0, None),
    "array": ({}, "all", 1, None),
    "object": ([], "{}", 1, True),  # not None, which HTTP libraries take for no body at all
}


def fitting(schema: Schema, own: Own | None = None) -> st.SearchStrategy[Any]:
    """Values that fit the schema; refuses with ValueError a schema of a kind that no request has."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kind = schema.get("type")
    if kind == "string":
        return values.texts(schema.get("minLength", 0), schema.get("maxLength"))
    if kind == "integer":
        return values.integers(schema["minimum"], schema["maximum"])
    if kind == "boolean":
        return st.booleans()
    if kind == "array":
        return st.lists(fitting(schema["items"]), min_size=schema.get("minItems", 0), max_size=3)
    if kind == "object":
        return _objects(schema, own or {})
    raise ValueError(f"a schema of type {kind!r}; wanted string, integer, boolean, array or object")


def _objects(schema: Schema, own: Own) -> st.SearchStrategy[Any]:
    properties = schema.get("properties", {})
    if not properties:
        return st.dictionaries(values.texts(1, 10), fitting(schema["additionalProperties"]), max_size=3)
    each = {name: own[name] if name in own else fitting(below) for name, below in properties.items()}
    wanted = {name: each[name] for name in properties if name in schema.get("required", ())}
    extra = {name: each[name] for name in properties if name not in wanted}
    together = schema.get("dependentRequired", {})
    return st.fixed_dictionaries(wanted, optional=extra).map(lambda drawn: _without_orphans(drawn, together))


def _without_orphans(drawn: Any, together: Mapping[str, list[str]]) -> Any:
    """The object without the properties whose companions it lacks."""
    return {name: value for name, value in drawn.items() if all(each in drawn for each in together.get(name, ()))}


def breaking(schema: Schema, valid: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Bodies that break one rule of an object's schema each, made from a valid one: (what is wrong, body)."""
    for other in _OF_OTHER_TYPES["object"]:
        yield f"the body is {other!r}", other
    for name in schema.get("required", ()):
        yield f"{name} is missing", {key: value for key, value in valid.items() if key != name}
    for name, below in schema.get("properties", {}).items():
        for told, value in _wrong(below):
            yield f"{name} is {told}", {**valid, name: value}
    if schema.get("additionalProperties") is False:
        yield "a property that is not allowed", {**valid, "unknown": 1}
    for name, companions in schema.get("dependentRequired", {}).items():
        lonely = {key: value for key, value in valid.items() if key not in companions}
        yield f"{name} without {' and '.join(companions)}", {**lonely, name: "x"}


def _wrong(schema: Schema) -> Iterator[tuple[str, Any]]:
    """Values that break one rule of a property's schema each, with what to call them."""
    for other in _OF_OTHER_TYPES[schema.get("type", "object")]:
        yield repr(other), other
    if "enum" in schema:
        yield "no member of its list", f"{schema['enum'][0]}_x"
        yield "in capitals", schema["enum"][0].upper()
    for bound, step in (("minimum", -1), ("maximum", 1)):
        if bound in schema:
            yield f"beyond its {bound}", schema[bound] + step
    if schema.get("minLength"):
        yield "too short", "x" * (schema["minLength"] - 1)
    if "maxLength" in schema:
        yield "too long", "x" * (schema["maxLength"] + 1)
        yield "too long, in emoji", "😀" * (schema["maxLength"] + 1)
