"""
Responses of the public API: from an outcome to status, headers and bytes.

A server with `strict` options validates each response against its schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from errno import ECONNRESET
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from mockserver.contract import schemas
from mockserver.contract.choices import DEFAULTS
from mockserver.contract.text import brief
from mockserver.core.instants import Duration, Instant
from mockserver.core.redaction import Redactor
from mockserver.core.state.calls import ApiError, Call, Refused, Success
from mockserver.core.state.journal import JournalEntry
from mockserver.core.state.sandbox import SandboxState
from mockserver.wire import formats, serializers
from mockserver.wire.formats import encoded

_HEADER_MAX_CHARS = 300
_SENTENCE_MAX_CHARS = 2_000
_CONTROL = re.compile(r"[^ -~]")
_JSON_TYPE = ("Content-Type", "application/json; charset=utf-8")

# Options that make a response differ from its schema on purpose, so that `strict` does not check it.
_UNCHECKED = (("additive-fields", "unknown-fields"), ("new-enum-values", "unseen"), ("error-extra-keys", "details"))


Waited = Literal["passed", "canceled", "timed-out"]


def explanation(refusal: ApiError | Refused, redactor: Redactor) -> str:
    """
    Return why a call was refused, in one English sentence without any key or secret.

    Args:
        refusal: the error, raised or recorded.
        redactor: hides the sandbox's own keys and secrets.

    Returns:
        The broken clause, the place, and the reason, at most 2,000 characters.
    """
    place = f" at {refusal.location}" if refusal.location else ""
    return redactor.brief(f"{refusal.clause}{place}: {refusal.reason}", _SENTENCE_MAX_CHARS)


def explanation_header(refusal: ApiError, redactor: Redactor) -> str:
    """Return the sentence as a header's value: printable ASCII, other characters escaped, at most 300 characters."""
    ascii_text = explanation(refusal, redactor).encode("ascii", "backslashreplace").decode("ascii")
    return brief(_CONTROL.sub(lambda control: f"\\x{ord(control[0]):02x}", ascii_text), _HEADER_MAX_CHARS)


class PendingWait(NamedTuple):
    """A wait in real time, which the server of the client's connection spends without a lock and a thread."""

    sandbox: SandboxState
    epoch: int  # the wait ends early when the sandbox leaves it
    span: Duration


class Transmission(NamedTuple):
    """
    How a response's body is sent, if a rule changes that.

    Attributes:
        truncate_bytes: the connection ends after this many bytes of the body; None for the whole body.
        chunks: the number of pieces of the body, 0 for one piece without a wait.
        over: the sum of the waits between the pieces, in microseconds.
        wait: spends one of these waits, or returns it for the server to spend.
        ended: called once: with True when the last piece is sent, with False if the client gives up before.
    """

    truncate_bytes: int | None = None
    chunks: int = 0
    over: Duration = 0
    wait: Callable[[Duration], Waited | PendingWait] = lambda span: "passed"
    ended: Callable[[bool], None] = lambda is_whole: None


class HttpResponse(NamedTuple):
    """
    A response: status, headers in order, and body.

    Attributes:
        transmission: how the body is sent; None to send it whole.
        entry: the journal's, for a call of the API.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    transmission: Transmission | None = None
    entry: JournalEntry | None = None

    def json(self) -> Any:
        """Return the body's JSON value."""
        return json.loads(self.body)


class NoResponse(NamedTuple):
    """
    No response: the client reads the end of the connection or a reset of it, or has reached its timeout.

    A transport without a connection raises the error that its client library raises then; `as_error` is the standard
    library's.

    Attributes:
        entry: the journal's; None for a call that is not in it.
    """

    reason: Literal["drop", "reset", "timeout"]
    entry: JournalEntry | None = None

    def as_error(self) -> OSError:
        """Return the error of the standard library's HTTP client."""
        if self.reason == "timeout":
            return TimeoutError("timed out")
        if self.reason == "reset":
            return ConnectionResetError(ECONNRESET, "Connection reset by peer")
        from http.client import RemoteDisconnected  # late: it is slow to import

        return RemoteDisconnected("Remote end closed connection without response")


def without_body(response: HttpResponse | NoResponse) -> HttpResponse | NoResponse:
    """Return the response to HEAD, with the length that GET would have."""
    if isinstance(response, NoResponse) or not response.body:
        return response
    is_sized = any(name == "Content-Length" for name, _ in response.headers)
    size = () if is_sized else (("Content-Length", str(len(response.body))),)
    return response._replace(headers=(*response.headers, *size), body=b"")


def iter_chunks(response: HttpResponse) -> Iterator[bytes]:
    """
    Yield the pieces of the body as they are sent: the first immediately, a wait before each other one.

    They end early if the body is truncated, and if the sandbox cancels the wait.

    Raises:
        TimeoutError: the client has given up.
    """
    with closing(chunk_steps(response)) as steps:
        for step in steps:
            assert not isinstance(step, PendingWait)  # of a client on a connection
            yield step


