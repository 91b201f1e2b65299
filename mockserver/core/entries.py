"""The journal's entry of an exchange: the call, what came of it, and the choices that were not the default at the time."""

from __future__ import annotations

from mockserver.contract.limits import JOURNAL_BODY_MAX_BYTES
from mockserver.core.calls import Answered, ApiError, Call, Shown
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
    """The next exchange of the sandbox's journal; a very long request body is kept in part."""
    refusal = answered.outcome if isinstance(answered.outcome, ApiError) else None
    if call.body and len(call.body) > JOURNAL_BODY_MAX_BYTES:
        call = call._replace(body=call.body[:JOURNAL_BODY_MAX_BYTES], files=lambda _: ())
    return Exchange(
        sandbox.journal.last_exchange + 1,
        sandbox.now,
        call.endpoint.id if call.endpoint else None,
        answered.tenant_id,
        call,
        answered.body,
        status,
        headers,
        body,
        isinstance(answered.outcome, Shown),
        refusal,
        sandbox.journal.own_choices(sandbox.choices),
        fault,
        sandbox.stage.stopwatch(),
    )
