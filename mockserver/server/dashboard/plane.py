"""The control plane as the pages see it: checks of a request, and the answers that every fact on a page is from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from mockserver._json import View
from mockserver.contract.text import whole_number
from mockserver.core.redaction import Redactor
from mockserver.report.problem import Problem

_LAST_ID: Final = re.compile(r"^id: ([0-9]+)\.([0-9]+)\.([0-9]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPage:
    """
    What the first page shows of a sandbox.

    Attributes:
        verdict: The line above the problems.
        is_bad: There are problems.
        problems: Of the whole run, the worst first; without one what the latest call shows.
        rows: What happened last, as lines, oldest first.
        journal: The newest calls and changes, and all that failed, as the answer of the journal has them.
        names: Of the records in them, by their ids.
        counts: How many records of each kind there are.
    """

    verdict: str
    is_bad: bool
    problems: Sequence[Problem]
    rows: Sequence[str]
    journal: View
    names: Mapping[str, str]
    counts: Mapping[str, int]


class Plane(Protocol):
    """One sandbox's control plane, for one request; no sandbox on a server without a default one."""

    @property
    def sandbox_id(self) -> str | None:
        """The id of the sandbox of the page."""

    @property
    def address(self) -> str:
        """The address of the sandbox, as the browser has it."""

    def key(self, tenant_id: str | None = None) -> str | None:
        """Return the secret key of a tenant, of the default one without an id; None where the pages show no key."""

    def check(self) -> None:
        """Raise ControlError for a request that the control plane refuses."""

    def check_origin(self) -> None:
        """Raise ControlError for a foreign name or origin; the token is not required."""

    def needs_token(self) -> bool:
        """Return True if the server requires a token."""

    def redactor(self) -> Redactor:
        """Return what masks the secrets that no log may show."""

    def cookie_for(self, token: str) -> tuple[str, str] | None:
        """Return the name and the value of the cookie for the server's token; None for any other text."""

    def cookie_names(self) -> list[str]:
        """Return the names of the cookies that open the pages."""

    def read(self, command: str, **arguments: str) -> View:
        """Return the answer of a command that reads; ControlError if it is refused."""

    @property
    def history(self) -> View:
        """The answer of `readHistory`, the same for everything on a page."""

    def first_page(self) -> FirstPage:
        """Return what the first page shows of the sandbox."""

    def call(self, number: int, *, whole: bool = True) -> View | None:
        """
        Return a call as the journal has it, with the `changes` that it has caused; None if the journal does not have it.

        One that is not `whole` is the request with its tenant.
        """

    def sandboxes(self) -> View:
        """Return the answer of `listSandboxes`, of each sandbox also its clock, its refused calls and its last call."""

    def names(self, ids: Iterable[str]) -> Mapping[str, str]:
        """Return the names of the records with these ids, of those that have one."""


def number_in(query: Mapping[str, str], name: str) -> int:
    """Return a whole number of a query; 0 without one, and for any other text."""
    return whole_number(query.get(name, "")) or 0


def place_of(plane: Plane) -> View:
    """Return the present place in the stream, from which a page follows it: its id, the last call and the last change."""
    match = _LAST_ID.search(plane.read("readStream")["text"])
    assert match is not None
    return {"id": ".".join(match.groups()), "calls": whole_number(match[2]), "changes": whole_number(match[3])}
