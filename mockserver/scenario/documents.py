"""
Scenario documents: parsing, validation and writing.

A document is a YAML 1.2 file or a plain value; the result is one validated form, or a refusal with every place.
A bare `on`, `no` or `off` is a word; an unquoted instant means the same as a quoted one.

Documents are written as JSON, which is YAML 1.2 too, laid out in lines: block YAML is not easier to read with recorded
responses in it, and takes some hundred times as long to write and to parse.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from mockserver.contract.limits import DOCUMENT_DEPTH_MAX as DEPTH_MAX
from mockserver.scenario.problems import Problem, ScenarioError, step, steps

__all__ = ["DEPTH_MAX", "Document", "Problem", "ScenarioError", "examine", "in_order", "to_plain", "validate"]
__all__ += ["read", "read_file", "refusal"]

_INTEGER_MAX_BITS = 4096


class Document(dict[str, Any]):
    """
    The document of a file. `file` is where its problems are found.

    `added` are the pointers that settings beside the file have set, so that the file has no line of them.
    """

    file: Path | None = None
    added: tuple[str, ...] = ()

    def with_settings(
        self, choices: Mapping[str, object], clock: Mapping[str, Any] | None, own: Iterable[str]
    ) -> Document:
        """A copy with these choices, and this clock if any; `own` are the choices that are not the file's."""
        joined = Document(self)
        joined.file = self.file
        if choices:
            joined["choices"] = choices
        if clock:
            joined["clock"] = clock
        joined.added = (*self.added, *(f"/choices{step(id)}" for id in own), *(["/clock"] if clock else []))
        return joined


def read(path: Path) -> Document:
    """The document of a YAML or JSON file, not checked yet; refuses text that cannot be read with its line and column."""
    from mockserver.scenario import parsing

    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        problem = Problem("", f"{error.strerror}: {path}", "a scenario file that can be read")
        raise ScenarioError([problem], str(path)) from None
    except UnicodeDecodeError as error:
        raise ScenarioError([Problem("", f"byte {error.start} that is not UTF-8", "UTF-8 text")], str(path)) from None
    value = parsing.value_of(text, str(path))
    if not isinstance(value, Mapping | None):
        kind = "a list" if isinstance(value, list) else "a single value"
        raise ScenarioError([Problem("", kind, "an object, such as `scenario: NAME`")], str(path))
    document = Document(value or {})
    document.file = path
    return document


def read_file(path: Path) -> Document:
    """The checked document of a YAML or JSON file; refuses it with the line and column of every problem."""
    document = read(path)
    values, problems = examine(document)
    if problems:
        raise refusal(problems, document)
    checked = Document(values)
    checked.file = path
    return checked


def to_plain(value: Any) -> Any:
    """The value as JSON has it: dates as text, as if they had been quoted; refuses what JSON cannot say."""
    problems: list[Problem] = []
    found = _plain(value, None, 0, problems)
    if problems:
        raise ScenarioError(problems)
    return found


def validate(document: Any) -> dict[str, Any]:
    """The document, held to `schemas/scenario.json`; refuses it whole with every problem found."""
    values, problems = examine(document)
    if problems:
        raise refusal(problems, document)
    return values


def examine(document: Any) -> tuple[dict[str, Any], list[Problem]]:
    """The document's values as JSON has them, and what its schema finds wrong; in no order."""
    from mockserver.scenario.explaining import explained

    problems: list[Problem] = []
    try:
        values = _plain(document, None, 0, problems)
    except ScenarioError as too_deep:
        raise refusal(too_deep.problems, document) from None
    if not isinstance(values, dict):
        return {}, problems or explained("scenario", values)
    unreadable = {problem.path for problem in problems}
    problems += [problem for problem in explained("scenario", values) if problem.path not in unreadable]
    return values, problems


