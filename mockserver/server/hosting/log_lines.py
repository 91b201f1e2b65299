"""
Lines of the server's log: calls of the API, control commands, attempts at deliveries, refused bytes, and sandboxes that a limit ends.

1. A line is made where something happens, and its members by the thread that writes the log: a call does not wait for them.
   Only the short text of a plain call is made by the calls' own thread: another one would wait for the interpreter each time,
   and the call's values would have left the processor's cache. It is made with those of other calls before the server waits
   for its clients: for one call at a time it would be the code that has left the cache.
2. The members have no secret. What does not apply to a line is not among them.
3. Until then a whole line holds no record of the sandbox and no body of a successful call, since thousands may wait.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Literal, NamedTuple

from mockserver._json import JSON
from mockserver.contract.text import json_value, printable
from mockserver.core.instants import SECOND, Duration, Instant, format_exact
from mockserver.core.redaction import Redactor
from mockserver.core.state.journal import JournalEntry
from mockserver.core.state.outbox import Attempt, Delivery, PlannedAttempt
from mockserver.server.api.response import HttpResponse, NoResponse, explanation

Members = Callable[[], JSON]
Form = Literal["text", "json"]
# What makes the line of a plain call, the call, and its target below the sandbox's prefix. A plain tuple: it is made for each call.
PlainCall = tuple["PlainCalls", JournalEntry, str]

_SHOWN_MAX = 1_024  # requests of a sandbox whose text is remembered
_SHOWN_CHARS = 512  # of a target, at most
_TOGETHER_MAX = 32  # plain calls whose lines are made together


class Line(NamedTuple):
    """A line of the log: `at` is the real time in seconds since 1970, `own` returns what other kinds of lines do not have."""

    kind: str
    at: float
    context: LogContext
    own: Members

    def members(self) -> JSON:
        """Return what the line shows, by name."""
        context = self.context
        head: JSON = {
            "at": datetime.fromtimestamp(self.at, UTC).astimezone().isoformat(timespec="milliseconds"),
            "kind": self.kind,
            "sandbox": context.sandbox,
            "labels": context.hide.value(context.labels) or None,
            "clock": format_exact(context.now) if context.now is not None else None,
        }
        return {name: value for name, value in (head | self.own()).items() if value is not None}

    @property
    def date(self) -> str:
        """The date by the sandbox's clock, without a sandbox by the computer's."""
        if self.context.now is not None:
            return _of_second(self.context.now // SECOND)[0]
        return time.strftime("%Y-%m-%d", time.localtime(self.at))


class ServerLog:
    """
    A log: whole lines, and in a log of texts those of plain calls.

    A plain call is one whose line shows its time, status, method and path alone.

    Args:
        write: gets each whole line.
        write_plain: gets the text of plain calls' lines of one date, and the date; None for a log of members.

    Attributes:
        has_texts: True if a plain call has no whole line.
    """

    def __init__(
        self, write: Callable[[Line], object], write_plain: Callable[[str, str], object] | None = None
    ) -> None:
        self._write = write
        self._write_plain = write_plain
        self.has_texts = write_plain is not None
        self._calls: deque[PlainCall] = deque()
        self._lock = threading.RLock()  # reentrant: a handler of a signal may write within a write

    def write(self, line: Line) -> None:
        """Write a whole line, after those of the plain calls before it."""
        self.write_plain_calls()
        self._write(line)

    def add(self, call: PlainCall) -> None:
        """
        Have the line of a plain call written with those of others.

        That of a call with a query is made at once: it may have a secret, which a command may take away. A path that is found has
        the ids of records alone.
        """
        self._calls.append(call)
        if len(self._calls) >= _TOGETHER_MAX or "?" in call[2]:
            self.write_plain_calls()

    def write_plain_calls(self) -> None:
        """Write the lines of the plain calls since the last time."""
        write = self._write_plain
        if not self._calls or write is None:
            return
        with self._lock:
            texts, date = list[str](), ""
            latest: PlainCalls | None = None
            while self._calls:
                lines, entry, target = self._calls.popleft()
                if lines is not latest:
                    latest = lines
                    lines.hide_secrets()
                text, its_date = lines.line(entry, target)
                if its_date != date:
                    if texts:
                        write("".join(texts), date)
                    texts, date = [], its_date
                texts.append(text)
            if texts:
                write("".join(texts), date)


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
    """
    What a line shows of a request: `target` is below the sandbox's prefix, `took` is the real time up to the response.

    A log in text does not show how long a request took, and measures nothing.
    """

    method: str
    target: str
    traceparent: str | None
    took: Duration | None


def call_line(
    context: LogContext, request: LoggedRequest, response: HttpResponse | NoResponse, entry: JournalEntry | None
) -> Line:
    """Return the line of a call; `entry` is the journal's, None for a call that has not arrived."""
    answer, own, error = _answer(response), JSON(), None
    if entry is not None:
        rule, error = entry.fault.rule if entry.fault else None, entry.error
        own = {"n": entry.n, "operation": entry.operation, "rule": rule}

    def members() -> JSON:
        reason = {"reason": explanation(error, context.hide)} if error is not None else {}
        return own | _request(context, request) | answer() | reason

    return _line("call", context, members)


