"""The public Python names: what the reference documents, and their forms as a stub, which griffe compares."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from docs.reference import python
from docs.reference.__main__ import SOURCES

ROOT = python.ROOT
_OF_NO_USER: Final = frozenset(("__getattr__", "__hash__", "__post_init__", "__repr__", "__str__"))


def documented() -> dict[str, python.Documented]:
    """Return what the reference documents, by import path."""
    return python.documented("\n".join(path.read_text(encoding="utf-8") for path in sorted(SOURCES.glob("*.md"))))


@cache
def stub() -> str:
    """Return the signatures of the public functions, and of the public members of the public classes, as Python."""
    objects: dict[str, python.Documented] = {}
    for path, each in documented().items():
        objects.setdefault(path.rpartition(".")[2], each)  # the calls of a sandbox and of a recording have one name
    texts = []
    for name in sorted(objects):
        found = python.read(objects[name].value)
        is_made = objects[name].is_made
        texts.append("\n".join(_class(found, has_constructor=not is_made) if found.is_class else _function(found)))
    return "\n\n".join(texts) + "\n"


def _class(found: Any, *, has_constructor: bool) -> Iterator[str]:
    bases = ", ".join(str(base) for base in found.bases)
    yield f"class {found.name}({bases}):" if bases else f"class {found.name}:"
    lines: list[str] = []
    for name, member in sorted(found.all_members.items()):
        is_special = name.startswith("__") and name not in _OF_NO_USER and member.is_function
        if name == "__init__" and not has_constructor:
            continue
        if is_special or not name.startswith("_"):
            lines += _function(member) if member.is_function else _attribute(member)
    yield from (f"    {line}" for line in lines or ["..."])


def _function(found: Any) -> Iterator[str]:
    yield from (f"@{kind}" for kind in ("classmethod", "staticmethod") if kind in found.labels)
    own = [row for row in found.parameters if row.name in ("self", "cls")]
    returned = f" -> {found.returns}" if found.returns is not None else ""
    yield f"{'async ' * ('async' in found.labels)}def {found.name}({python.signature([*own, *python.parameters_of(found)])}){returned}: ..."


def _attribute(found: Any) -> Iterator[str]:
    annotation = found.annotation if found.is_attribute else None
    yield f"{found.name}: {annotation if annotation is not None else '...'}"
