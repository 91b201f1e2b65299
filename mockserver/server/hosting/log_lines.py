"""
Lines of the server's log: calls of the API, control commands, attempts at deliveries, and sandboxes that a limit ends.

1. A line is a function without arguments, made where something happens and called by the thread that writes the log: a call
   does not wait for the text of its line.
2. It returns the line's members without any secret. What does not apply to a line is not among them.
3. Until then it holds no record of the sandbox and no body of a successful call, since thousands of lines may wait.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Literal, NamedTuple

from mockserver._json import JSON
from mockserver.contract.text import json_value, printable
from mockserver.core.instants import SECOND, Duration, Instant, format_exact
from mockserver.core.redaction import Redactor
from mockserver.core.state.calls import Refused
from mockserver.core.state.journal import JournalEntry
from mockserver.core.state.outbox import Attempt, Delivery, PlannedAttempt
from mockserver.server.api.response import HttpResponse, NoResponse, explanation

Line = Callable[[], JSON]
Log = Callable[[Line], None]
Form = Literal["text", "json"]


class LogContext(NamedTuple):
    """The sandbox of a line when the line is made: its id, prefix, labels and clock, and the secrets that no line shows."""

    sandbox: str | None = None
    prefix: str = ""
    labels: Mapping[str, str] = {}
    now: Instant | None = None
    secrets: Sequence[str] = ()

    @property
    def hide(self) -> Redactor:
        """What hides the secrets: the thread that writes the log makes it."""
        return Redactor(self.secrets)


class LoggedRequest(NamedTuple):
    """What a line shows of a request: `target` is below the sandbox's prefix, `took` is the real time up to the response."""

    method: str
    target: str
    traceparent: str | None
    took: Duration


@dataclass(slots=True)  # not frozen, which would take three times as long to make
class CallLine:
    """
    The line of a call of the API: most lines of a log are such.

    Attributes:
        at: seconds since 1970, by the computer's clock.
        answer: returns the members of the response; None for a success, of which `status` and `size_bytes` are all.
        n: of the journal's entry; 0 for a call that has not arrived.
    """

    at: float
    context: LogContext
    request: LoggedRequest
    status: int
    size_bytes: int
    answer: Line | None
    n: int = 0
    operation: str | None = None
    rule: str | None = None
    error: Refused | None = None

    def __call__(self) -> JSON:
        """Return the members of the line."""
        own: JSON = {"n": self.n, "operation": self.operation, "rule": self.rule} if self.n else {}
        answer = self.answer() if self.answer is not None else {"status": self.status, "bytes": self.size_bytes}
        reason = {"reason": explanation(self.error, self.context.hide)} if self.error is not None else {}
        members = own | _request(self.context, self.request) | answer | reason
        return _members("call", self.at, self.context, members)

    @property
    def is_plain(self) -> bool:
        """True if the text of the line has nothing but the time, the status, the method and the path."""
        return self.answer is None and self.rule is None and self.error is None and self.request.traceparent is None

    def plain_text(self) -> str:
        """Return the text of a plain line without its time."""
        hide, request = self.context.hide, self.request
        return f"{self.status} {hide.text(request.method[:20])} {self.context.prefix}{hide.text(request.target)}"


def call_line(
    context: LogContext, request: LoggedRequest, response: HttpResponse | NoResponse, entry: JournalEntry | None
) -> CallLine:
    """Return the line of a call; `entry` is the journal's, None for a call that has not arrived."""
    status, size_bytes, answer = 0, 0, None
    if isinstance(response, NoResponse) or response.status >= 400:
        answer = _answer(response)
    else:
        status, size_bytes = response.status, len(response.body)
    if entry is None:
        return CallLine(time.time(), context, request, status, size_bytes, answer)
    rule = entry.fault.rule if entry.fault else None
    return CallLine(
        time.time(), context, request, status, size_bytes, answer, entry.n, entry.operation, rule, entry.error
    )


def command_line(context: LogContext, request: LoggedRequest, response: HttpResponse, command: str | None) -> Line:
    """Return the line of a control command; `command` is the id of its route, None for an unknown path."""
    answer = _answer(response)
    return _line("command", context, lambda: {"command": command} | _request(context, request) | answer())


def attempt_line(context: LogContext, planned: PlannedAttempt, attempt: Attempt, after: Delivery) -> Line:
    """Return the line of one request to an endpoint; `after` is the delivery when the attempt is recorded."""
    own: JSON = {
        "event": planned.delivery.event.id,
        "type": planned.delivery.event.kind,
        "webhook": planned.webhook.id,
        "attempt": attempt.number,
        "fault": attempt.fault,
        "status": attempt.status,
        "durationMs": attempt.duration_ms,
        "delivery": after.status,
        "next": format_exact(after.due) if after.status == "waiting" else None,
    }
    url, error = planned.webhook.url, attempt.error
    shown = partial(context.hide.value, {"url": url, "error": error})
    return _line("delivery", context, lambda: own | shown())


