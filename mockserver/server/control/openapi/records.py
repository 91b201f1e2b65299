"""The records in the state of a sandbox as schemas, read from the fields and types of their classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from mockserver._json import JSON
from mockserver.contract.lifecycles import LIFECYCLES
from mockserver.contract.openapi.parts import ref
from mockserver.core.state import records
from mockserver.server.control import views
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
    mapping,
    nullable,
    obj,
    one_of,
)

# The record of each table of a tenant, under the key that the state has for the table.
_TABLES: Final[Mapping[str, type]] = MappingProxyType(
    {
        "funnels": records.Funnel,
        "entrypoints": records.Entrypoint,
        "templates": records.Template,
        "chats": records.Chat,
        "messages": records.Message,
        "forms": records.Form,
        "webhooks": records.Webhook,
        "campaigns": records.Campaign,
        "executions": records.Execution,
        "sessions": records.Session,
        "walks": records.HostedFlow,
        "media": records.Media,
    }
)
_PLAIN: Final[Mapping[Any, Shape]] = MappingProxyType(
    {str: TEXT, int: WHOLE, float: NUMBER, bool: FLAG, bytes: obj(bytes=COUNT, sha256=TEXT), Any: ANYTHING}
)


def record_components() -> dict[str, JSON]:
    """Return a schema of each kind of record by name, such as `CampaignRecord`."""
    nested = (records.TemplateItem, records.Variable)
    return {_name(kind): _record(kind) for kind in (*_TABLES.values(), *nested)}


def tables() -> dict[str, JSON]:
    """Return the properties of a tenant that list its records."""
    return {key: array(ref(_name(kind))) for key, kind in _TABLES.items()}


def _name(record: type) -> str:
    return f"{record.__name__}Record"


def _record(record: type) -> JSON:
    fields = _fields(record)
    if record is records.Chat:  # the view writes the shared attributes as the chat's own
        del fields["attributes"]
        fields |= _fields(records.ChatAttributes)
    extra = {"targets": array(TEXT), "template": TEXT} if record is records.Execution else {}
    return {"title": f"{record.__name__} in the state", **obj(**fields, **extra)}


def _fields(record: type) -> dict[str, Shape]:
    hints = get_type_hints(record)
    return {key: _field(record, name, hints[name]) for name, key in views.record_keys(record)}


def _field(record: type, name: str, hint: Any) -> Shape:
    if name == "status" and record.__name__.lower() in LIFECYCLES:
        return one_of(*LIFECYCLES[record.__name__.lower()].states)
    if hint is records.SendSchedule:
        return obj(target=COUNT, sent=COUNT, failed=COUNT)
    shape = _shape(hint)
    if name not in views.INSTANTS:
        return shape
    return INSTANT if "null" not in shape["type"] else nullable(INSTANT)


def _shape(hint: Any) -> Shape:
    """Return the schema of a value of this type, as the view of the state writes it."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    if is_dataclass(hint) and isinstance(hint, type):
        return ref(_name(hint))
    kind, parts = get_origin(hint), get_args(hint)
    if kind in (UnionType, Union):
        (inner,) = (part for part in parts if part is not NoneType)
        return nullable(_shape(inner))
    if kind is Mapping:
        return mapping(_shape(parts[1]))
    assert kind in (tuple, Sequence)
    return array(_shape(parts[0]))
