"""The public Python names: what the reference documents, and their forms as a stub, which griffe compares."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import griffe

ROOT = Path(__file__).resolve().parents[2]
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "reference").glob("*.md")}
_DIRECTIVE = re.compile(r"^\.\. auto(?:class|exception|function|module):: ([\w.]+)(\(\))?", re.MULTILINE)
_OF_NO_USER = frozenset(("__getattr__", "__hash__", "__post_init__", "__repr__", "__str__"))


def documented() -> dict[str, Any]:
    """Return the objects that the reference documents, by import path; of a module those that `__all__` names."""
    objects: dict[str, Any] = {}
    for path, _ in _DIRECTIVE.findall("\n".join(PAGES.values())):
        found = _imported(path)
        if inspect.ismodule(found):
            own = [name for name, value in vars(found).items() if getattr(value, "__module__", "") == path]
            names = [name for name in getattr(found, "__all__", own) if not name.startswith("_")]
            objects |= {f"{path}.{name}": getattr(found, name) for name in names if callable(getattr(found, name))}
        else:
            objects[path] = found
    return objects


def _imported(path: str) -> Any:
    module, _, name = path.rpartition(".")
    try:
        return importlib.import_module(path)
    except ImportError:
        return getattr(importlib.import_module(module), name)


@cache
def stub() -> str:
    """Return the signatures of the public functions, and of the public members of the public classes, as Python."""
    package = griffe.load("mockserver", search_paths=[str(ROOT)])
    objects = {path.rpartition(".")[2]: value.__module__ for path, value in documented().items()}
    # The package makes these, as the empty signature of their directive shows.
    made = {path.rpartition(".")[2] for path, empty in _DIRECTIVE.findall("\n".join(PAGES.values())) if empty}
    texts = []
    for name in sorted(objects):
        found = package[f"{objects[name].removeprefix('mockserver.')}.{name}"]
        texts.append("\n".join(_class(found, has_constructor=name not in made) if found.is_class else _function(found)))
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
    is_composite = any(str(row.value).endswith("composite") for row in found.decorators)
    parameters = list(found.parameters)[1 if is_composite else 0 :]  # Hypothesis passes the first one
    returned = f" -> {found.returns}" if found.returns is not None else ""
    yield f"{'async ' * ('async' in found.labels)}def {found.name}({_signature(parameters)}){returned}: ..."


def _signature(parameters: list[griffe.Parameter]) -> str:
    kinds = griffe.ParameterKind
    parts = []
    for place, row in enumerate(parameters):
        before = parameters[place - 1].kind if place else None
        if before is kinds.positional_only and row.kind is not before:
            parts.append("/")
        if row.kind is kinds.keyword_only and before not in (kinds.keyword_only, kinds.var_positional):
            parts.append("*")
        stars = "**" if row.kind is kinds.var_keyword else "*" * (row.kind is kinds.var_positional)
        annotation = f": {row.annotation}" if row.annotation is not None else ""
        default = f" = {row.default}" if row.default is not None and not stars else ""
        parts.append(f"{stars}{row.name}{annotation}{default}")
    if parameters and parameters[-1].kind is kinds.positional_only:
        parts.append("/")
    return ", ".join(parts)


def _attribute(found: Any) -> Iterator[str]:
    annotation = found.annotation if found.is_attribute else None
    yield f"{found.name}: {annotation if annotation is not None else '...'}"
