"""Shapes of JSON Schema in few words, for the tables of the control plane's document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mockserver._json import JSON

Shape = Mapping[str, Any]

TEXT: Final[Shape] = {"type": "string"}
WHOLE: Final[Shape] = {"type": "integer"}
COUNT: Final[Shape] = {"type": "integer", "minimum": 0}
NUMBER: Final[Shape] = {"type": "number"}
FLAG: Final[Shape] = {"type": "boolean"}
ANYTHING: Final[Shape] = {}
NULL: Final[Shape] = {"type": "null"}
OBJECT: Final[Shape] = {"type": "object", "additionalProperties": True}
INSTANT: Final[Shape] = {"type": "string", "description": "ISO 8601 date-time in UTC."}


def obj(optional: Mapping[str, Shape] | None = None, /, **required: Shape) -> JSON:
    """Return an object with these properties and no others; a trailing underscore of a name is left out."""
    fixed = {name.rstrip("_"): shape for name, shape in required.items()}
    return {
        "type": "object",
        "properties": {**fixed, **(optional or {})},
        **({"required": list(fixed)} if fixed else {}),
        "additionalProperties": False,
    }


def array(of: Shape) -> JSON:
    """Return an array of elements of this shape."""
    return {"type": "array", "items": of}


def mapping(of: Shape) -> JSON:
    """Return an object with any keys and values of this shape."""
    return {"type": "object", "additionalProperties": of}


def nullable(shape: Shape) -> JSON:
    """Return the shape, or null."""
    if isinstance(shape.get("type"), str) and "enum" not in shape:
        return {**shape, "type": [shape["type"], "null"]}
    return {"anyOf": [shape, NULL]}


def one_of(*values: str) -> JSON:
    """Return a text that is one of these."""
    return {"type": "string", "enum": list(values)}


def either(*shapes: Shape) -> JSON:
    """Return exactly one of these shapes."""
    return {"oneOf": list(shapes)}


def titled(title: str, shape: Shape, description: str = "") -> JSON:
    """Return the shape with a title and a description."""
    return {"title": title, **({"description": description} if description else {}), **shape}
