"""
The answers of the control plane as schemas, made of the types that its handlers return (`control.answers`).

The records in the state of a sandbox have the schemas that the fields and types of their classes give.
"""

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
from mockserver.contract.lifecycles import LIFECYCLES
from mockserver.contract.openapi.parts import ref
from mockserver.core.state import records
from mockserver.server.control import answers, views
from mockserver.server.control.openapi.shapes import (
    ANYTHING,
    COUNT,
    FLAG,
    INSTANT,
    NUMBER,
    TEXT,
    WHOLE,
    Shape,
    array,
    either,
    mapping,
    nullable,
    obj,
    one_of,
    titled,
)

_PLAIN: Final[Mapping[Any, Shape]] = MappingProxyType(
    {str: TEXT, int: WHOLE, float: NUMBER, bool: FLAG, bytes: obj(bytes=COUNT, sha256=TEXT), Any: ANYTHING}
)
FILE: Final[Shape] = MappingProxyType({"type": "string", "format": "binary"})


def answer(handler: Callable[..., Any]) -> JSON | None:
    """Return the schema of what a handler returns; None for no content."""
    name = str(handler.__annotations__["return"]).rpartition(".")[2]
    if name == "HttpResponse":  # a file, as it is
        return dict(FILE)
    if name in ("None", "str"):
        return None if name == "None" else dict(TEXT)
    return _schema(getattr(answers, name))


def answer_components() -> dict[str, JSON]:
    """Return the named schemas of the answers."""
    named = [kind for kind in vars(answers).values() if answers.is_component(kind)]
    components = {kind.__name__: titled(kind.__name__, _object(kind)) for kind in named}
    tables = (get_args(hint) for hint in get_type_hints(answers.TenantState).values() if get_origin(hint) is list)
    kinds = (*(record for (record,) in tables), records.TemplateItem, records.Variable)
    return components | {_record_name(kind): _record(kind) for kind in kinds}


def _schema(hint: Any) -> JSON:
    """Return the schema of a type; of a field of a record as the view of the state writes it."""
    kind, parts = get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    if is_typeddict(hint):
        return ref(hint.__name__) if answers.is_component(hint) else _object(hint)
    if getattr(hint, "__match_args__", ()):  # a record
        return ref(_record_name(hint))
    if kind is Annotated:
        return _annotated(*parts)
    if kind is NotRequired:
        return _schema(parts[0])
    if kind is Literal:
        return {"type": "integer" if isinstance(parts[0], int) else "string", "enum": list(parts)}
    if kind in (UnionType, Union):
        shapes = [_schema(part) for part in parts if part is not NoneType]
        return nullable(shapes[0]) if NoneType in parts else either(*shapes)
    return mapping(_schema(parts[1])) if kind in (dict, Mapping) else array(_schema(parts[0]))


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


def _record_name(record: Any) -> str:
    return f"{record.__name__}Record"


def _record(record: type) -> JSON:
    fields = _record_fields(record)
    if record is records.Chat:  # the view writes the shared attributes as the chat's own
        del fields["attributes"]
        fields |= _record_fields(records.ChatAttributes)
    extra = {"targets": array(TEXT), "template": TEXT} if record is records.Execution else {}
    return {"title": f"{record.__name__} in the state", **obj(**fields, **extra)}


def _record_fields(record: type) -> dict[str, Shape]:
    hints = get_type_hints(record)
    return {key: _record_field(record, name, hints[name]) for name, key in views.record_keys(record)}


def _record_field(record: type, name: str, hint: Any) -> Shape:
    if name == "status" and record.__name__.lower() in LIFECYCLES:
        return one_of(*LIFECYCLES[record.__name__.lower()].states)
    if hint is records.SendSchedule:
        return obj(target=COUNT, sent=COUNT, failed=COUNT)
    shape = _schema(hint)
    if name not in views.INSTANTS:
        return shape
    return INSTANT if "null" not in shape["type"] else nullable(INSTANT)
