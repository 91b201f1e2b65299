"""
The gateway: `serve` takes a request to the public API and gives its answer. It is the whole of `/v1`.

The Flask view and the in-process transports are shells around it, so the two ways in cannot differ.
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from mockserver.contract import schemas
from mockserver.contract.choices import DEFAULTS
from mockserver.contract.limits import (
    FORM_BODY_MAX_BYTES,
    JOURNAL_BODY_MAX_BYTES,
    JSON_BODY_MAX_BYTES,
    UPLOAD_MAX_BYTES,
)
from mockserver.core.answer import Answered, answer
from mockserver.core.calls import ApiError, Call, Shown
from mockserver.core.journal import Exchange
from mockserver.core.redaction import Redactor
from mockserver.core.sandbox import Sandbox
from mockserver.core.settle import settle
from mockserver.edge import multipart, reasons, represent, routing, spelling

_LOG = logging.getLogger("mockserver")
# Compact, accents as they are; a Decimal is a number that a client spelled with a fraction.
_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=float).encode
_JSON_TYPE = ("Content-Type", "application/json; charset=utf-8")

# Options that make an answer go beyond its schema on purpose, so that `strict` has nothing to say about it.
_BEYOND = (("additive-fields", "unknown-fields"), ("new-enum-values", "unseen"), ("error-extra-keys", "details"))


class Wire(NamedTuple):
    """
    A request as it came: the raw target after the sandbox's prefix, headers with lower-case names, the whole body.

    `body` is None where it was larger than `body_limit` of its target and was not read.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes | None
    base_url: str

    def __repr__(self) -> str:  # headers, target and body may hold a key
        return f"Wire(method={self.method!r}, base_url={self.base_url!r})"


