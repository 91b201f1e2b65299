"""The one exception of the control plane."""

from __future__ import annotations

from typing import Any

from mockserver.core.redaction import Redactor
from mockserver.scenario.problems import Problem


class ControlError(Exception):
    """A command is refused: an HTTP status, a code `MOCK_...`, an English message that says how to mend the call; keys in short."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        problems: list[Problem] | None = None,
        *,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        message = Redactor(()).text(message)
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.problems = [each.redacted() for each in problems or []]
        self.headers = headers

    def as_json(self) -> dict[str, Any]:
        """The body of the refusal."""
        body: dict[str, Any] = {"statusCode": self.status, "code": self.code, "message": self.message}
        return body | {"problems": [each.as_json() for each in self.problems]} if self.problems else body
