"""Classes and functions as Markdown: their signatures, and what their docstrings say."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import griffe

from docs.reference.markdown import code, rows, sentence

ROOT = Path(__file__).resolve().parents[2]
LINE = re.compile(r"^<!-- python: ([\w.]+)(\(\))? -->$", re.MULTILINE)
_Section = griffe.DocstringSectionKind


class Documented(NamedTuple):
    """
    What the reference documents.

    Attributes:
        value: The class or the function.
        is_made: The package makes the objects of the class, so that its constructor is no part of the interface.
    """

    value: Any
    is_made: bool


def documented(pages: str) -> dict[str, Documented]:
    """
    Return what pages document, by import path; of a module that is what its `__all__` names.

    Args:
        pages: With lines such as `<!-- python: mockserver.MockServer -->`, and `<!-- python: mockserver.Sandbox() -->` for a class whose objects the package makes.
    """
    objects: dict[str, Documented] = {}
    for path, empty in LINE.findall(pages):
        found = _imported(path)
        if not inspect.ismodule(found):
            objects[path] = Documented(found, bool(empty))
            continue
        own = [name for name, value in vars(found).items() if getattr(value, "__module__", "") == path]
        names = [name for name in getattr(found, "__all__", own) if not name.startswith("_")]
        public = {f"{path}.{name}": getattr(found, name) for name in names}
        objects |= {name: Documented(value, False) for name, value in public.items() if callable(value)}
    return objects


def _imported(path: str) -> Any:
    module, _, name = path.rpartition(".")
    try:
        return importlib.import_module(path)
    except ImportError:
        return getattr(importlib.import_module(module), name)


@cache
def package() -> Any:
    """Return the package as griffe reads it."""
    return griffe.load("mockserver", search_paths=[str(ROOT)])


def read(value: Any) -> Any:
    """Return a class or function as griffe reads it."""
    return package()[f"{value.__module__.removeprefix('mockserver.')}.{value.__name__}"]


def described(line: str) -> Iterator[str]:
    """Yield the Markdown of a line `<!-- python: NAME -->`."""
    for each in documented(line).values():
        found = read(each.value)
        yield f"## {found.name}\n"
        if found.is_class:
            yield from _class(found, has_constructor=not each.is_made)
        else:
            yield from _function(found, found.name)


def _class(found: Any, *, has_constructor: bool) -> Iterator[str]:
    constructor = found.all_members.get("__init__")
    if has_constructor and constructor is not None:
        yield from _code(f"{found.name}({signature(parameters_of(constructor))})")
    yield from _docstring(found)
    members = {name: found.all_members[name] for name in sorted(found.all_members) if not name.startswith("_")}
    own = {name: each for name, each in members.items() if each.docstring is not None}
    properties = {name: each for name, each in own.items() if not each.is_function}
    body = [(code(name), code(each.annotation or ""), _in_one_line(each)) for name, each in properties.items()]
    yield from rows(("member", "type", "meaning"), body) if body else ()
    for name, each in own.items():
        if each.is_function:
            yield f"### {found.name}.{name}\n"
            yield from _function(each, name)


def _function(found: Any, name: str) -> Iterator[str]:
    returned = "" if found.returns is None else f" -> {found.returns}"
    returned = " -> ActiveRule" if returned.endswith("Put") else returned
    yield from _code(f"{'async ' * ('async' in found.labels)}{name}({signature(parameters_of(found))}){returned}")
    yield from _docstring(found)


def _code(text: str) -> Iterator[str]:
    yield from ("```text", text, "```", "")


def _docstring(found: Any) -> Iterator[str]:
    """Yield the sections of a docstring: its text, then lists and examples."""
    for section in found.docstring.parse("google") if found.docstring is not None else ():
        if section.kind is _Section.text:
            yield f"{section.value}\n"
        elif section.kind is _Section.examples:
            yield from ("```pycon", *(text for _, text in section.value), "```", "")
        elif section.kind is _Section.admonition:
            yield from _admonition(section)
        else:
            yield f"{section.kind.value.capitalize()}:\n"
            yield from (_row(row) for row in section.value)
            yield ""


def _row(row: Any) -> str:
    name = getattr(row, "name", "")
    named = name if name else (row.annotation or "")
    text = " ".join(row.description.split())
    return f"- {code(named)}: {text}" if named else f"- {text}"


def _admonition(section: Any) -> Iterator[str]:
    title, text = section.title or section.value.annotation.capitalize(), section.value.description
    if ">>>" in text:
        yield from ("```pycon", text, "```", "")
    else:
        yield f"{title}: {text}\n"


def _in_one_line(found: Any) -> str:
    """Return the text of a property's docstring."""
    texts = [section.value for section in found.docstring.parse("google") if section.kind is _Section.text]
    return sentence(" ".join(texts))


def parameters_of(function: Any) -> list[griffe.Parameter]:
    """Return the parameters that a caller gives: without `self`, and without the first of a composite strategy, which Hypothesis gives."""
    given = [row for row in function.parameters if row.name not in ("self", "cls")]
    is_composite = any(str(row.value).endswith("composite") for row in function.decorators)
    return given[1:] if is_composite else given


def signature(parameters: list[griffe.Parameter]) -> str:
    """Return parameters as Python writes them between the brackets."""
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
