"""Problems of a scenario document with their places, and the exception that contains all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from mockserver.contract.limits import PROBLEMS_MAX
from mockserver.contract.text import brief, closest_match, did_you_mean, printable
from mockserver.core.redaction import Redactor, to_json_text

_SHOWN_MAX = 100
_PATH_CHARS = 120  # of one problem as text and in an answer
_FOUND_CHARS = 200
_WANTED_CHARS = 300
_UNNAMED = "the scenario document"  # one that is in no file


class WrongPart(NamedTuple):
    """
    One problem of a document; `str()` returns one printable line of some hundred characters at most.

    It is `PLACE: got X; expected Y; did you mean Z?`.

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

    def redacted(self) -> WrongPart:
        """Return the problem with everything in the form of a key masked."""
        return WrongPart(*Redactor(()).value(self))

    def as_json(self) -> dict[str, str]:
        """Return the problem as the control plane shows it."""
        return {key: value for key, value in self._cut()._asdict().items() if value is not None}

    def __str__(self) -> str:
        path, found, wanted, nearest, position = self._cut()
        place = path or "/"
        if position:
            place = f"{path} ({position})" if path else position
        return printable(f"{place}: got {found}; expected {wanted}{did_you_mean(nearest)}")

    def _cut(self) -> WrongPart:
        """Return the problem with the beginnings of its texts: a document may have keys and values of any length."""
        return self._replace(
            path=brief(self.path, _PATH_CHARS),
            found=brief(self.found, _FOUND_CHARS),
            wanted=brief(self.wanted, _WANTED_CHARS),
        )


class Problems(list[WrongPart]):
    """The problems of a document so far."""

    def add(self, path: str, found: object, wanted: str, known: Any = ()) -> None:
        """
        Add a problem of a value.

        Args:
            path: its JSON Pointer.
            found: the value.
            wanted: what is valid there.
            known: the valid names, of which the nearest becomes the hint; it is searched for in the first problems only.
        """
        hint = closest_match(found, known) if len(self) < PROBLEMS_MAX else None
        self.append(WrongPart(path, to_json_text(found), wanted, hint))


class ScenarioError(ValueError):
    """
    A refused document: nothing of it was applied. The first line of its text is the first problem.

    Attributes:
        problems: Every problem, keys masked.
        document: The document if it was to be applied, else None.
    """

    document: Mapping[str, Any] | None = None

    def __init__(self, problems: Iterable[WrongPart], name: str = "the scenario document") -> None:
        self.problems = [problem.redacted() for problem in problems]
        name = printable(name)
        lines = [str(problem) for problem in self.problems[:_SHOWN_MAX]]
        if len(self.problems) > _SHOWN_MAX:
            lines.append(f"and {len(self.problems) - _SHOWN_MAX} more")
        first = "" if name == _UNNAMED else f"{name}: "
        super().__init__(first + "\n  ".join([*lines, f"nothing of {name} was applied"]))