class PlainCalls:
    """
    Makes the lines of a sandbox's plain calls, as a log in text has them.

    What a line shows besides the time is remembered, since clients send the same requests again and again.

    Args:
        prefix: the sandbox's.
        secrets: returns its secrets, without its lock.

    Lifetime: the sandbox's. Lock: the caller of `line` holds that of the log.
    """

    __slots__ = ("_date", "_hide", "_prefix", "_second", "_secrets", "_secrets_now", "_shown", "_time")

    def __init__(self, prefix: str, secrets: Callable[[], Sequence[str]]) -> None:
        self._prefix = prefix
        self._secrets_now = secrets
        self._secrets: Sequence[str] = ()
        self._hide = Redactor(())
        self._shown: dict[tuple[int | None, str, str], str] = {}
        self._second: int | None = None  # since 1970, of the latest line
        self._date = self._time = ""

    def hide_secrets(self) -> None:
        """Hide the secrets that the sandbox has now in the lines from here on."""
        secrets = self._secrets_now()
        if secrets != self._secrets or len(self._shown) >= _SHOWN_MAX:
            self._secrets, self._hide, self._shown = secrets, Redactor(secrets), {}

    def line(self, entry: JournalEntry, target: str) -> tuple[str, str]:
        """Return the line of a call as text, and its date."""
        named = entry.status, entry.call.method, target
        shown = self._shown.get(named)
        if shown is None:
            shown = self._remember(*named)
        second = entry.at // SECOND
        if second != self._second:
            self._second, (self._date, self._time) = second, _of_second(second)
        return self._time + shown, self._date

    def _remember(self, status: int | None, method: str, target: str) -> str:
        """Return what follows the time of day in a line, and remember it unless it is long."""
        hide = self._hide
        shown = f"{method[:20]} {self._prefix}{target}"
        if hide.contains_secret(shown):
            shown = f"{hide.text(method[:20])} {self._prefix}{hide.text(target)}"
        shown = f" {status} {printable(shown)}\n"
        if len(target) <= _SHOWN_CHARS:
            self._shown[status, method, target] = shown
        return shown


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


def refusal_line(status: int, reason: str) -> Line:
    """Return the line of bytes that were answered although they are no request, such as those of a client that speaks TLS."""
    return _line("refusal", LogContext(), lambda: {"status": status, "reason": reason})


def failure_line(record: logging.LogRecord) -> Line:
    """Return the line of a failure or warning of the server itself."""
    text = logging.Formatter().format(record)
    return _line("failure", LogContext(), lambda: {"level": record.levelname, "message": text})


def _line(kind: str, context: LogContext, own: Members) -> Line:
    return Line(kind, time.time(), context, own)


def _request(context: LogContext, request: LoggedRequest) -> JSON:
    hide = context.hide
    return {
        "method": hide.text(request.method[:20]),
        "path": context.prefix + hide.text(request.target),
        "traceparent": hide.text(request.traceparent) if request.traceparent else None,
        "durationMs": None if request.took is None else round(request.took / 1000, 3),
    }


def _answer(response: HttpResponse | NoResponse) -> Members:
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


def as_json(line: Line) -> str:
    """Return the line as one JSON object, with its line end."""
    return json.dumps(line.members(), ensure_ascii=False) + "\n"


def as_text(line: Line) -> str:
    """Return the line for a reader, with its line end: its time of day is by its sandbox's clock, and its date is `Line.date`."""
    members = line.members()
    _, _, time_of_day = str(members["clock" if "clock" in members else "at"]).partition("T")
    return printable(f"{time_of_day[:8]} {' '.join(_TEXTS[line.kind](members))}") + "\n"


@lru_cache(maxsize=8)
def _of_second(second: int) -> tuple[str, str]:
    """Return the date and the time of day of a second since 1970."""
    date, _, time_of_day = format_exact(second * SECOND).partition("T")
    return date, time_of_day[:8]


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
    "refusal": lambda members: [str(members["status"]), members["reason"]],
    "failure": lambda members: [members["message"]],
}
