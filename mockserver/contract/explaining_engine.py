"""The JSON Schema engine that explains why a value is invalid. It is slow to import; `schemas` imports it for the first such value."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import jsonschema

from mockserver._json import JSON
from mockserver.contract.limits import DIGITS_MAX


def validator(schema: JSON) -> Any:
    """Return a validator of the schema that yields an error for each invalid place."""
    engine: Any = jsonschema.Draft202012Validator
    types = engine.TYPE_CHECKER.redefine_many({"array": _is_array, "integer": _is_integer, "number": _is_number})
    extend: Any = jsonschema.validators.extend
    return extend(engine, {"additionalProperties": _additional_properties}, type_checker=types)(schema)


def _additional_properties(engine: Any, allowed: Any, value: Any, schema: Any) -> Iterator[Any]:
    """Validate as the engine does, but in the order of the value; the engine's order differs between processes."""
    if not isinstance(allowed, dict) or not isinstance(value, dict):
        yield from jsonschema.Draft202012Validator.VALIDATORS["additionalProperties"](engine, allowed, value, schema)
        return
    known = schema.get("properties", {})
    for key, inner in value.items():
        if key not in known:
            yield from engine.descend(inner, allowed, path=key)


def _is_array(_: object, value: object) -> bool:
    return isinstance(value, list | tuple)


def _is_integer(_: object, value: object) -> bool:
    if isinstance(value, Decimal):
        return value.is_finite() and value.adjusted() >= DIGITS_MAX
    is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return is_whole and not isinstance(value, bool)


def _is_number(_: object, value: object) -> bool:
    if isinstance(value, Decimal):
        return value.is_finite()
    return isinstance(value, int) and not isinstance(value, bool) or isinstance(value, float) and math.isfinite(value)
