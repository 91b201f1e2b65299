"""What is wrong with a value, in plain English: made from the errors of the explaining schema engine."""

import json
import re
import reprlib
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any, Final, NamedTuple


class Absent(Enum):
    """What was found where nothing was; its one member is `ABSENT`."""

    ABSENT = "nothing"

    def __repr__(self) -> str:
        return self.value

    __str__ = __repr__


ABSENT: Final = Absent.ABSENT


class Problem(NamedTuple):
    """
    One place that does not fit: `str()` makes a short sentence of it.

    `pointer` is a JSON Pointer, "" for the whole value; it points at a missing property itself, and `found`
    is then `ABSENT`. `wanted` is plain English, `keyword` the schema's word for the rule.
    """

    pointer: str
    found: object
    wanted: str
    keyword: str

    def __str__(self) -> str:
        return f"{self.pointer or 'the whole'}: {reprlib.repr(self.found)} where {self.wanted} is wanted"


_Error = Any  # a jsonschema.ValidationError, whose attributes are all set once it comes out of the engine
_Finding = tuple[str, object, str]  # property, what is there, what is wanted

_KINDS: Final = {
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
    "false":       lambda _: "nothing",
}  # fmt: skip


def explained(error: _Error) -> Iterator[Problem]:
    """The problems that one error of the explaining engine stands for; of alternatives, those of the nearest ones."""
    pointer = "".join(_step(key) for key in error.absolute_path)
    keyword = str(error.validator)
    nearest = [cause for cause in error.context or () if not _is_of_other_kind(cause, error)]
    if keyword in _BY_KEY:
        for key, found, wanted in _BY_KEY[keyword](error):
            yield Problem(pointer + _step(key), found, wanted, keyword)
    elif nearest:
        for cause in nearest:
            yield from explained(cause)
    else:
        yield Problem(pointer, error.instance, _wanted(error), keyword)


def _step(key: object) -> str:
    return "/" + str(key).replace("~", "~0").replace("/", "~1")


def _is_of_other_kind(cause: _Error, error: _Error) -> bool:
    return cause.validator == "type" and len(cause.absolute_path) == len(error.absolute_path)


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
    return " or ".join(_KINDS[kind] for kind in ([kinds] if isinstance(kinds, str) else kinds)) or "a value"


def _missing(error: _Error) -> Iterator[_Finding]:
    known = error.schema.get("properties", {}) if isinstance(error.schema, dict) else {}
    for key in error.validator_value:
        if key not in error.instance:
            yield key, ABSENT, f"{_kind(known.get(key))} that is required"


def _dependent(error: _Error) -> Iterator[_Finding]:
    for key, needed in error.validator_value.items():
        for other in needed:
            if key in error.instance and other not in error.instance:
                yield other, ABSENT, f"a value, as {key} is given,"


def _unknown(error: _Error) -> Iterator[_Finding]:
    assert isinstance(error.schema, dict)
    known, patterns = error.schema.get("properties", {}), error.schema.get("patternProperties", {})
    for key, found in error.instance.items():
        if key not in known and not any(re.search(pattern, key) for pattern in patterns):
            yield key, found, f"no property but {', '.join(known) or 'none'}"


_BY_KEY: Final[Mapping[str, Callable[[_Error], Iterator[_Finding]]]] = {
    "required": _missing, "dependentRequired": _dependent, "additionalProperties": _unknown,
}  # fmt: skip
