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
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Literal, NamedTuple

from mockserver._json import JSON
from mockserver.contract.text import json_value, printable
from mockserver.core.instants import Duration, Instant, format_exact
from mockserver.core.redaction import Redactor
from mockserver.core.state.journal import JournalEntry
from mockserver.core.state.outbox import Attempt, Delivery, PlannedAttempt
from mockserver.server.api.response import HttpResponse, NoResponse, explanation

Line = Callable[[], JSON]
Log = Callable[[Line], None]
Form = Literal["text", "json"]

_NO_REDACTOR = Redactor(())


class LogContext(NamedTuple):
    """The sandbox of a line when the line is made: its id, prefix, labels and clock, and what hides its secrets."""

    sandbox: str | None = None
    prefix: str = ""
    labels: Mapping[str, str] = {}
    now: Instant | None = None
    hide: Redactor = _NO_REDACTOR


class LoggedRequest(NamedTuple):
    """What a line shows of a request: `target` is below the sandbox's prefix, `took` is the real time up to the response."""

    method: str
    target: str
    traceparent: str | None
    took: Duration


def call_line(
    context: LogContext, request: LoggedRequest, response: HttpResponse | NoResponse, entry: JournalEntry | None
) -> Line:
    """Return the line of a call; `entry` is the journal's, None for a call that has not arrived."""
    own: JSON = {}
    if entry is not None:
        own = {"n": entry.n, "operation": entry.operation, "rule": entry.fault.rule if entry.fault else None}
    answer = _answer(response)
    reason = partial(explanation, entry.error, context.hide) if entry is not None and entry.error else lambda: None
    return _line("call", context, lambda: own | _request(context, request) | answer() | {"reason": reason()})


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

    def members() -> JSON:
        head: JSON = {
            "at": datetime.fromtimestamp(at, UTC).astimezone().isoformat(timespec="milliseconds"),
            "kind": kind,
            "sandbox": context.sandbox,
            "labels": context.hide.value(context.labels) or None,
            "clock": format_exact(context.now) if context.now is not None else None,
        }
        return {name: value for name, value in (head | own()).items() if value is not None}

    return members


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
        members = line()
        date, _, time_of_day = str(members["clock" if "clock" in members else "at"]).partition("T")
        shown = [*([date] if date != self._date else []), time_of_day[:8], *_TEXTS[members["kind"]](members)]
        self._date = date
        return printable(" ".join(shown)) + "\n"


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
