"""
The JSON Schemas of `schemas/`, by name, and the validation of values with errors in plain English.

1. Two engines, one verdict: a compiled one validates, a slower one explains a failure.
   The slower one also decides what the compiled one cannot read (a lone surrogate, a foreign type).
2. A `Decimal` is a number whose text an int would not preserve: a fraction, or an integer of more than `DIGITS_MAX` digits.
3. Lengths are code points; a tuple is an array; a number is finite, as JSON has no others.
4. The engines are imported when the first value is checked, since they are heavy.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from enum import Enum
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mockserver._data import data_dir
from mockserver._json import JSON, changed
from mockserver.contract.limits import PROBLEMS_MAX
from mockserver.contract.text import closest_match_hint, pointer_step

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator


class Absent(Enum):
    """The type of `ABSENT`, the value of a missing property."""

    ABSENT = "nothing"

    def __repr__(self) -> str:
        return self.value

    __str__ = __repr__


ABSENT: Final = Absent.ABSENT


class SchemaError(NamedTuple):
    """
    One invalid place of a value; `str()` returns a short sentence.

    `pointer` is a JSON Pointer, "" for the whole value; for a missing property it is the property's, and `found` is
    `ABSENT`. `wanted` is what is valid, in plain English, `keyword` the keyword of the schema.
    """

    pointer: str
    found: object
    wanted: str
    keyword: str

    def __str__(self) -> str:
        return f"{self.pointer or 'the whole'}: got {reprlib.repr(self.found)}; expected {self.wanted}"


_Error = Any  # a jsonschema.ValidationError, whose attributes are all set when the engine yields it
_Finding = tuple[str, object, str]  # property, what it is, what is valid

# The types of JSON Schema in words.
KINDS: Final = {
    "string": "a string", "integer": "an integer", "number": "a number", "boolean": "true or false",
    "object": "an object", "array": "an array", "null": "null",
}  # fmt: skip

_WANTED: Final[Mapping[str, Callable[[Any], str]]] = {
    "enum":        lambda values: "one of " + ", ".join(json.dumps(value) for value in values),
    "const":       lambda value: json.dumps(value),
    "minLength":   lambda length: f"text of at least {length} character{'s' * (length != 1)}",
    "maxLength":   lambda length: f"text of at most {length} characters",
    "minimum":     lambda bound: f"a number of at least {bound}",
    "maximum":     lambda bound: f"a number of at most {bound}",
    "minProperties": lambda count: f"an object of at least {count} propert{'y' if count == 1 else 'ies'}",
    "minItems":    lambda count: f"an array of at least {count} element{'s' * (count != 1)}",
    "uniqueItems": lambda _: "an array without repetitions",
}  # fmt: skip


def explained(error: _Error) -> Iterator[SchemaError]:
    """Yield the problems of one error of the explaining engine; of alternatives, those of the nearest ones."""
    pointer = "".join(pointer_step(key) for key in error.absolute_path)
    keyword = str(error.validator)
    depth = len(error.absolute_path)  # an alternative whose type differs is of another kind than the value
    nearest = [each for each in error.context or () if each.validator != "type" or len(each.absolute_path) != depth]
    if keyword in _BY_KEY:
        for key, value, wanted in _BY_KEY[keyword](error):
            yield SchemaError(pointer + pointer_step(key), value, wanted, keyword)
    elif nearest:
        for cause in nearest:
            yield from explained(cause)
    else:
        yield SchemaError(pointer, error.instance, _wanted(error), keyword)


def _wanted(error: _Error) -> str:
    value, schema = error.validator_value, error.schema
    if error.validator == "type":
        return _kind({"type": value})
    if error.validator == "pattern":
        title = schema.get("title") if isinstance(schema, dict) else None
        return str(title) if title else f"text that matches {value}"
    if error.validator in ("anyOf", "oneOf"):
        return " or ".join(_kind(alternative) for alternative in value)
    return _WANTED[error.validator](value) if error.validator in _WANTED else str(error.message)


def _kind(schema: Any) -> str:
    kinds = schema.get("type", ()) if isinstance(schema, dict) else ()
    return " or ".join(KINDS[kind] for kind in ([kinds] if isinstance(kinds, str) else kinds)) or "a value"


def _missing(error: _Error) -> Iterator[_Finding]:
    known = error.schema.get("properties", {}) if isinstance(error.schema, dict) else {}
    for key in error.validator_value:
        if key not in error.instance:
            yield key, ABSENT, f"{_kind(known.get(key))} that is required"


def _dependent(error: _Error) -> Iterator[_Finding]:
    for key, needed in error.validator_value.items():
        for other in needed:
            if key in error.instance and other not in error.instance:
                yield other, ABSENT, f"a value, as {key} is given"


def _unknown(error: _Error) -> Iterator[_Finding]:
    assert isinstance(error.schema, dict)
    known = error.schema.get("properties", {})
    for key, value in error.instance.items():
        if key not in known:
            yield key, value, f"no property but {', '.join(known) or 'none'}"


_BY_KEY: Final[Mapping[str, Callable[[_Error], Iterator[_Finding]]]] = {
    "required": _missing, "dependentRequired": _dependent, "additionalProperties": _unknown,
}  # fmt: skip


@cache
def names() -> tuple[str, ...]:
    """Return the names of the schemas, sorted: the files of `schemas/` without `.json`."""
    return tuple(sorted(path.name.removesuffix(".json") for path in data_dir("schemas").glob("*.json")))


@cache
def load(name: str) -> JSON:
    """
    Return the schema `name`, with every reference to a file replaced by that file; callers must not modify it.

    Raises:
        ValueError: For an unknown name.
    """
    schema: JSON = read(name)
    return changed(schema, _inlined) if '.json"' in _text(name) else schema


def read(name: str) -> JSON:
    """
    Return the schema `name` as its file has it, with references to other files.

    Raises:
        ValueError: For an unknown name.
    """
    schema: JSON = json.loads(_text(name))
    return schema


@cache
def _text(name: str) -> str:
    if name not in names():
        expected = closest_match_hint(name, names()) or f": {', '.join(names())}"
        raise ValueError(f"got the schema {name!r}; expected the name of one{expected}")
    return (data_dir("schemas") / f"{name}.json").read_text(encoding="utf-8")


def is_valid(name: str, value: object) -> bool:
    """Return True if the schema `name` accepts `value`."""
    try:
        fits = _compiled(name).is_valid(value)
    except (ValueError, TypeError, OverflowError, RecursionError):
        return not problems(name, value)
    if fits and _has_decimal(value):  # the compiled engine accepts Decimal("60") as an integer
        return not problems(name, value)
    return fits


def problems(name: str, value: object) -> list[SchemaError]:
    """
    Return the problems of `value` by the schema `name`; empty if the schema accepts it.

    Returns:
        The first `PROBLEMS_MAX` problems, one per place and keyword, the deepest place first.
    """
    unique = {(problem.pointer, problem.keyword): problem for problem in _first_problems(name, value)}
    return sorted(unique.values(), key=lambda problem: (-problem.pointer.count("/"), problem.keyword != "type"))


def _first_problems(name: str, value: object) -> list[SchemaError]:
    first: list[SchemaError] = []
    try:
        errors = _explaining(name).iter_errors(value)
        first.extend(islice((problem for error in errors for problem in explained(error)), PROBLEMS_MAX))
    except (RecursionError, ValueError):  # the engine formats the refused value, which can be too deep or too long
        first.append(SchemaError("", "a value too deep or too long to write", "one that can be written", "size"))
    return first


def check(name: str, value: object) -> list[SchemaError]:
    """Return the same as `problems`, as fast as `is_valid` if there are none."""
    return [] if is_valid(name, value) else problems(name, value)


def _inlined(part: JSON) -> JSON:
    """Return an object of a schema; of a reference to another file that file."""
    if set(part) != {"$ref"} or not part["$ref"].endswith(".json"):
        return part
    whole = load(part["$ref"].removesuffix(".json"))
    return {key: value for key, value in whole.items() if key not in ("$schema", "$id")}


# The two engines


@cache
def _compiled(name: str) -> Draft202012Validator:
    import jsonschema_rs

    return jsonschema_rs.Draft202012Validator(load(name))


@cache
def _explaining(name: str) -> Any:
    from mockserver.contract import explaining_engine

    return explaining_engine.validator(load(name))


def _has_decimal(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_has_decimal, value.values()))
    return any(map(_has_decimal, value)) if isinstance(value, list | tuple) else isinstance(value, Decimal)