def end_line(context: LogContext, limit: str, reason: str) -> Line:
    """Return the line of a sandbox that a limit of the server ends."""
    return _line("end", context, lambda: {"limit": limit, "reason": reason})


def failure_line(record: logging.LogRecord) -> Line:
    """Return the line of a failure or warning of the server itself."""
    text = logging.Formatter().format(record)
    return _line("failure", LogContext(), lambda: {"level": record.levelname, "message": text})


def _line(kind: str, context: LogContext, own: Callable[[], JSON]) -> Line:
    at = time.time()
    return lambda: _members(kind, at, context, own())


def _members(kind: str, at: float, context: LogContext, own: JSON) -> JSON:
    head: JSON = {
        "at": datetime.fromtimestamp(at, UTC).astimezone().isoformat(timespec="milliseconds"),
        "kind": kind,
        "sandbox": context.sandbox,
        "labels": context.hide.value(context.labels) or None,
        "clock": format_exact(context.now) if context.now is not None else None,
    }
    return {name: value for name, value in (head | own).items() if value is not None}


def _request(context: LogContext, request: LoggedRequest) -> JSON:
    hide = context.hide
    return {
        "method": hide.text(request.method[:20]),
        "path": context.prefix + hide.text(request.target),
        "traceparent": hide.text(request.traceparent) if request.traceparent else None,
        "durationMs": round(request.took / 1000, 3),
    }


def _answer(response: HttpResponse | NoResponse) -> Line:
    """Return the members of a response; the code and the reason are those in the body of a refusal."""
    if isinstance(response, NoResponse):
        return lambda: {"noResponse": response.reason}
    status, size_bytes = response.status, len(response.body)
    body = response.body if status >= 400 else b""

    def members() -> JSON:
        value = json_value(body, {})
        refusal = value if isinstance(value, dict) else {}
        return {
            "status": status,
            "bytes": size_bytes,
            "code": refusal.get("code"),
            "reason": refusal.get("message"),
        }

    return members


class LogForm:
    """
    Turns lines into texts, each with its line end.

    In text a line has the time by its sandbox's clock, and the date too if it is not that of the line before.

    Lifetime: the log's. Only the thread that writes the log calls `text` and `json`.
    """

    def __init__(self) -> None:
        self._date = ""

    def json(self, line: Line) -> str:
        """Return the line as one JSON object."""
        return json.dumps(line(), ensure_ascii=False) + "\n"

    def text(self, line: Line) -> str:
        """Return the line for a reader."""
        if isinstance(line, CallLine) and line.is_plain and line.context.now is not None:
            # The members would take ten times as long.
            (date, time_of_day), shown = _of_second(line.context.now // SECOND), line.plain_text()
        else:
            members = line()
            date, _, time_of_day = str(members["clock" if "clock" in members else "at"]).partition("T")
            shown = " ".join(_TEXTS[members["kind"]](members))
        begin = "" if date == self._date else f"{date} "
        self._date = date
        return printable(f"{begin}{time_of_day[:8]} {shown}") + "\n"


@lru_cache(maxsize=8)
def _of_second(second: int) -> tuple[str, str]:
    """Return the date and the time of day of a second since 1970."""
    date, _, time_of_day = format_exact(second * SECOND).partition("T")
    return date, time_of_day


def _exchange_text(members: JSON) -> list[str]:
    reason = f" {members['reason']}" if "reason" in members else ""
    more = [f"{name}={members[name]}" for name in ("rule", "traceparent") if name in members]
    status = str(members["status"]) if "status" in members else members["noResponse"]
    code = [members["code"]] if "code" in members else []
    return [status, members["method"], members["path"], *code, *([reason] if reason else []), *more]


def _attempt_text(members: JSON) -> list[str]:
    result = str(members["status"]) if "status" in members else members["error"]
    fault = [f"({members['fault']})"] if "fault" in members else []
    until = f" until {members['next']}" if "next" in members else ""
    attempt = f"attempt {members['attempt']}: {members['delivery']}{until}"
    return [result, "delivery", members["event"], members["type"], "to", members["url"], *fault, attempt]


_TEXTS: Mapping[str, Callable[[JSON], list[str]]] = {
    "call": _exchange_text,
    "command": _exchange_text,
    "delivery": _attempt_text,
    "end": lambda members: ["ended", members["sandbox"], f"({members['limit']})", members["reason"]],
    "failure": lambda members: [members["message"]],
}
