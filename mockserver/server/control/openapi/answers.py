"""The answers of the control plane as schemas, made of the types that its handlers return (`control.answers`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType, NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from mockserver._json import JSON
from mockserver.server.control import answers
from mockserver.server.control.openapi.records import record_components, tables
from mockserver.server.control.openapi.shapes import (
    ANYTHING,
    FLAG,
    NUMBER,
    TEXT,
    WHOLE,
    Shape,
    array,
    either,
    mapping,
    nullable,
    obj,
    ref,
    titled,
)

# These have a name in the document; the others are written out where they are.
_NAMED: Final = (
    "AppliedScenario", "ChoiceList", "ClockState", "ConductReport", "ControlError", "Coverage", "CoveredItems",
    "CreatedSandbox", "CreatedWebhook", "EventEntry", "EventInFull", "Exchange", "FiredTimer", "History", "Ledger",
    "PathDifference", "Problem", "Report", "State", "TenantSettings", "TenantState", "Transition",
)  # fmt: skip
_PLAIN: Final[Mapping[Any, Shape]] = MappingProxyType({str: TEXT, int: WHOLE, float: NUMBER, bool: FLAG, Any: ANYTHING})
FILE: Final[Shape] = MappingProxyType({"type": "string", "format": "binary"})


def answer(handler: Callable[..., Any]) -> JSON | None:
    """Return the schema of what a handler returns; None for no content."""
    name = str(handler.__annotations__["return"]).rpartition(".")[2]
    if name == "HttpResponse":  # a file, as it is
        return dict(FILE)
    if name in ("None", "str", "bytes"):  # bytes are a text in UTF-8
        return None if name == "None" else dict(TEXT)
    return _schema(getattr(answers, name))


def answer_components() -> dict[str, JSON]:
    """Return the named schemas of the answers."""
    components = {name: titled(name, _object(getattr(answers, name))) for name in _NAMED}
    state = components["TenantState"]
    state["properties"] |= tables()
    state["required"] += tables()
    return components | record_components()


def _schema(hint: Any) -> JSON:
    """Return the schema of a type."""
    kind, parts = get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    if is_typeddict(hint):
        return ref(hint.__name__) if hint.__name__ in _NAMED else _object(hint)
    if kind is Annotated:
        return _annotated(*parts)
    if kind is NotRequired:
        return _schema(parts[0])
    if kind is Literal:
        return {"type": "integer" if isinstance(parts[0], int) else "string", "enum": list(parts)}
    if kind in (UnionType, Union):
        shapes = [_schema(part) for part in parts if part is not NoneType]
        return nullable(shapes[0]) if NoneType in parts else either(*shapes)
    return array(_schema(parts[0])) if kind is list else mapping(_schema(parts[1]))


def _annotated(base: Any, *added: Any) -> JSON:
    shape = _object(base) if answers.INLINE in added else _schema(base)
    for each in added:
        if isinstance(each, str):
            shape = {**shape, "description": each}
        elif isinstance(each, Mapping):
            is_whole = not each.keys().isdisjoint(("type", "$ref", "oneOf"))
            shape = dict(each) if is_whole else {**({"title": ""} if "title" in each else {}), **shape, **each}
    return shape


def _object(kind: Any) -> JSON:
    hints = {key: _schema(hint) for key, hint in get_type_hints(kind, include_extras=True).items()}
    optional = {key: shape for key, shape in hints.items() if key in kind.__optional_keys__}
    return obj(optional, **{key: shape for key, shape in hints.items() if key not in optional})
