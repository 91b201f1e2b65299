"""
Sweeps: a test runs once for each option that a real service may have, one option at a time.

A sweep names choices, families of choices, or `all`: those that a first run of the test has read, since no other one can change it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mockserver.contract.choices import CHOICES, Choice
from mockserver.contract.text import closest_match_hint

ALL = "all"


class Case(NamedTuple):
    """One option of one choice."""

    choice: str
    option: str

    @property
    def id(self) -> str:
        """The option as in a test's id: `dual-status=guide`."""
        return f"{self.choice}={self.option}"

    @property
    def is_default(self) -> bool:
        """True for the option that is in force without a sweep."""
        return self.option == CHOICES[self.choice].default

    def explained(self, own: str, by_default: Sequence[str] | None, run_default: str) -> str:
        """
        Return the text of a failure report about the option under which the test failed.

        Args:
            own: How the run failed: the type of its exception, and its place or its first line.
            by_default: How the test and its subtests failed under the default of the choice; None if it was not run.
            run_default: The line that runs the test under that default.
        """
        row = CHOICES[self.choice]
        here = f"{self.choice!r} is {self.option!r} here"
        if self.is_default:
            return f"fails under the default, so not by another option: {here}"
        if by_default is not None and own in by_default:
            return f"fails under the default too, so not by this choice: {here} (the default is {row.default!r})"
        if by_default is None:
            compared = f"the default was not run before it here; to compare: {run_default}"
        elif not by_default:
            compared = "passes under the default"
        else:
            compared = f"fails in another way under the default: {by_default[0]}"
        where = f"clause {', '.join(row.clauses)}; {row.where}" if row.clauses else row.where
        return (
            f"{compared}\n"
            f"This run has the choice {self.choice!r} set to {self.option!r} (the default is {row.default!r}).\n"
            f"{row.question}\n"
            f"A client has to tolerate every option ({where} of the API document).\n"
            f"To run it alone: {self.mark}"
        )

    @property
    def mark(self) -> str:
        """The mark that lets a test run under this option alone."""
        return f"@pytest.mark.mockserver(choices={{{self.choice!r}: {self.option!r}}})"

    def default(self) -> Case:
        """Return the default of the same choice."""
        return Case(self.choice, str(CHOICES[self.choice].default))


def families() -> dict[str, list[Choice]]:
    """Return the choices by family."""
    rows: dict[str, list[Choice]] = {}
    for row in CHOICES.values():
        rows.setdefault(row.family, []).append(row)
    return rows


def cases(names: Sequence[str]) -> list[Case]:
    """
    Return every option of choices and families, in the order of the table.

    Args:
        names: Ids of choices, and names of families.

    Raises:
        ValueError: A name is unknown, or that of a choice whose values are numbers.
    """
    by_family, rows = families(), list[Choice]()
    for name in names:
        if name not in by_family and name not in CHOICES:
            hint = closest_match_hint(name, [*by_family, *CHOICES, ALL])
            raise ValueError(f"got {name!r}; expected a choice or a family{hint}")
        if name not in by_family and len(CHOICES[name].options) < 2:
            raise ValueError(
                f"got {name!r}, which has values instead of options; set it by @pytest.mark.mockserver(choices=...)"
            )
        rows += by_family.get(name) or [CHOICES[name]]
    return list(dict.fromkeys(case for row in rows if len(row.options) > 1 for case in options(row)))


def options(row: Choice) -> list[Case]:
    """Return the options of one choice, its default first."""
    return [Case(row.id, option) for option in sorted(row.options, key=lambda option: option != row.default)]


def others(read: Iterable[str]) -> list[Case]:
    """Return the other options than the default of the choices that were read, in the order of the table."""
    ids = set(read)
    rows = (row for row in CHOICES.values() if row.id in ids and len(row.options) > 1)
    return [case for row in rows for case in options(row) if case.option != row.default]