class Answer(NamedTuple):
    """What goes back: status, headers in order, and the body's bytes."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


class Manner(NamedTuple):
    """How a server answers beside the document: with reasons in a header, and with its own answers checked."""

    explain: bool = True
    strict: bool = False


def body_limit_bytes(target: str) -> int:
    """How large a body of this target may be."""
    if target.startswith("/connect/"):
        return FORM_BODY_MAX_BYTES
    return UPLOAD_MAX_BYTES if target.startswith("/v1/messaging/media") else JSON_BODY_MAX_BYTES


def serve(sandbox: Sandbox, wire: Wire, manner: Manner = Manner()) -> Answer:  # noqa: B008 - an immutable default
    """
    The answer to one request, after letting time pass up to now; the exchange is in the journal when this returns.

    Whatever comes, the answer is the documented one or the documented error; an unexpected failure is INTERNAL_ERROR.
    """
    call = read_call(wire)
    with sandbox.lock:
        try:
            settle(sandbox, sandbox.read_clock())
            answered = answer(sandbox, call)
            reply = _reply(sandbox, call, answered.outcome, manner)
        except Exception as failure:  # noqa: BLE001 - whatever it is, the client gets the documented error
            _report(sandbox, call)
            answered = Answered(_internal(failure), None, None)
            reply = _reply(sandbox, call, answered.outcome, manner._replace(strict=False))
        sandbox.journal.keep(_exchange(sandbox, call, answered, reply))
    if call.method != "HEAD":
        return reply
    length = ("Content-Length", str(len(reply.body)))  # as GET would have it
    return reply._replace(headers=(*reply.headers, length), body=b"")


def read_call(wire: Wire) -> Call:
    """The request as the core takes it; nothing of it is believed yet."""
    path, _, query = wire.target.partition("?")
    found = routing.route(wire.method, path)
    content_type = wire.headers.get("content-type", "")
    return Call(
        wire.method,
        path,
        found.endpoint,
        found.allow,
        found.params,
        _pairs(query) if query else (),
        wire.headers,
        wire.body,
        multipart.reader(content_type, wire.body or b""),
        wire.base_url,
    )


def _pairs(query: str) -> Sequence[tuple[str, str]]:
    try:
        return parse_qsl(query, keep_blank_values=True, errors="replace", max_num_fields=200)
    except ValueError:  # more pairs than any operation could want: none of them counts
        return ()


def _report(sandbox: Sandbox, call: Call) -> None:
    """Log the failure under way with its traceback, in which no secret is left."""
    hide = redactor(sandbox)
    told = hide.text(f"unexpected failure in {call.method} {call.path}")
    record = _LOG.makeRecord(_LOG.name, logging.ERROR, __file__, 0, told, (), None)
    record.exc_text = hide.text(traceback.format_exc())
    _LOG.handle(record)


def _internal(failure: Exception) -> ApiError:
    return ApiError(
        "INTERNAL_ERROR", clause="base.internal", reason=f"the mock failed: {type(failure).__name__}: {failure}"
    )


def _reply(sandbox: Sandbox, call: Call, outcome: Any, manner: Manner) -> Answer:
    if isinstance(outcome, ApiError):
        return _refusal(sandbox, call, outcome, manner)
    endpoint = call.endpoint
    assert endpoint is not None and isinstance(outcome, Shown)
    choices = sandbox.choices
    status = spelling.status_of_success(choices, endpoint)
    date = ("Date", spelling.http_date(sandbox.now))
    if endpoint.response_schema is None:
        return Answer(status, (date,), b"")
    view = represent.View(choices, sandbox.seed, sandbox.now, call.base_url)
    body = represent.BODIES[endpoint.id](view, outcome.facts)
    if manner.strict:
        _hold_to_schema(choices, endpoint.response_schema, body)
    if choices["additive-fields"] != "none":
        body = spelling.with_unknown_fields(body)
    return _json(status, body, (date,))


def _refusal(sandbox: Sandbox, call: Call, refusal: ApiError, manner: Manner) -> Answer:
    choices = sandbox.choices
    status, body = spelling.error(choices, refusal, call.endpoint)
    if manner.strict:
        _hold_to_schema(choices, "error", body)
    headers: list[tuple[str, str]] = [("Date", spelling.http_date(sandbox.now))]
    if refusal.code == "RATE_LIMIT_EXCEEDED":
        headers += spelling.retry_headers(choices, refusal, sandbox.now)
    if call.endpoint is None and call.allow:
        headers.append(("Allow", ", ".join(call.allow)))
    if manner.explain:
        headers.append(("X-Mock-Reason", reasons.header(refusal, redactor(sandbox))))
    return _json(status, body, tuple(headers))


def _json(status: int, body: Any, headers: tuple[tuple[str, str], ...]) -> Answer:
    return Answer(status, (_JSON_TYPE, *headers), _ENCODE(body).encode())


def _hold_to_schema(choices: Mapping[str, object], schema: str, body: Any) -> None:
    """An answer that its schema does not allow is a bug of the mock, and says so."""
    if any(choices[choice] == option for choice, option in _BEYOND):
        return
    problems = schemas.check(schema, body)
    if problems:
        worst = problems[0]
        raise ValueError(
            f"the answer breaks {schema} at {worst.pointer or 'its top'}: {worst.found!r}; wanted {worst.wanted}"
        )


def redactor(sandbox: Sandbox) -> Redactor:
    """What hides the sandbox's own keys and signing secrets."""
    return Redactor(sandbox.secrets())


def _exchange(sandbox: Sandbox, call: Call, answered: Answered, reply: Answer) -> Exchange:
    refusal = answered.outcome if isinstance(answered.outcome, ApiError) else None
    if call.body and len(call.body) > JOURNAL_BODY_MAX_BYTES:
        call = call._replace(body=call.body[:JOURNAL_BODY_MAX_BYTES], files=tuple)
    own = (
        {}
        if sandbox.choices is DEFAULTS
        else {key: each for key, each in sandbox.choices.items() if each != DEFAULTS[key]}
    )
    return Exchange(
        sandbox.journal.last_exchange + 1,
        sandbox.now,
        call.endpoint.id if call.endpoint else None,
        answered.tenant_id,
        call,
        answered.body,
        reply.status,
        reply.headers,
        reply.body,
        refusal is None,
        refusal,
        own,
    )
