"""
Parsing of a document's text: YAML 1.2 or JSON, with the line and column of each place.

1. The length of a text bounds its cost: it nests at most `DEPTH_MAX` levels, no alias is part of its own value, and the
   values of aliases are counted.
2. Every error of a library becomes a ScenarioError with its line and column.

`ruamel.yaml` is imported with this module, so this module is imported late.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent
from ruamel.yaml.nodes import MappingNode, SequenceNode

from mockserver._json import JSON
from mockserver.contract.limits import DOCUMENT_DEPTH_MAX as DEPTH_MAX
from mockserver.contract.limits import YAML_MAX_CHARS
from mockserver.contract.text import number, pointer_keys
from mockserver.scenario.problems import ScenarioError, WrongPart

ALIASED_VALUES_MAX = 100_000
_JSON_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_DUPLICATE = re.compile(r"^(duplicate key \S+) with value .*", re.DOTALL)


class _Refused(MarkedYAMLError):
    """Valid YAML that the mock refuses."""


class _TooDeep(_Refused):
    """A value that nests too deep; its mark is that of the first one."""


class _Composer(Composer):
    """A composer that bounds depth and aliases."""

    def __init__(self, loader: Any = None) -> None:
        super().__init__(loader=loader)
        self._level = self._count = self._aliased = 0
        self._sizes: dict[str, int | None] = {}  # values below each anchor; None while it is being composed

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.parser.peek_event()
        if isinstance(event, AliasEvent):
            size = self._sizes.get(event.anchor, 0)
            if size is None:
                raise _Refused(None, None, f"the alias *{event.anchor} inside its own value", event.start_mark)
            self._count += size
            self._aliased += size
            if self._aliased > ALIASED_VALUES_MAX:
                reason = f"aliases of more than {ALIASED_VALUES_MAX} values, the mock's own bound"
                raise _Refused(None, None, reason, event.start_mark)
            return super().compose_node(parent, index)
        if self._level >= DEPTH_MAX:
            raise _TooDeep(
                None, None, f"a value nested deeper than {DEPTH_MAX} levels, the mock's own bound", event.start_mark
            )
        self._level += 1
        before, anchor = self._count, event.anchor
        self._count += 1
        if anchor is not None:
            self._sizes[anchor] = None
        node = super().compose_node(parent, index)
        if anchor is not None:
            self._sizes[anchor] = self._count - before
        self._level -= 1
        return node


class _Constructor(SafeConstructor):
    """A constructor whose every failure has a line and column."""

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep=deep)
        except (ValueError, ArithmeticError, TypeError, LookupError) as failure:
            raise _Refused(None, None, f"a value that cannot be read: {failure}", node.start_mark) from None

    def construct_yaml_float(self, node: Any) -> Any:
        value = super().construct_yaml_float(node)
        return _float(node.value) if _JSON_NUMBER.fullmatch(node.value) else value


_Constructor.add_constructor("tag:yaml.org,2002:float", _Constructor.construct_yaml_float)


def _reader() -> YAML:
    reader = YAML(typ="safe", pure=True)
    reader.Composer, reader.Constructor = _Composer, _Constructor
    return reader


def value_of(text: str, name: str) -> Any:
    """
    Return the value of a text.

    Args:
        text: JSON or YAML 1.2.
        name: The name of the document in the error.

    Raises:
        ScenarioError: If the text is neither JSON nor YAML 1.2, or exceeds a bound.
    """
    value = _json(text)
    if value is not None:
        return value
    if len(text) > YAML_MAX_CHARS:
        received = f"{len(text):,} characters that are not an object of JSON"
        expected = f"at most {YAML_MAX_CHARS:,} of YAML, the mock's own bound, or JSON, which may have any length"
        raise ScenarioError([WrongPart("", received, expected)], name)
    try:
        return _reader().load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        position = _position(mark) if mark else None
        message = str(error.problem or error)
        message = message if isinstance(error, _Refused) else _syntax(message)
        problem = WrongPart("", message, "YAML 1.2", position=position)
    except YAMLError as error:
        problem = WrongPart("", str(error), "YAML 1.2")
    except (ValueError, RecursionError) as error:
        problem = WrongPart("", f"text that cannot be read: {error}", "YAML 1.2")
    raise ScenarioError([problem], name)


def _syntax(message: str) -> str:
    """Return the YAML parser's error, reworded to fit after "got"."""
    if message.startswith("found "):
        return _DUPLICATE.sub(r"\1 in one object", message.removeprefix("found "))
    return f"text that the YAML parser refuses ({message})"


def _json(text: str) -> Any:
    """Return the object of a JSON text, or None if it is not one or has a key twice; the YAML parser then reports the error."""

    def unique(pairs: list[tuple[str, Any]]) -> JSON:
        members = dict(pairs)
        if len(members) < len(pairs):
            raise ValueError("a key twice")
        return members

    try:
        return json.loads(text, parse_float=_float, object_pairs_hook=unique) if text.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        return None


def _float(written: str) -> Any:
    """Return a double, and beyond 2**53 the exact number, as the API reads a body."""
    value = float(written)
    return value if abs(value) < 2**53 else number(written)


def places(text: str) -> Callable[[str], str | None]:
    """
    Return a function from a JSON pointer to its line and column in the text.

    For a place that does not exist the function returns the position of the nearest place around it; for a text that
    cannot be parsed, or is longer than the bound of YAML, it returns None.
    """
    if len(text) > YAML_MAX_CHARS:
        return lambda pointer: None
    try:
        root = _reader().compose(text)
    except _TooDeep as error:
        position = _position(error.problem_mark)
        return lambda pointer: position
    except (YAMLError, ValueError, RecursionError):
        return lambda pointer: None

    def place(pointer: str) -> str | None:
        node, mark = root, root.start_mark if root is not None else None
        for key in pointer_keys(pointer):
            if isinstance(node, MappingNode):
                below = next(((own.start_mark, value) for own, value in node.value if own.value == key), None)
            elif isinstance(node, SequenceNode) and key.isdecimal() and int(key) < len(node.value):
                below = node.value[int(key)].start_mark, node.value[int(key)]
            else:
                below = None
            if below is None:
                break
            mark, node = below
        return _position(mark) if mark is not None else None

    return place


def _position(mark: Any) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}"
