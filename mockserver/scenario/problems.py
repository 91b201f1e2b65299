"""Problems of a scenario document with their places, and the exception that carries all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mockserver.contract.text import did_you_mean
from mockserver.core.redaction import Redactor

_SHOWN_MAX = 100


class Problem(NamedTuple):
    """
    One problem: a JSON pointer, what is there, what is expected, and the nearest valid name if any.

    `position` is the line and column of the place in the file, where the document is a file.
    """

    path: str
    found: str
    wanted: str
    nearest: str | None = None
    position: str | None = None

    def redacted(self) -> Problem:
        """The problem with whatever has the form of a key in its short form."""
        return Problem(*Redactor(()).value(self))

    def as_json(self) -> dict[str, str]:
        """The problem as the control plane shows it."""
        return {key: value for key, value in self._asdict().items() if value is not None}

    def __str__(self) -> str:
        place = self.path or "/"
        if self.position:
            place = f"{self.path} ({self.position})" if self.path else self.position
        return f"{place}: got {self.found}; expected {self.wanted}{did_you_mean(self.nearest)}"


class ScenarioError(ValueError):
    """A refused document: `problems` has every problem, keys masked, and nothing of the document was applied."""

    def __init__(self, problems: Iterable[Problem], name: str = "the scenario document") -> None:
        self.problems = [problem.redacted() for problem in problems]
        lines = [f"  {problem}" for problem in self.problems[:_SHOWN_MAX]]
        if len(self.problems) > _SHOWN_MAX:
            lines.append(f"  and {len(self.problems) - _SHOWN_MAX} more")
        super().__init__("\n".join([f"{name} is refused; nothing of it was applied", *lines]))


def step(key: object) -> str:
    """A key as one step of a JSON pointer."""
    return "/" + str(key).replace("~", "~0").replace("/", "~1")


def steps(pointer: str) -> list[str]:
    """The keys of a JSON pointer."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
