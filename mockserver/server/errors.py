"""The one exception of the control plane, the status of each of its codes, and the causes of any exception."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from mockserver.contract.text import closest_match_hint, printable
from mockserver.core.redaction import Redactor
from mockserver.scenario.problems import ScenarioError, WrongPart

_LOG: Final = logging.getLogger("mockserver")
# The status of each code with which the control plane refuses.
STATUSES: Final[Mapping[str, int]] = MappingProxyType(
    {
        "MOCK_TOKEN_WANTED": 401,
        "MOCK_FOREIGN_HOST": 403,
        "MOCK_FOREIGN_ORIGIN": 403,
        "MOCK_HEADER_WANTED": 403,
        "MOCK_NOT_FOUND": 404,
        "MOCK_WRONG_METHOD": 405,
        "MOCK_OWN_PORT": 409,
        "MOCK_DEFAULT_SANDBOX": 409,
        "MOCK_ILLEGAL_MOVE": 409,
        "MOCK_NOT_WATCHED": 409,
        "MOCK_LOOP_BLOCKED": 409,
        "MOCK_SANDBOX_CLOSED": 410,
        "MOCK_BODY_TOO_LARGE": 413,
        "MOCK_TOO_MANY_SANDBOXES": 429,
        "MOCK_INTERNAL_ERROR": 500,
        "MOCK_DRAINING": 503,
        **dict.fromkeys(
            (
                "MOCK_BAD_JSON", "MOCK_BAD_BODY", "MOCK_BAD_SCENARIO", "MOCK_BAD_CLOCK", "MOCK_BAD_INSTANT", "MOCK_BAD_ADVANCE",
                "MOCK_BAD_DURATION", "MOCK_TIME_GOES_FORWARD", "MOCK_BAD_CHOICE", "MOCK_BAD_QUERY", "MOCK_BAD_OPERATION",
                "MOCK_BAD_WHERE", "MOCK_BAD_VERIFY", "MOCK_BAD_PHONE", "MOCK_BAD_REASON", "MOCK_BAD_PLANE", "MOCK_BAD_PROFILE",
                "MOCK_BAD_OPENAPI", "MOCK_BAD_EVENT", "MOCK_BAD_TARGET", "MOCK_BAD_SECRET", "MOCK_BAD_CALL",
            ),
            400,
        ),
    }
)  # fmt: skip


class ControlError(Exception):
    """
    Refusal of a command.

    Attributes:
        code: `MOCK_...`, a key of `STATUSES`.
        status: the HTTP status of the code.
        message: English, with the way to correct the call; keys are masked.
        problems: the problems of a document, each with its place.
        headers: of the response.
        details: further members of the body.
    """

    def __init__(
        self,
        code: str,
        message: str,
        problems: list[WrongPart] | None = None,
        *,
        headers: tuple[tuple[str, str], ...] = (),
        details: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        message = Redactor(()).text(message)
        super().__init__(message)
        self.status = STATUSES[code]
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
    return ControlError("MOCK_BAD_SCENARIO", message, refusal.problems)


_LISTED_MAX: Final = 5  # of the ids that exist


def unknown_id(kind: str, received: str, ids: Iterable[str]) -> ControlError:
    """Return the refusal of an id that no record of this kind has, with some that exist and the nearest one."""
    known = list(ids)
    expected = ", ".join(known[:_LISTED_MAX]) or "one that exists; there is none yet"
    hint = closest_match_hint(received, known)
    return ControlError("MOCK_NOT_FOUND", f"{kind}: got {received!r}; expected {expected}{hint}")


def log_failure(message: str, hide: Redactor) -> None:
    """Log the failure that is being handled with its traceback, without any secret."""
    record = _LOG.makeRecord(_LOG.name, logging.ERROR, __file__, 0, printable(hide.text(message)), (), None)
    record.exc_text = printable(hide.text(traceback.format_exc()), keep="\n")
    _LOG.handle(record)


def causes(failure: BaseException) -> Iterator[BaseException]:
    """Yield an exception and its causes, each once: a client that keeps an exception and raises it again may close a circle."""
    seen: set[int] = set()
    cause: BaseException | None = failure
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__
