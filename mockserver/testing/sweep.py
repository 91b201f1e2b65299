"""
Sweeps: a test run once for each option that a real service might take, one option at a time.

What is swept is named by choice, by family, or as `touched`: the choices that a first run of the test has read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mockserver.contract.choices import CHOICES, Choice
from mockserver.contract.text import nearest_hint

TOUCHED = "touched"


class Case(NamedTuple):
    """One option of one choice."""

    choice: str
    option: str

    @property
    def id(self) -> str:
        """As it stands in a test's id: `dual-status=guide`."""
        return f"{self.choice}={self.option}"

    def explained(self) -> str:
        """What a failure report says of the option under which the test failed."""
        row = CHOICES[self.choice]
        standing = "the default" if self.option == row.default else f"the default is {row.default!r}"
        where = f"clause {', '.join(row.clauses)}; " if row.clauses else ""
        return (
            f"This run answers {self.choice!r} with {self.option!r} ({standing}).\n"
            f"{row.question} The API document leaves it open ({where}{row.where}), so a client has to bear every option.\n"
            f"To run it alone: @pytest.mark.mockserver(choices={{{self.choice!r}: {self.option!r}}})"
        )


def families() -> dict[str, list[Choice]]:
    """The choices with named options, by family."""
    found: dict[str, list[Choice]] = {}
    for row in CHOICES.values():
        found.setdefault(row.family, []).append(row)
    return found


def cases(names: Sequence[str]) -> list[Case]:
    """
    Every option of the choices and families named, in the order of the table.

    Refuses with ValueError an unknown name, with the nearest one, and a choice whose values are numbers.
    """
    found: list[Case] = []
    for name in names:
        found += [case for row in _rows(name) for case in options(row)]
    return list(dict.fromkeys(found))


def _rows(name: str) -> list[Choice]:
    by_family = families()
    if name in by_family:
        return [row for row in by_family[name] if len(row.options) > 1]
    if name not in CHOICES:
        hint = nearest_hint(name, [*by_family, *CHOICES, TOUCHED])
        raise ValueError(f"{name!r} is no choice and no family{hint}")
    if len(CHOICES[name].options) < 2:
        raise ValueError(f"{name!r} has values instead of options; set it by @pytest.mark.mockserver(choices=...)")
    return [CHOICES[name]]


def options(row: Choice) -> list[Case]:
    """The options of one choice, its default first."""
    return [Case(row.id, option) for option in sorted(row.options, key=lambda option: option != row.default)]


def others(read: Iterable[str]) -> list[Case]:
    """The options beside the default of the choices that were read, in the order of the table."""
    wanted = set(read)
    rows = (row for row in CHOICES.values() if row.id in wanted and len(row.options) > 1)
    return [case for row in rows for case in options(row) if case.option != row.default]
