"""
Scenario documents: parsing, validation and writing.

A document is a YAML 1.2 file or a plain value; the result is one validated form, or a refusal with every place.
An unquoted `on`, `no` or `off` is a text; an unquoted instant equals a quoted one.

Documents are written as JSON, which is YAML 1.2 too, laid out in lines: block YAML is not easier to read with recorded
responses in it, and takes some hundred times as long to write and to parse.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from mockserver._json import JSON
from mockserver.contract.limits import DOCUMENT_DEPTH_MAX as DEPTH_MAX
from mockserver.contract.text import closest_match, pointer_keys, pointer_step
from mockserver.scenario.explaining import explained
from mockserver.scenario.problems import Problems, ScenarioError, WrongPart
from mockserver.version import VERSION

_INTEGER_MAX_BITS = 4096
_SURROGATE = "[\ud800-\udfff]"


class Document(dict[str, Any]):
    """
    The document of a file.

    `file` is the file whose lines the problems name. `added` are the pointers of values that settings have added, which
    have no line in the file. `is_valid` is True if its schema accepts it unchanged.
    """

    file: Path | None = None
    is_valid: bool = False
    added: tuple[str, ...] = ()

    def with_settings(
        self, choices: Mapping[str, object], clock: Mapping[str, Any] | None, own: Iterable[str]
    ) -> Document:
        """Return a copy with these choices, and this clock if any; `own` are the choices that the file does not have."""
        merged = Document(self)
        merged.file = self.file
        merged.is_valid = self.is_valid and not choices and not clock
        if choices:
            merged["choices"] = choices
        if clock:
            merged["clock"] = clock
        merged.added = (*self.added, *(f"/choices{pointer_step(id)}" for id in own), *(["/clock"] if clock else []))
        return merged


def read(path: Path) -> Document:
    """
    Return the document of a YAML or JSON file, not validated yet.

    Raises:
        ScenarioError: If the file cannot be read or parsed, with the line and column.
    """
    from mockserver.scenario import parsing

    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        problem = WrongPart("", f"{path} ({error.strerror})", "a file that can be read", nearest_file(path))
        raise ScenarioError([problem], str(path)) from None
    except UnicodeDecodeError as error:
        raise ScenarioError([WrongPart("", f"byte {error.start} that is not UTF-8", "UTF-8 text")], str(path)) from None
    value = parsing.value_of(text, str(path))
    if not isinstance(value, Mapping | None):
        kind = "a list" if isinstance(value, list) else "a single value"
        raise ScenarioError([WrongPart("", kind, "an object, such as `scenario: NAME`")], str(path))
    document = Document(value or {})
    document.file = path
    return document


def nearest_file(path: Path) -> str | None:
    """Return the file in the same folder whose name is nearest to that of a file that does not exist; None if none is near."""
    if path.exists() or not path.parent.is_dir():
        return None
    name = closest_match(path.name, (file.name for file in path.parent.iterdir()))
    return None if name is None else str(path.with_name(name))


def read_file(path: Path) -> Document:
    """
    Return the validated document of a YAML or JSON file.

    Raises:
        ScenarioError: With the line and column of every problem.
    """
    document = read(path)
    values, problems = examine(document)
    if problems:
        raise refusal(problems, document)
    checked = Document(values)
    checked.file = path
    return checked


def to_plain(value: Any) -> Any:
    """
    Return the value with the types of JSON: a date becomes its text.

    Raises:
        ScenarioError: For a value that JSON cannot represent, and for one that is nested too deeply.
    """
    problems = Problems()
    plain = _plain(value, "", 0, problems)
    if problems:
        raise ScenarioError(problems)
    return plain


def validate(document: Any) -> JSON:
    """
    Return the document's values if `schemas/scenario.json` accepts them.

    Raises:
        ScenarioError: With every problem of the document.
    """
    values, problems = examine(document)
    if problems:
        raise refusal(problems, document)
    return values


def examine(document: Any) -> tuple[JSON, Problems]:
    """
    Return the document's values with the types of JSON, and the problems that the schema finds, unordered.

    Raises:
        ScenarioError: For a document that is nested too deeply.
    """
    problems = Problems()
    try:
        values = _plain(document, "", 0, problems)
    except ScenarioError as too_deep:
        raise refusal(too_deep.problems, document) from None
    if isinstance(document, Document) and document.is_valid:
        return values, problems
    found = explained("scenario", values)
    if not isinstance(values, dict):
        return {}, problems or Problems(found)
    for problem in found:
        if problem.path == "/version":  # the others follow from it: another version has other members
            return values, Problems([problem._replace(wanted=f"{problem.wanted}, which mockserver {VERSION} reads")])
    unreadable = {problem.path for problem in problems}
    problems += [problem for problem in found if problem.path not in unreadable]
    return values, problems


def refusal(problems: Iterable[WrongPart], document: Any) -> ScenarioError:
    """Return the error of an invalid document: its problems in document order, with lines and columns if it has a file."""
    ordered = in_order(problems, document)
    if not isinstance(document, Document) or document.file is None:
        return ScenarioError(ordered)
    from mockserver.scenario import parsing

    try:
        place = parsing.places(document.file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return ScenarioError(ordered, str(document.file))
    added = tuple(document.added)
    placed = [
        problem
        if problem.path in added or problem.path.startswith(tuple(f"{pointer}/" for pointer in added))
        else problem._replace(position=place(problem.path))
        for problem in ordered
    ]
    return ScenarioError(placed, str(document.file))


def in_order(problems: Iterable[WrongPart], document: Any) -> list[WrongPart]:
    """Return the unique problems in document order; a missing value is ordered as its parent is."""

    tables: dict[int, dict[str, tuple[int, Any]]] = {}  # by the identity of a mapping: the place and value of each key

    def place(problem: WrongPart) -> tuple[int, ...]:
        value, numbers = document, []
        for key in pointer_keys(problem.path):
            if isinstance(value, Mapping):
                if id(value) not in tables:
                    tables[id(value)] = {str(own): (at, inner) for at, (own, inner) in enumerate(value.items())}
                number, value = tables[id(value)].get(key, (-1, None))
            elif isinstance(value, list | tuple) and key.isdecimal() and int(key) < len(value):
                number = int(key)
                value = value[number]
            else:
                number, value = -1, None
            numbers.append(number)
        return tuple(numbers)

    return sorted(dict.fromkeys(problems), key=place)


def _plain(value: Any, path: str, depth: int, problems: Problems) -> Any:
    """Return the value with the types of JSON, with null for what JSON cannot represent, which is added to `problems`."""
    if isinstance(value, str):
        is_text = value.isascii() or not re.search(_SURROGATE, value)
        return value if is_text else _refused(path, "half of a surrogate pair", problems)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Mapping | list | tuple) and depth >= DEPTH_MAX:
        top = "/".join(path.split("/")[:3])
        received = f"a value nested deeper than {DEPTH_MAX} levels"
        raise ScenarioError([WrongPart(top, received, "fewer levels (the mock's own bound)")])
    if isinstance(value, Mapping):
        return {str(key): _plain(inner, path + pointer_step(key), depth + 1, problems) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner, f"{path}/{number}", depth + 1, problems) for number, inner in enumerate(value)]
    return _plain_scalar(value, path, problems)


def _plain_scalar(value: Any, path: str, problems: Problems) -> Any:
    if isinstance(value, int):
        return value if value.bit_length() <= _INTEGER_MAX_BITS else _refused(path, "too long a number", problems)
    if isinstance(value, float | Decimal):
        is_of_run = path.startswith("/calls/") or path[1:2].isdigit()  # recorded calls stay unchanged
        return value if math.isfinite(value) or is_of_run else _refused(path, f"{value}", problems)
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    return _refused(path, f"a value of type {type(value).__name__}", problems)


def _refused(path: str, found: str, problems: Problems) -> None:
    problems.append(WrongPart(path, found, "a value that JSON can represent"))


_BY_LINES = ("script", "calls")  # lists with one entry per line
_ESCAPED = "[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]"  # YAML does not allow these unescaped


def dump(document: Mapping[str, Any]) -> str:
    """Return the document as JSON, with one line per key, per rule of the script and per call."""
    members = []
    for key, value in document.items():
        if key in _BY_LINES and value:
            text = "[\n" + ",\n".join(f"    {_json_line(entry)}" for entry in value) + "\n  ]"
        else:
            text = _json_line(value)
        members.append(f"  {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(members) + "\n}\n"


def _json_line(value: Any) -> str:
    return re.sub(_ESCAPED, lambda char: f"\\u{ord(char[0]):04x}", json.dumps(value, ensure_ascii=False))
