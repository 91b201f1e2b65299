"""
Lines of the server's log: calls of the API, control commands, attempts at deliveries, refused bytes, and sandboxes that a limit ends.

1. A line is made where something happens; the thread of `server.log` writes its text.
2. The members have no secret. What does not apply to a line is not among them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from mockserver._json import JSON
from mockserver.contract.text import json_value, printable
from mockserver.core.instants import Duration, Instant, format_exact
from mockserver.core.redaction import Redactor
from mockserver.core.state.outbox import Attempt, Delivery, PlannedAttempt
from mockserver.wire.request import HttpRequest
from mockserver.wire.response import HttpResponse, NoResponse, explanation

_LOG = logging.getLogger("mockserver")


Line = JSON  # what a line shows, by name


class ServerLog:
    """A log of lines: `write_line` makes the text of each, and has it written. A line that fails is reported, and breaks no call."""

    def __init__(self, write_line: Callable[[Line], object]) -> None:
        self._write_line = write_line

    def write(self, make: Callable[..., Line], *values: Any) -> None:
        """Write the line that a function of this module makes of the values."""
        try:
            self._write_line(make(*values))
        except Exception:  # noqa: BLE001 - a bug of the mock must not break the call that the line is of
            _LOG.exception("unexpected failure in a line of the log")


class LogContext(NamedTuple):
    """The sandbox of a line when the line is made: its id, prefix, labels and clock, and what hides secrets."""

    hide: Redactor
    sandbox: str | None = None
    prefix: str = ""
    labels: Mapping[str, str] = {}
    now: Instant | None = None


def call_line(context: LogContext, request: HttpRequest, response: HttpResponse | NoResponse, took: Duration) -> Line:
    """Return the line of a call; `request` has a target below the sandbox's prefix, `took` is the real time up to the response."""
    hide, entry, own = context.hide, response.entry, JSON()
    if entry is not None:
        own = {"n": entry.n, "operation": entry.operation}
        if entry.fault is not None:
            own["rule"] = entry.fault.rule
    own |= _request(context.prefix, hide, request, took)
    own |= _answer(response)
    if entry is not None and entry.error is not None:
        own["reason"] = explanation(entry.error, hide)
    return _line("call", context, own)


def command_line(
    context: LogContext, request: HttpRequest, response: HttpResponse, took: Duration, command: str | None
) -> Line:
    """Return the line of a control command; `command` is the id of its route, None for an unknown path."""
    own = {"command": command} | _request(context.prefix, context.hide, request, took) | _answer(response)
    return _line("command", context, own)


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
    shown: JSON = {"url": planned.webhook.url, "error": attempt.error}
    return _line("delivery", context, own | context.hide.value(shown))


def end_line(context: LogContext, limit: str, reason: str) -> Line:
    """Return the line of a sandbox that a limit of the server ends."""
    return _line("end", context, {"limit": limit, "reason": reason})


def refusal_line(status: int, reason: str) -> Line:
    """Return the line of bytes that were answered although they are no request, such as those of a client that speaks TLS."""
    return _line("refusal", LogContext(Redactor(())), {"status": status, "reason": reason})


def failure_line(record: logging.LogRecord) -> Line:
    """Return the line of a failure or warning of the server itself."""
    text = logging.Formatter().format(record)
    return _line("failure", LogContext(Redactor(())), {"level": record.levelname, "message": text})


def _line(kind: str, context: LogContext, own: JSON) -> Line:
    """Return a line; `own` has what other kinds of lines do not have, or None."""
    head: JSON = {
        "at": datetime.now(UTC).astimezone().isoformat(timespec="milliseconds"),
        "kind": kind,
        "sandbox": context.sandbox,
        "labels": context.hide.value(context.labels) or None,
        "clock": format_exact(context.now) if context.now is not None else None,
    }
    return {name: value for name, value in (head | own).items() if value is not None}


def _request(prefix: str, hide: Redactor, request: HttpRequest, took: Duration) -> JSON:
    return {
        "method": hide.text(request.method[:20]),
        "path": prefix + hide.target(request.target),
        "durationMs": round(took / 1000, 3),
    }


def _answer(response: HttpResponse | NoResponse) -> JSON:
    """Return the members of a response; the code and the reason are those in the body of a refusal."""
    if isinstance(response, NoResponse):
        return {"noResponse": response.reason}
    answer: JSON = {"status": response.status, "bytes": len(response.body)}
    refusal = json_value(response.body) if response.status >= 400 else None
    if isinstance(refusal, dict):
        answer |= {"code": refusal.get("code"), "reason": refusal.get("message")}
    return answer


def as_json(line: Line) -> str:
    """Return the line as one JSON object, with its line end."""
    return json.dumps(line, ensure_ascii=False) + "\n"


def as_text(line: Line) -> tuple[str, str]:
    """Return the line for a reader, with its line end, and its date: it begins with its time of day by its sandbox's clock."""
    date, _, time_of_day = (line["clock"] if "clock" in line else line["at"]).partition("T")
    return printable(f"{time_of_day[:8]} {' '.join(_TEXTS[line['kind']](line))}") + "\n", date


# How a line in text shows what few exchanges have.
_MORE_OF_EXCHANGE = (("", "code"), (" ", "reason"), ("rule=", "rule"))


def _exchange_text(line: Line) -> list[str]:
    result = line["noResponse"] if "noResponse" in line else str(line["status"])
    more = [f"{form}{line[name]}" for form, name in _MORE_OF_EXCHANGE if name in line]
    return [result, line["method"], line["path"], *more]


def _attempt_text(line: Line) -> list[str]:
    result = str(line["status"]) if "status" in line else line["error"]
    fault = [f"({line['fault']})"] if "fault" in line else []
    until = f" until {line['next']}" if "next" in line else ""
    attempt = f"attempt {line['attempt']}: {line['delivery']}{until}"
    return [result, "delivery", line["event"], line["type"], "to", line["url"], *fault, attempt]


_TEXTS: Mapping[str, Callable[[Line], list[str]]] = {
    "call": _exchange_text,
    "command": _exchange_text,
    "delivery": _attempt_text,
    "end": lambda line: ["ended", line["sandbox"], f"({line['limit']})", line["reason"]],
    "refusal": lambda line: [str(line["status"]), line["reason"]],
    "failure": lambda line: [line["message"]],
}
