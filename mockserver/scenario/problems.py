"""Problems of a scenario document with their places, and the exception that contains all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from mockserver.contract.text import did_you_mean
from mockserver.core.redaction import Redactor

_SHOWN_MAX = 100
_UNNAMED = "the scenario document"  # one that is in no file


class Problem(NamedTuple):
    """
    One problem of a document; `str()` returns one line, `PLACE: got X; expected Y; did you mean Z?`.

    Attributes:
        path: A JSON pointer, "" for the whole document.
        found: What the document has at the place, as text.
        wanted: What is valid there.
        nearest: The nearest valid name, if any.
        position: The line and column in the file, if the document is a file.
    """

    path: str
    found: str
    wanted: str
    nearest: str | None = None
    position: str | None = None

    def redacted(self) -> Problem:
        """Return the problem with everything in the form of a key masked."""
        return Problem(*Redactor(()).value(self))

    def as_json(self) -> dict[str, str]:
        """Return the problem as the control plane shows it."""
        return {key: value for key, value in self._asdict().items() if value is not None}

    def __str__(self) -> str:
        place = self.path or "/"
        if self.position:
            place = f"{self.path} ({self.position})" if self.path else self.position
        return f"{place}: got {self.found}; expected {self.wanted}{did_you_mean(self.nearest)}"


class ScenarioError(ValueError):
    """
    A refused document: nothing of it was applied. The first line of its text is the first problem.

    Attributes:
        problems: Every problem, keys masked.
        document: The document if it was to be applied, else None.
    """

    document: Mapping[str, Any] | None = None

    def __init__(self, problems: Iterable[Problem], name: str = "the scenario document") -> None:
        self.problems = [problem.redacted() for problem in problems]
        lines = [str(problem) for problem in self.problems[:_SHOWN_MAX]]
        if len(self.problems) > _SHOWN_MAX:
            lines.append(f"and {len(self.problems) - _SHOWN_MAX} more")
        first = "" if name == _UNNAMED else f"{name}: "
        super().__init__(first + "\n  ".join([*lines, f"nothing of {name} was applied"]))


def step(key: object) -> str:
    """Return a key as one step of a JSON pointer."""
    return "/" + str(key).replace("~", "~0").replace("/", "~1")


def steps(pointer: str) -> list[str]:
    """Return the keys of a JSON pointer."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
