"""
The body of a success, held to its schema, with two things taken apart first that the document leaves open.

Fields beyond the listed ones are `additive-fields`; a value beyond an open list is `new-enum-values`. What is left
to complain about is a breach of the contract.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mockserver.contract import schemas

Place = tuple[str, ...]

# Lists of values that the document leaves open, by operation; a place is its keys, without the numbers of elements.
OPEN_LISTS: Final[Mapping[str, frozenset[Place]]] = {
    "listTemplates": frozenset({("templates", "providerTemplateStatus")}),
    "readTemplate": frozenset({("items", "type")}),
    "readEntrypoint": frozenset({("entrypoint", "platform")}),
    "readConnectionSession": frozenset({("entrypoint", "platform")}),
    "listMessages": frozenset({("records", "type"), ("records", "status")}),
}
# "Response shape: not shown", and "required fields of a message record: not shown".
SHAPE_OPEN: Final = frozenset({"readFilterSchema"})
REQUIRED_OPEN: Final = frozenset({"listMessages"})


@dataclass
class Shape:
    """What a body is like beside its schema: unlisted fields, values of open lists and those unlisted, and breaches."""

    extras: list[str] = field(default_factory=list)
    listed: int = 0
    unlisted: list[str] = field(default_factory=list)
    breaches: list[str] = field(default_factory=list)


def read(operation: str, body: Any) -> Shape:
    """The shape of a success body of this operation."""
    shape = Shape()
    if operation in SHAPE_OPEN:
        return shape
    name = f"{operation}.response"
    plain = _walk(schemas.load(name), body, (), OPEN_LISTS.get(operation, frozenset()), shape)
    for problem in schemas.check(name, plain):
        if problem.keyword != "required" or operation not in REQUIRED_OPEN:
            shape.breaches.append(str(problem))
    return shape


def _walk(schema: Any, value: Any, place: Place, open_lists: frozenset[Place], shape: Shape) -> Any:
    """The value without unlisted fields, and with a listed value where an open list has an unlisted one."""
    for alternative in schema.get("anyOf", ()):
        if isinstance(value, dict) and "properties" in alternative:
            return _walk(alternative, value, place, open_lists, shape)
    if isinstance(value, list):
        return [_walk(schema.get("items", {}), each, place, open_lists, shape) for each in value]
    if isinstance(value, dict) and "properties" in schema:
        known = schema["properties"]
        shape.extras += ["/".join((*place, key)) for key in value if key not in known]
        return {
            key: _walk(known[key], each, (*place, key), open_lists, shape)
            for key, each in value.items()
            if key in known
        }
    if place in open_lists and isinstance(value, str) and value:
        if value in schema.get("enum", ()):
            shape.listed += 1
            return value
        shape.unlisted.append("/".join(place) + f" = {value!r}")
        return schema["enum"][0]
    return value
