"""Judge each answer of a recording by itself: what the checks of `passive_checks` say of calls that the run did not send."""

from __future__ import annotations

from typing import NoReturn

from mockserver.contract import clauses
from mockserver.contract.choices import CHOICES
from mockserver.contract.schemas import ABSENT
from mockserver.verify import report
from mockserver.verify.context import Exchange, KeyRole, Observation, RunContext, RunSettings
from mockserver.verify.histories.exchanges import RecordedExchange, Recording
from mockserver.verify.passive_checks import RESPONSE_CHECKS, RUN_CHECKS, error_texts
from mockserver.verify.transport import RateLimiter, RawResponse

_NOT_MET = "no exchange of the recording concerns it"
# For the headers of an answer whose recorder has none: what follows from its body.
_LEFT_OUT = {"content-type": "application/json"}


class _NoTransport:
    """A transport for a context that sends nothing."""

    def call(self, *_: object, **__: object) -> RawResponse:
        raise AssertionError("a recording sends no calls")

    def close(self) -> None:
        """Do nothing: no connection is open."""


def judge_answers(recording: Recording, plain: Recording | None = None) -> report.VerifyReport:
    """
    Return which clauses the answers keep and break, and which options of choices they show.

    An answer that is not the service's word, or that the recorder left out, is not judged.

    Args:
        recording: Its texts are printed in proofs.
        plain: The same recording with the texts of errors as the service wrote them, if `recording` has stand-ins.
    """
    context, texts = _context(recording), _context(plain or recording)
    shown = {exchange.n: exchange for exchange in context.exchanges}
    _check(context)
    error_texts(texts)
    context.findings += [row._replace(exchange=shown[row.exchange.n]) for row in texts.findings]
    context.observations += [row._replace(exchange=shown[row.exchange.n]) for row in texts.observations]
    reasons = dict.fromkeys([*(row.id for row in clauses.read()), *CHOICES], _NOT_MET)
    return report.make(context, recording.prefix, reasons, "")


def observed_choices(recording: Recording) -> list[Observation]:
    """Return the options that the checks of single answers observe; the number of an exchange is its index."""
    context = _context(recording)
    _check(context)
    error_texts(context)
    return context.observations


def _check(context: RunContext) -> None:
    """Check the answers, but for the texts of errors."""
    for exchange in context.exchanges:
        for check in RESPONSE_CHECKS:
            check.run(context, exchange)
    for row in RUN_CHECKS:
        if row.run is not error_texts:
            row.run(context)


def _context(recording: Recording) -> RunContext:
    """Return a context with the answers of a recording, as if a run had got them."""
    context = RunContext(_NoTransport(), RunSettings("", ""), RateLimiter(1, lambda: 0.0, _refuse))
    context.exchanges += [
        _exchange(exchange)
        for exchange in recording.exchanges
        if exchange.is_answered and exchange.response_body is not None and exchange.method != "HEAD"
    ]
    return context


def _refuse(_seconds: float) -> NoReturn:
    raise AssertionError("a recording waits for nothing")


def _exchange(exchange: RecordedExchange) -> Exchange:
    body = exchange.response_body or b""
    sent = (exchange.request_body or b"").decode("utf-8", "replace")
    json = exchange.response_json if body else ABSENT
    headers = exchange.response_headers or _LEFT_OUT
    return Exchange(
        exchange.index, exchange.operation, exchange.method, exchange.path, _role(exchange.key), sent, exchange.status or 0,
        headers, json, body,
    )  # fmt: skip


def _role(key: str | None) -> KeyRole:
    """Return the role of a key by its prefix, which is all that a recording shows of it."""
    if key is None:
        return "none"
    return "secret" if key.startswith("sk_") else "public" if key.startswith("pk_") else "unknown"