def chunk_steps(response: HttpResponse) -> Generator[bytes | PendingWait, Waited | None, None]:
    """Yield the pieces as `iter_chunks` does, and each wait that the server spends; `send` takes the result of that."""
    transmission = response.transmission or Transmission()
    body = response.body[: transmission.truncate_bytes]
    count = min(transmission.chunks, len(body)) or 1
    bounds = [number * len(body) // count for number in range(count + 1)]
    has_ended = False
    try:
        for number, (start, end) in enumerate(pairwise(bounds)):
            waited = transmission.wait(_gap(transmission.over, number, count)) if number else "passed"
            if isinstance(waited, PendingWait):
                waited = (yield waited) or "canceled"
            if waited == "canceled":
                return
            if waited == "timed-out":
                raise TimeoutError("timed out")
            if number + 1 == count:  # before the client reads it, so that its next call sees the response as sent
                has_ended = True
                transmission.ended(True)
            if end > start:
                yield body[start:end]
    finally:
        if not has_ended:
            transmission.ended(False)


def _gap(over: Duration, number: int, count: int) -> Duration:
    """Return the wait before a piece other than the first: whole microseconds, whose sum over all pieces is `over`."""
    return over * number // (count - 1) - over * (number - 1) // (count - 1)


class ResponseOptions(NamedTuple):
    """
    How a server responds in addition to the document.

    Attributes:
        explain: give the reason of a refusal in the header X-Mock-Reason.
        strict: validate each response against its schema.
    """

    explain: bool = True
    strict: bool = False


def build_response(
    sandbox: SandboxState, call: Call, outcome: Any, options: ResponseOptions, at: Instant | None = None
) -> HttpResponse:
    """
    Return the response to a call.

    Args:
        sandbox: for its choices, clock and seed.
        call: for its endpoint and base url.
        outcome: `Success` or `ApiError`.
        options: what the server adds and checks.
        at: the instant as of which the outcome is shown, if that is not now.

    Raises:
        ValueError: the options are strict and the response breaks its schema, which is a bug of the mock.
    """
    if isinstance(outcome, ApiError):
        return _refusal(sandbox, call, outcome, options)
    assert isinstance(outcome, Success)
    return _success(sandbox, call, outcome, options, at)


def _success(
    sandbox: SandboxState, call: Call, outcome: Success, options: ResponseOptions, at: Instant | None
) -> HttpResponse:
    endpoint = call.endpoint
    assert endpoint is not None
    choices = sandbox.choices
    status = formats.success_status(choices, endpoint)
    now = sandbox.clock.now
    date = ("Date", formats.http_date(now))
    serializer = serializers.SERIALIZERS.get(endpoint.id)
    if serializer is None:  # success has no content
        return HttpResponse(status, (date,), b"")
    view = formats.SerializationContext(choices, sandbox.seed, now if at is None else at, call.base_url)
    body = serializer(view, outcome.value)
    if options.strict:
        _check_schema(choices, endpoint.response_schema or "", body)
    if choices["additive-fields"] != "none":
        body = formats.with_unknown_fields(body)
    return HttpResponse(status, (_JSON_TYPE, date), encoded(body))


def _refusal(sandbox: SandboxState, call: Call, refusal: ApiError, options: ResponseOptions) -> HttpResponse:
    choices = sandbox.choices
    status, body = formats.error_body(choices, refusal, call.endpoint)
    if options.strict:
        _check_schema(choices, "error", body)
    headers: list[tuple[str, str]] = [("Date", formats.http_date(sandbox.now))]
    if refusal.code == "RATE_LIMIT_EXCEEDED":
        headers += formats.rate_limit_headers(choices, refusal, sandbox.now)
    elif "wait_s" in refusal.details:
        headers.append(("Retry-After", str(refusal.details["wait_s"])))  # set by a rule
    if call.endpoint is None and call.allowed_methods:
        headers.append(("Allow", ", ".join(call.allowed_methods)))
    if options.explain:
        headers.append(("X-Mock-Reason", explanation_header(refusal, redactor(sandbox))))
    return HttpResponse(status, (_JSON_TYPE, *headers), encoded(body))


def scripted_response(sandbox: SandboxState, status: int, headers: Mapping[str, str], body: Any) -> HttpResponse:
    """Return the response that a rule gives: text as it is, any other body as JSON."""
    defaults = [("Date", formats.http_date(sandbox.now))]
    if isinstance(body, str):
        content = body.encode("utf-8", "backslashreplace")
    elif body is None:
        content = b""
    else:
        content = encoded(body)
        defaults.append(_JSON_TYPE)
    own = {name.lower() for name in headers}
    added = (header for header in defaults if header[0].lower() not in own)
    return HttpResponse(status, (*added, *headers.items()), content)


def _check_schema(choices: Mapping[str, object], schema: str, body: Any) -> None:
    """Raise ValueError if the schema does not allow the body: a bug of the mock."""
    if choices is not DEFAULTS and any(choices.get(choice) == option for choice, option in _UNCHECKED):
        return
    problems = schemas.check(schema, body)
    if problems:
        worst = problems[0]
        raise ValueError(
            f"the response breaks {schema} at {worst.pointer or 'its top'}: got {worst.found!r}; expected {worst.wanted}"
        )


def redactor(sandbox: SandboxState) -> Redactor:
    """Return a redactor of the sandbox's own keys and signing secrets."""
    return Redactor(sandbox.secrets())
