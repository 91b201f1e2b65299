"""JSON values: the types of an object, for signatures; what a type says of its schema; the change of every object in a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

JSON = dict[str, Any]
View = Mapping[str, Any]  # an object that its reader does not change


class Schema(dict[str, Any]):
    """Keywords of a schema as `Annotated` takes them: hashable, since unions compare their parts by hash."""

    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)


Count = Annotated[int, Schema(minimum=0)]
InstantText = Annotated[str, "ISO 8601 date-time in UTC."]


def changed(value: Any, change: Callable[[JSON], Any]) -> Any:
    """Return a copy of a value in which `change` has replaced each object, the inner ones first."""
    if isinstance(value, list):
        return [changed(element, change) for element in value]
    if not isinstance(value, dict):
        return value
    return change({key: changed(item, change) for key, item in value.items()})