def refusal(problems: Iterable[Problem], document: Any) -> ScenarioError:
    """The refusal of a document: its problems in its own order, with the lines and columns of its file where it has one."""
    ordered = in_order(problems, document)
    if not isinstance(document, Document) or document.file is None:
        return ScenarioError(ordered)
    from mockserver.scenario import parsing

    try:
        place = parsing.places(document.file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return ScenarioError(ordered, str(document.file))
    placed = [problem if _is_added(problem, document) else _placed(problem, place) for problem in ordered]
    return ScenarioError(placed, str(document.file))


def _is_added(problem: Problem, document: Document) -> bool:
    return any(problem.path == added or problem.path.startswith(f"{added}/") for added in document.added)


def _placed(problem: Problem, place: Callable[[str], str | None]) -> Problem:
    return problem._replace(position=place(problem.path))


def in_order(problems: Iterable[Problem], document: Any) -> list[Problem]:
    """The problems in the order in which the document has their places, each once; what is missing comes with its parent."""

    tables: dict[int, dict[str, tuple[int, Any]]] = {}  # by the identity of a mapping: the place and value of each key

    def place(problem: Problem) -> tuple[int, ...]:
        value, numbers = document, []
        for key in steps(problem.path):
            if isinstance(value, Mapping):
                if id(value) not in tables:
                    tables[id(value)] = {str(own): (at, each) for at, (own, each) in enumerate(value.items())}
                number, value = tables[id(value)].get(key, (-1, None))
            elif isinstance(value, list | tuple) and key.isdecimal() and int(key) < len(value):
                number = int(key)
                value = value[number]
            else:
                number, value = -1, None
            numbers.append(number)
        return tuple(numbers)

    return sorted(dict.fromkeys(problems), key=place)


_Place = tuple[Any, str | int] | None  # the place of the parent, and the key below it


def _plain(value: Any, place: _Place, depth: int, problems: list[Problem]) -> Any:
    """The value as JSON has it, with null for what JSON cannot say; collects what that is. Too deep a value ends it."""
    if isinstance(value, str):
        return value if value.isascii() or _is_text(value) else _refused(place, "half of a surrogate pair", problems)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Mapping):
        _bound(place, depth)
        return {str(key): _plain(each, (place, str(key)), depth + 1, problems) for key, each in value.items()}
    if isinstance(value, list | tuple):
        _bound(place, depth)
        return [_plain(each, (place, number), depth + 1, problems) for number, each in enumerate(value)]
    if isinstance(value, int):
        return value if value.bit_length() <= _INTEGER_MAX_BITS else _refused(place, "too long a number", problems)
    if isinstance(value, float | Decimal):
        # A run's own calls and answers are as they were.
        return value if math.isfinite(value) or _is_of_run(place) else _refused(place, f"{value}", problems)
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    return _refused(place, f"a value of type {type(value).__name__}", problems)


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _bound(place: _Place, depth: int) -> None:
    if depth >= DEPTH_MAX:
        path = "".join(step(key) for key in _keys(place)[:2])
        raise ScenarioError(
            [Problem(path, f"a value nested deeper than {DEPTH_MAX} levels", "fewer: this is the mock's own bound")]
        )


def _refused(place: _Place, found: str, problems: list[Problem]) -> None:
    path = "".join(step(key) for key in _keys(place)) if place else ""
    problems.append(Problem(path, found, "a value that JSON has a form for"))


def _is_of_run(place: _Place) -> bool:
    keys = _keys(place)
    return keys[0] == "calls" or isinstance(keys[0], int)


def _keys(place: _Place) -> list[str | int]:
    keys: list[str | int] = []
    while place is not None:
        place, key = place
        keys.append(key)
    return keys[::-1] or [""]


_BY_LINES = ("script", "calls")  # lists of which each entry is a line of its own
_UNSEEN = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")  # what YAML does not take as it is


def dump(document: Mapping[str, Any]) -> str:
    """The document with a line for each key, and one for each rule of its script and each of its calls."""
    return "{\n" + ",\n".join(f"  {json.dumps(key)}: {_value(key, value)}" for key, value in document.items()) + "\n}\n"


def _value(key: str, value: Any) -> str:
    if key not in _BY_LINES or not value:
        return _spelt(value)
    return "[\n" + ",\n".join(f"    {_spelt(each)}" for each in value) + "\n  ]"


def _spelt(value: Any) -> str:
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))
