"""Explanations of a schema's errors: the key or value of the document, what is valid there, and the nearest name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from mockserver.contract import schemas
from mockserver.contract.errors import ERRORS
from mockserver.contract.text import brief, closest_match, pointer_keys, pointer_step
from mockserver.core.redaction import to_json_text
from mockserver.scenario.problems import WrongPart

_LISTED_MAX = 15  # of a longer list of names a message has the nearest ones
_SHOWN_CHARS = 80

Schema = Mapping[str, Any]


def explained(schema_name: str, value: object) -> list[WrongPart]:
    """Return every problem of a value with a schema, one per place and keyword."""
    schema = schemas.load(schema_name)
    errors = schemas.check(schema_name, value)
    wrong_type = {error.pointer for error in errors if error.keyword == "type"}
    pointers = [error.pointer.split("/") for error in errors]
    parents = {"/".join(keys[:depth]) for keys in pointers for depth in range(len(keys))}
    problems: dict[WrongPart, None] = {}  # as an ordered set
    for error in errors:
        is_echo = error.keyword != "type" and error.pointer in wrong_type
        is_of_other_alternative = error.keyword == "enum" and error.pointer in parents
        if not is_echo and not is_of_other_alternative:
            problems[_explained(schema, error)] = None
    return list(problems)


def _explained(schema: Schema, error: schemas.SchemaError) -> WrongPart:
    path, keyword = error.pointer, error.keyword
    parent, own = _parts(schema, path[: path.rfind("/")] if path else ""), _parts(schema, path)
    if keyword == "additionalProperties":
        return _unknown_key(schema, parent, error)
    if keyword in ("enum", "const"):
        values = [value for part in own for value in _values(part)]
        return WrongPart(path, _short(error.found), _one_of(values, error.found), _close(error.found, values))
    if keyword == "required":
        alternatives = _alternatives(parent)
        if alternatives and pointer_keys(path)[-1] in alternatives:
            return WrongPart(path[: path.rfind("/")], "neither", f"exactly one of {' and '.join(alternatives)}")
        return WrongPart(path, "nothing", f"{_kinds(own)}: it is required")
    if keyword == "dependentRequired":
        return WrongPart(path, "nothing", error.wanted)
    if keyword == "oneOf" and _alternatives(own):
        return WrongPart(path, "both", f"exactly one of {' and '.join(_alternatives(own))}")
    if keyword == "type":
        return WrongPart(path, _short(error.found), _kinds(own) + _example(own))
    if keyword == "minProperties":
        first = next(iter(_names(own)), "NAME: VALUE")
        return WrongPart(path, _short(error.found), f"an object of at least 1 property, such as {first}")
    return WrongPart(path, _short(error.found), error.wanted)


def _unknown_key(schema: Schema, parent: Sequence[Schema], error: schemas.SchemaError) -> WrongPart:
    *before, key = pointer_keys(error.pointer)
    known = list(dict.fromkeys(_names(parent)))
    below = {inner: f"{name}.{inner}" for name in reversed(known) for inner in reversed(_below(schema, parent, name))}
    got = f"the key {to_json_text(key)}"
    named = [number for number, each in enumerate(before) if not each.isdigit()]  # without the numbers of entries
    around = named[-1] if named else None
    if around is not None and key not in known:
        above = _names(_parts(schema, "".join(map(pointer_step, before[:around]))))
        if key in above:
            return WrongPart(error.pointer, got, f"{key} one level up, next to {before[around]}", key)
    owner = "the document" if around is None else f"`{before[around]}`"
    valid = f"a key of {owner}: {_one_of(known, key, quoted=False)}"
    near = key if key in below else closest_match(key, [*known, *below])
    if near in below and near not in known:
        near = below[near]
    return WrongPart(error.pointer, got, valid, near)


def _below(schema: Schema, parent: Sequence[Schema], name: str) -> list[str]:
    """Return the valid names below this key of the object, if its value is an object."""
    inner = [part["properties"][name] for part in parent if name in part.get("properties", {})]
    return _names([below for part in inner for below in _resolved(schema, part)])


def _names(parts: Sequence[Schema]) -> list[str]:
    return [name for part in parts for name in part.get("properties", ())]


def _parts(schema: Schema, pointer: str) -> list[Schema]:
    """Return the parts of the schema for this place: one, or one per alternative."""
    parts = _resolved(schema, schema)
    for key in pointer_keys(pointer):
        inner = [part.get("properties", {}).get(key) or part.get("additionalProperties") for part in parts]
        inner += [part.get("items") for part in parts if key.isdigit()]
        parts = [below for part in inner if isinstance(part, Mapping) for below in _resolved(schema, part)]
    return parts


def _resolved(schema: Schema, part: Schema) -> list[Schema]:
    """Return the part with its reference resolved, and each of its alternatives."""
    if "$ref" in part:
        target: Any = schema
        for key in part["$ref"].removeprefix("#/").split("/"):
            target = target[key]
        part = {**target, **{key: value for key, value in part.items() if key != "$ref"}}
    parts = [part]
    for alternative in (*part.get("anyOf", ()), *part.get("oneOf", ())):
        if set(alternative) != {"required"}:
            parts += _resolved(schema, alternative)
    return parts


def _alternatives(parts: Sequence[Schema]) -> list[str]:
    """Return the keys of which an object must have exactly one."""
    rows = [row for part in parts for row in part.get("oneOf", ()) if set(row) == {"required"}]
    return [key for row in rows for key in row["required"]]


def _values(part: Schema) -> list[Any]:
    return [*part.get("enum", ()), *([part["const"]] if "const" in part else ())]


def _kinds(parts: Sequence[Schema]) -> str:
    """Return the valid types of a place as text; an enumeration without a type is listed."""
    kinds: list[str] = []
    for part in parts:
        types = part.get("type", ())
        kinds += [schemas.KINDS[kind] for kind in ([types] if isinstance(types, str) else types)]
        values = _values(part)
        kinds += [_one_of(values, "")] if values and not types else []
    return " or ".join(dict.fromkeys(kinds)) or "a value"


def _example(parts: Sequence[Schema]) -> str:
    """Return the first example of an object, which has members that a reader cannot guess."""
    examples = (part["examples"][0] for part in parts if part.get("type") == "object" and part.get("examples"))
    return next((f", such as {_short(example)}" for example in examples), "")


def _one_of(values: Sequence[Any], received: object, *, quoted: bool = True) -> str:
    texts = [json.dumps(value, ensure_ascii=False) if quoted else str(value) for value in values]
    if len(texts) == 1:
        return texts[0]
    if len(texts) <= _LISTED_MAX:
        return f"one of {', '.join(texts)}"
    close = get_close_matches(str(received), [str(value) for value in values], n=3, cutoff=0.5)
    examples = [text for text in texts if text.strip('"') in close] or texts[:3]
    return f"one of {len(texts)}, such as {', '.join(examples)}"


def _close(received: object, known: Sequence[Any]) -> str | None:
    if isinstance(received, int):  # the status of a code, in place of the code
        codes = [code for code in known if code in ERRORS and ERRORS[code].status == received]
        return codes[0] if len(codes) == 1 else None
    return closest_match(received, known) if isinstance(received, str) else None


def _short(received: object) -> str:
    return brief(to_json_text(received), _SHOWN_CHARS)
