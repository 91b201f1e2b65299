"""The journal's entry of an exchange: the call, what came of it, and the choices that were not the default at the time."""

from __future__ import annotations

from mockserver.contract.limits import JOURNAL_ANSWER_MAX_BYTES, JOURNAL_BODY_MAX_BYTES, JSON_BODY_MAX_BYTES
from mockserver.core import sizes
from mockserver.core.calls import Answered, ApiError, Call, Refused, Shown
from mockserver.core.journal import Exchange
from mockserver.core.rules import Fault
from mockserver.core.sandbox import Sandbox


def entry(
    sandbox: Sandbox,
    call: Call,
    answered: Answered,
    status: int | None,
    headers: tuple[tuple[str, str], ...] = (),
    body: bytes = b"",
    fault: Fault | None = None,
) -> Exchange:
    """The next exchange of the sandbox's journal; of a very long body, asked or answered, it holds only the beginning."""
    outcome, sent = answered.outcome, call.body or b""
    has_value = answered.body is not None and len(sent) <= JSON_BODY_MAX_BYTES
    call, answer = cut(call), body[:JOURNAL_ANSWER_MAX_BYTES]
    size_bytes = sizes.ENTRY_BYTES + sizes.of_call(call) + len(answer) + (sizes.of_json(sent) if has_value else 0)
    return Exchange(  # by position, which takes half the time
        sandbox.journal.last_exchange + 1,
        sandbox.now,
        call.endpoint.id if call.endpoint else None,
        answered.tenant_id,
        call,
        answered.body if has_value else None,
        status,
        headers,
        answer,
        isinstance(outcome, Shown),
        _refused(outcome) if isinstance(outcome, ApiError) else None,
        sandbox.journal.own_choices(sandbox.choices),
        fault,
        sandbox.stage.stopwatch(),
        sandbox.stage.process_frozen_at(),
        len(body) if len(answer) < len(body) else None,
        size_bytes,
    )


def cut(call: Call) -> Call:
    """The call as a record holds it: without what is past the bound of its body, and then without its files."""
    if call.body is None or len(call.body) <= JOURNAL_BODY_MAX_BYTES:
        return call
    return call._replace(body=call.body[:JOURNAL_BODY_MAX_BYTES], files=lambda _: (), cut_from_bytes=len(call.body))


def _refused(refusal: ApiError) -> Refused:
    return Refused(refusal.code, refusal.clause, refusal.at, refusal.reason)
