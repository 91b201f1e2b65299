"""
Responses of the public API: from an outcome to status, headers and bytes.

What is told beside an answer: the English reason of a refusal, and the Portuguese text of a session's end.

What goes back for an outcome: the answer's status, headers and bytes, held to its schema where the server is strict.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from mockserver.contract import schemas
from mockserver.contract.choices import DEFAULTS
from mockserver.contract.text import brief
from mockserver.core.instants import Duration, Instant
from mockserver.core.redaction import Redactor
from mockserver.core.state.calls import ApiError, Call, Refused, Success
from mockserver.core.state.sandbox import SandboxState
from mockserver.server.api import formats, serializers
from mockserver.server.api.formats import encoded

_HEADER_MAX_CHARS = 300
_SENTENCE_MAX_CHARS = 2_000


def explanation(refusal: ApiError | Refused, redactor: Redactor) -> str:
    """The broken clause, the place, and what came and was wanted, without any key or secret."""
    place = f" at {refusal.location}" if refusal.location else ""
    return redactor.brief(f"{refusal.clause}{place}: {refusal.reason}", _SENTENCE_MAX_CHARS)


def explanation_header(refusal: ApiError, redactor: Redactor) -> str:
    """The sentence as a header's value: printable ASCII, other characters escaped, at most 300 characters."""
    ascii_text = explanation(refusal, redactor).encode("ascii", "backslashreplace").decode("ascii")
    printable = "".join(each if " " <= each <= "~" else f"\\x{ord(each):02x}" for each in ascii_text)
    return brief(printable, _HEADER_MAX_CHARS)


_JSON_TYPE = ("Content-Type", "application/json; charset=utf-8")

# Options that make an answer go beyond its schema on purpose, so that `strict` has nothing to say about it.
_UNCHECKED = (("additive-fields", "unknown-fields"), ("new-enum-values", "unseen"), ("error-extra-keys", "details"))


Waited = Literal["passed", "released", "gone"]


class Transmission(NamedTuple):
    """
    How an answer leaves where a script bends the wire.

    `ends` is drop or reset where nothing is said, timeout where the client has given up, cut after `cut_bytes` of the body.
    A dribbled body goes in `pieces`, a wait between each two, `spread` in all.
    `ended` is called once: with True when the last piece is handed over, with False if the client gave up before.
    """

    termination: Literal["drop", "reset", "timeout", "cut"] | None = None
    truncate_bytes: int = 0
    chunks: int = 0
    over: Duration = 0
    wait: Callable[[Duration], Waited] = lambda span: "passed"
    ended: Callable[[bool], None] = lambda is_whole: None


class HttpResponse(NamedTuple):
    """What goes back: status, headers in order, and the body's bytes; `play` says how, where it is not in one go."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    transmission: Transmission | None = None

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


def iter_chunks(answer: HttpResponse) -> Iterator[bytes | None]:
    """
    The body as it comes: the first piece at once, a wait before each other one; None where the client has given up.

    It stops early where it is cut, and where the sandbox lets go of the call.
    """
    play = answer.transmission or Transmission()
    body = answer.body[: play.truncate_bytes] if play.termination == "cut" else answer.body
    count = min(play.chunks, len(body)) or 1
    bounds = [number * len(body) // count for number in range(count + 1)]
    has_ended = False
    try:
        for number, (start, end) in enumerate(pairwise(bounds)):
            # Whole microseconds, which add up to the spread however many there are.
            gap = play.over * number // (count - 1) - play.over * (number - 1) // (count - 1) if number else 0
            waited = play.wait(gap) if number else "passed"
            if waited == "released":
                return
            if waited == "gone":
                has_ended = True
                play.ended(False)
                yield None
                return
            if number + 1 == count:  # before the client has it, so that nothing it does next finds the answer unsent
                has_ended = True
                play.ended(True)
            if end > start:
                yield body[start:end]
    finally:
        if not has_ended:
            play.ended(False)


class ResponseOptions(NamedTuple):
    """How a server answers beside the document: with reasons in a header, and with its own answers checked."""

    explain: bool = True
    strict: bool = False


def build_response(
    sandbox: SandboxState, call: Call, outcome: Any, manner: ResponseOptions, at: Instant | None = None
) -> HttpResponse:
    """The answer that says an outcome, as of `at` where that is not now; in strict manner ValueError for a bug of the mock."""
    if isinstance(outcome, ApiError):
        return _refusal(sandbox, call, outcome, manner)
    endpoint = call.endpoint
    assert endpoint is not None and isinstance(outcome, Success)
    choices = sandbox.choices
    status = formats.success_status(choices, endpoint)
    now = sandbox.clock.now
    date = ("Date", formats.http_date(now))
    if endpoint.response_schema is None:
        return HttpResponse(status, (date,), b"")
    view = formats.SerializationContext(choices, sandbox.seed, now if at is None else at, call.base_url)
    body = serializers.SERIALIZERS[endpoint.id](view, outcome.value)
    if manner.strict:
        _check_schema(choices, endpoint.response_schema, body)
    if choices["additive-fields"] != "none":
        body = formats.with_unknown_fields(body)
    return _json(status, body, (date,))


def _refusal(sandbox: SandboxState, call: Call, refusal: ApiError, manner: ResponseOptions) -> HttpResponse:
    choices = sandbox.choices
    status, body = formats.error_body(choices, refusal, call.endpoint)
    if manner.strict:
        _check_schema(choices, "error", body)
    headers: list[tuple[str, str]] = [("Date", formats.http_date(sandbox.now))]
    if refusal.code == "RATE_LIMIT_EXCEEDED":
        headers += formats.rate_limit_headers(choices, refusal, sandbox.now)
    elif "wait_s" in refusal.details:
        headers.append(("Retry-After", str(refusal.details["wait_s"])))  # a script's own words
    if call.endpoint is None and call.allowed_methods:
        headers.append(("Allow", ", ".join(call.allowed_methods)))
    if manner.explain:
        headers.append(("X-Mock-Reason", explanation_header(refusal, redactor(sandbox))))
    return _json(status, body, tuple(headers))


def scripted_response(sandbox: SandboxState, status: int, headers: Mapping[str, str], body: Any) -> HttpResponse:
    """An answer in a script's own words: text as it is, any other value as JSON."""
    is_text = isinstance(body, str)
    content = body.encode("utf-8", "backslashreplace") if is_text else b"" if body is None else encoded(body)
    own = {name.lower() for name in headers}
    given = [
        ("Date", formats.http_date(sandbox.now)),
        *(() if is_text or body is None else (_JSON_TYPE,)),
    ]
    return HttpResponse(status, (*(each for each in given if each[0].lower() not in own), *headers.items()), content)


def _json(status: int, body: Any, headers: tuple[tuple[str, str], ...]) -> HttpResponse:
    return HttpResponse(status, (_JSON_TYPE, *headers), encoded(body))


def _check_schema(choices: Mapping[str, object], schema: str, body: Any) -> None:
    """An answer that its schema does not allow is a bug of the mock, and says so."""
    if choices is not DEFAULTS and any(choices[choice] == option for choice, option in _UNCHECKED):
        return
    problems = schemas.check(schema, body)
    if problems:
        worst = problems[0]
        raise ValueError(
            f"the answer breaks {schema} at {worst.pointer or 'its top'}: {worst.found!r}; wanted {worst.wanted}"
        )


def redactor(sandbox: SandboxState) -> Redactor:
    """What hides the sandbox's own keys and signing secrets."""
    return Redactor(sandbox.secrets())
