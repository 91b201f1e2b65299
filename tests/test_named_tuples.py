"""The records' own `NamedTuple`: what it defines behaves as that of `typing`."""

from __future__ import annotations

import copy
import inspect
import pickle
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, get_type_hints

import pytest

import mockserver
from mockserver._records import NamedTuple

DEFINITION: Any = type(NamedTuple)


class Point(NamedTuple):
    """A point."""

    x: int
    y: int = 2
    label: str | None = None

    @property
    def total(self) -> int:
        return self.x + self.y


class StandardPoint(typing.NamedTuple):
    """A point."""

    x: int
    y: int = 2
    label: str | None = None

    @property
    def total(self) -> int:
        return self.x + self.y


class Empty(NamedTuple):
    """A record without fields."""


class Named(Point):
    """A record with a method more than its base."""

    def name(self) -> str:
        return f"{self.label}"


def _matched(point: Any) -> object:
    match point:
        case Point(x, y) | StandardPoint(x, y):
            return x, y
    return None


def _refusal(act: Callable[[], object]) -> type[Exception]:
    with pytest.raises(Exception) as refusal:
        act()
    return refusal.type


BEHAVIOURS: dict[str, Callable[[Any], object]] = {
    "fields": lambda kind: (kind._fields, kind._field_defaults, kind.__match_args__, kind.__slots__),
    "text": lambda kind: repr(kind(1, label="a")).removeprefix("Standard"),
    "values": lambda kind: (kind(1).x, kind(1, 5).y, kind(x=3, label="b").label, kind(1).total, tuple(kind(1, y=4))),
    "equality": lambda kind: (kind(1) == (1, 2, None), kind(1) == kind(1, 2), hash(kind(1)) == hash((1, 2, None))),
    "replaced": lambda kind: (kind(1)._replace(y=9), kind(1)._replace().y, kind(1)._asdict()),
    "made": lambda kind: kind._make(iter([7, 8, "c"])).label,
    "matched": lambda kind: _matched(kind(1)),
    "copied": lambda kind: [way(kind(1)) == kind(1) for way in (copy.copy, copy.deepcopy)],
    "copied by pickle": lambda kind: type(pickle.loads(pickle.dumps(kind(1)))) is kind,
    "hints": get_type_hints,
    "parameters": lambda kind: list(inspect.signature(kind).parameters),
    "defaults of parameters": lambda kind: [each.default for each in inspect.signature(kind).parameters.values()],
    "constructor": lambda kind: (tuple(kind(1)), type(vars(kind)["__new__"]), kind.__new__(kind, 3)),
    "too few": lambda kind: _refusal(lambda: kind()),
    "too many": lambda kind: _refusal(lambda: kind(1, 2, "a", 4)),
    "unknown": lambda kind: _refusal(lambda: kind(1, z=3)),
    "replaced unknown": lambda kind: _refusal(lambda: kind(1)._replace(z=3)),
    "made of too few": lambda kind: _refusal(lambda: kind._make([1])),
    "set": lambda kind: _refusal(lambda: setattr(kind(1), "x", 2)),
    "set unknown": lambda kind: _refusal(lambda: setattr(kind(1), "z", 2)),
}


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_a_record_behaves_as_a_named_tuple_of_the_standard_library(behaviour: str) -> None:
    assert BEHAVIOURS[behaviour](StandardPoint) == BEHAVIOURS[behaviour](Point)


def test_a_refused_record_names_what_is_missing() -> None:
    with pytest.raises(TypeError, match=r"Point\.__new__\(\) missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]


def test_a_look_at_the_parameters_of_a_subclass_leaves_its_own_constructor() -> None:
    class Written(Point):
        def __new__(cls, text: str) -> Self:
            return super().__new__(cls, *map(int, text.split(",")))  # type: ignore[arg-type]

    shown = list(inspect.signature(Written).parameters)

    assert (["text"], (3, 4, None)) == (shown, tuple(Written("3,4")))


def test_a_field_after_one_with_a_default_is_refused() -> None:
    with pytest.raises(TypeError, match="those at the end"):
        DEFINITION("Wrong", (NamedTuple,), {"__annotations__": {"x": "int", "y": "int"}, "x": 1})


def test_a_record_whose_annotations_are_no_texts_is_refused() -> None:
    with pytest.raises(TypeError, match="from __future__ import annotations"):
        DEFINITION("Wrong", (NamedTuple,), {"__annotate_func__": lambda form: {}})


def test_each_module_with_records_asks_for_annotations_as_texts() -> None:
    package = Path(mockserver.__file__).parent
    texts = {file: file.read_text(encoding="utf-8") for file in package.rglob("*.py")}
    users = {file: text for file, text in texts.items() if "import NamedTuple" in text}

    assert users
    assert [] == [file for file, text in users.items() if "from __future__ import annotations" not in text]


def test_a_record_may_have_no_field_and_may_be_a_base() -> None:
    assert () == Empty()
    assert "b" == Named(1, label="b").name()
    assert Named is type(Named(1)._replace(x=2))
