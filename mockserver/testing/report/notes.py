"""The reports of sandboxes as notes of an exception, for suites without the plugin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mockserver.contract.text import printable

_SANDBOXES_MAX = 3  # of one test; the latest ones are those of the failure


class Reporting(Protocol):
    """A sandbox, by what a note needs of it."""

    @property
    def id(self) -> str:
        """Its id."""

    def report(self, failure: BaseException | str | None = None) -> str:
        """Return its report."""


def has_notes(failure: BaseException | None) -> bool:
    """Return True if an exception has a report already."""
    return any(note.startswith("mockserver:") for note in getattr(failure, "__notes__", ()))


def add_notes(failure: BaseException, sandboxes: Sequence[Reporting]) -> None:
    """Add the report of each of the latest sandboxes to an exception, once; never an error of its own."""
    if has_notes(failure):
        return
    for sandbox in sandboxes[-_SANDBOXES_MAX:]:
        try:
            report = sandbox.report(failure)
        except Exception as problem:  # noqa: BLE001 - a report must not hide the failure that it is about
            report = printable(f"no report of {sandbox.id}: {type(problem).__name__}: {problem}")
        failure.add_note(f"mockserver:\n{report}")
