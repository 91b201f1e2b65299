"""
Reading scenario documents: YAML 1.2 files and plain values become one checked form, or a refusal that says where.

A bare `on`, `no` or `off` is a word; an unquoted instant means what a quoted one does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, NamedTuple

from mockserver.contract import schemas
from mockserver.contract.nearest import nearest
from mockserver.core.redaction import Redactor, spelled


class Problem(NamedTuple):
    """One thing that is wrong: a JSON pointer, what was found, what was wanted, and the nearest valid name if any."""

    path: str
    found: str
    wanted: str
    nearest: str | None = None

    def redacted(self) -> Problem:
        """The problem with whatever has the form of a key in its short form."""
        return Problem(*Redactor(()).value(self))

    def as_json(self) -> dict[str, str]:
        """The problem as the control plane shows it."""
        return {key: value for key, value in self._asdict().items() if value is not None}

    def __str__(self) -> str:
        hint = f"; the nearest is {self.nearest!r}" if self.nearest else ""
        return f"{self.path or '/'}: found {self.found}, wanted {self.wanted}{hint}"


class ScenarioError(ValueError):
    """A document is refused whole; `problems` say what to mend, keys in short, and nothing of it was applied."""

    def __init__(self, problems: list[Problem], name: str = "the scenario document") -> None:
        self.problems = [each.redacted() for each in problems]
        told = "\n".join(f"  {each}" for each in self.problems)
        super().__init__(f"{name} is refused; nothing of it was applied\n{told}")


def read_file(path: Path) -> dict[str, Any]:
    """The document of a YAML or JSON file; refuses broken YAML with its line and column."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        text = path.read_text(encoding="utf-8")
        read = _json(text)
        if read is None:
            read = YAML(typ="safe", pure=True).load(text)
    except OSError as error:
        raise ScenarioError(
            [Problem("", f"{error.strerror}: {path}", "a scenario file that can be read")], str(path)
        ) from None
    except UnicodeDecodeError as error:
        raise ScenarioError([Problem("", f"byte {error.start} that is not UTF-8", "UTF-8 text")], str(path)) from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ScenarioError([Problem(where, str(error.problem or error), "YAML 1.2")], str(path)) from None
    except YAMLError as error:
        raise ScenarioError([Problem("", str(error), "YAML 1.2")], str(path)) from None
    document = plain(read if read is not None else {})
    try:
        return check(document)
    except ScenarioError as refusal:
        raise ScenarioError([_with_line(text, each) for each in refusal.problems], str(path)) from None


def _json(text: str) -> Any:
    """The object that the text is as JSON; None where it is none, or has a key twice: YAML then says what is wrong."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a key stands there twice")
        return found

    try:
        return json.loads(text, object_pairs_hook=once) if text.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        return None


def plain(value: Any) -> Any:
    """The value with YAML's dates as text, as if they had been quoted, and mappings and lists as JSON has them."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
    return value.isoformat() if isinstance(value, date) else value


def check(document: Any) -> dict[str, Any]:
    """The document, held to `schemas/scenario.json`; refuses it whole with every problem found."""
    found = schemas.check("scenario", document)
    if found:
        raise ScenarioError([_problem(each) for each in found[:20]])
    checked: dict[str, Any] = document
    return checked


def _problem(problem: schemas.Problem) -> Problem:
    return as_problem(problem, _known_names(problem.pointer.rpartition("/")[0]))


def as_problem(problem: schemas.Problem, known: Iterable[str]) -> Problem:
    """A schema's problem with the nearest valid name: of the known ones for an unknown key, of an enumeration's for a value."""
    if problem.keyword == "additionalProperties":
        hint = nearest(problem.pointer.rpartition("/")[2], known)
    elif problem.keyword == "enum":
        hint = nearest(problem.found, json.loads(f"[{problem.wanted.removeprefix('one of ')}]"))
    else:
        hint = None
    return Problem(problem.pointer, _short(problem.found), problem.wanted.rstrip(","), hint)


def _short(found: object) -> str:
    written = spelled(found)
    return written if len(written) <= 80 else written[:77] + "..."


def _known_names(pointer: str) -> list[str]:
    """The property names that the scenario schema allows at this place."""
    schema: Any = schemas.load("scenario")
    definitions = schema["$defs"]
    place = schema
    for part in pointer.split("/")[1:]:
        inner = place.get("items") if part.isdigit() else place.get("properties", {}).get(part)
        place = _resolved(inner or {}, definitions)
    return list(place.get("properties", {}))


def _resolved(place: Any, definitions: Any) -> Any:
    reference = place.get("$ref")
    return definitions[reference.rpartition("/")[2]] if reference else place


def _with_line(text: str, problem: Problem) -> Problem:
    """The problem with the line and column of its place in the file, where the place is there."""
    from ruamel.yaml import YAML

    place: Any = YAML(typ="rt").load(text)
    mark: tuple[int, int] | None = None
    for part in problem.path.split("/")[1:]:
        is_list = isinstance(place, list)
        lines: Any = getattr(place, "lc", None)
        key: Any = int(part) if part.isdigit() and is_list else part
        try:
            mark = lines.item(key) if is_list else lines.key(key)
            place = place[key]
        except (AttributeError, KeyError, IndexError, TypeError):
            break
    return (
        problem if mark is None else problem._replace(path=f"{problem.path} (line {mark[0] + 1}, column {mark[1] + 1})")
    )
