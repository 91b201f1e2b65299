"""The one exception of the control plane."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from mockserver.contract.text import closest_match_hint
from mockserver.core.redaction import Redactor
from mockserver.scenario.problems import Problem, ScenarioError


class ControlError(Exception):
    """
    Refusal of a command.

    Attributes:
        status: the HTTP status.
        code: `MOCK_...`.
        message: English, with the way to correct the call; keys are masked.
        problems: the problems of a document, each with its place.
        headers: of the response.
        details: further members of the body.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        problems: list[Problem] | None = None,
        *,
        headers: tuple[tuple[str, str], ...] = (),
        details: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        message = Redactor(()).text(message)
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.problems = [problem.redacted() for problem in problems or []]
        self.headers = headers
        self.details = details

    def as_json(self) -> dict[str, Any]:
        """Return the body of the response."""
        body: dict[str, Any] = {"statusCode": self.status, "code": self.code, "message": self.message, **self.details}
        return body | {"problems": [problem.as_json() for problem in self.problems]} if self.problems else body


def refused_document(refusal: ScenarioError, consequence: str) -> ControlError:
    """Return the refusal of a document; its message has the first problem, for clients that show the message alone."""
    first, *others = refusal.problems
    more = f" (and {len(others)} more in `problems`)" if others else ""
    message = f"the document is refused; {consequence}: {first}{more}"
    return ControlError(400, "MOCK_BAD_SCENARIO", message, refusal.problems)


_LISTED_MAX: Final = 5  # of the ids that exist


def unknown_id(kind: str, received: str, ids: Iterable[str]) -> ControlError:
    """Return the refusal of an id that no record of this kind has, with some that exist and the nearest one."""
    known = list(ids)
    expected = ", ".join(known[:_LISTED_MAX]) or "one that exists; there is none yet"
    hint = closest_match_hint(received, known)
    return ControlError(404, "MOCK_NOT_FOUND", f"{kind}: got {received!r}; expected {expected}{hint}")
