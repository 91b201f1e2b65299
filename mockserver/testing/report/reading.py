"""What the expression of a client that raised has read, by its source and the values of its frame; nothing is guessed."""

from __future__ import annotations

import ast
import linecache
from dataclasses import replace
from pathlib import Path
from traceback import FrameSummary, extract_tb, walk_tb
from types import FrameType
from typing import Any, Final

from mockserver.report.run.failure import ANSWER, Reading

_PARSING: Final = ("httpx", "mockserver", "requests")  # whose answers are parsed again without an effect
_OF_SHAPES: Final = (KeyError, IndexError, TypeError, AttributeError)


def reading_of(failure: BaseException) -> Reading | None:
    """Return the value that the failing expression began with and the members that it read; None if that is not certain."""
    frames = [frame for frame, _ in walk_tb(failure.__traceback__)]
    if not frames or not isinstance(failure, _OF_SHAPES):
        return None
    source = _source(extract_tb(failure.__traceback__)[-1])
    try:
        expression = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return _read(expression, frames[-1])


def _source(summary: FrameSummary) -> str:
    """Return the source of the expression that raised; empty if it is not known, or that of a library."""
    first, last = summary.lineno, summary.end_lineno
    if first is None or last is None or summary.colno is None or "site-packages" in Path(summary.filename).parts:
        return ""
    lines = [linecache.getline(summary.filename, number).encode() for number in range(first, last + 1)]
    lines[-1] = lines[-1][: summary.end_colno]
    lines[0] = lines[0][summary.colno :]
    return b"".join(lines).decode("utf-8", "replace").strip()


def _read(node: ast.expr, frame: FrameType) -> Reading | None:
    match node:
        case ast.Name(id=name):
            values = {**frame.f_globals, **frame.f_locals}
            return Reading(values[name], ()) if name in values else None
        case ast.Subscript(value=inner, slice=index):
            return _member(inner, _constant(index, frame), frame)
        case ast.Call(func=ast.Attribute(value=inner, attr="get"), args=[key, *_]):
            return _member(inner, _constant(key, frame), frame)
        case ast.Call(func=ast.Attribute(value=inner, attr="json"), args=[]):
            return _parsed(inner, frame)
        case ast.Attribute(value=inner, attr=name):
            return _attribute(inner, name, frame)
    return None


def _member(node: ast.expr, key: Any, frame: FrameType) -> Reading | None:
    reading = _read(node, frame)
    if reading is None or not isinstance(key, str | int):
        return None
    return replace(reading, steps=(*reading.steps, key))


def _attribute(node: ast.expr, name: str, frame: FrameType) -> Reading | None:
    """Return an attribute of an object that has it as a value of its own; else a step, which an answer does not have."""
    reading = _read(node, frame)
    if reading is None:
        return None
    own = {} if reading.steps or reading.value is ANSWER else getattr(reading.value, "__dict__", {})
    return Reading(own[name], ()) if name in own else replace(reading, steps=(*reading.steps, name))


def _parsed(node: ast.expr, frame: FrameType) -> Reading:
    """Return the body of an answer that a variable has; of one that the expression itself has fetched its place."""
    response = _read(node, frame) if isinstance(node, ast.Name) else None
    if response is None:
        return Reading(ANSWER, ())
    is_known = type(response.value).__module__.partition(".")[0] in _PARSING
    try:
        return Reading(response.value.json() if is_known else None, ())
    except ValueError:  # the client's own exception is reported
        return Reading(None, ())


def _constant(node: ast.expr, frame: FrameType) -> Any:
    """Return a key or an index that the source has, or that a variable has; None for any other."""
    if isinstance(node, ast.Name):
        return {**frame.f_globals, **frame.f_locals}.get(node.id)
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None
