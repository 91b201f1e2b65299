"""Why an address has no sandbox, in the words of the refusal and of the page for a browser."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mockserver.core.instants import format_exact
from mockserver.core.redaction import Redactor
from mockserver.server.hosting.closed import OF_A_RUN, Closing, label_texts

_ID: Final = r"(?:sandbox|shard)_[0-9a-f_]{1,40}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """
    The reason why an address has no sandbox.

    Attributes:
        name: the id; empty for a text that is no id.
        labels: of a closed sandbox, in the form `key:value`, secrets masked.
        since: the instant of its end; empty if there was none, or if it is unknown.
        why: a sentence for people.
        code: of the refusal, a key of `errors.STATUSES`.
        message: of the refusal.
        limit: what has ended the sandbox, in the refusal of a program; empty if a client has.
    """

    name: str
    labels: Sequence[str] = ()
    since: str = ""
    why: str
    code: str
    message: str
    limit: str = ""


def closed(sandbox_id: str, closing: Closing, hide: Redactor) -> Absence:
    """Return the absence of a closed sandbox; the limit that has ended it is named."""
    ended = closing.ended_by
    if ended is None:
        why = "its test or another client has closed it"
        reason = f"sandbox {sandbox_id!r} is closed; this call arrived after its test had ended"
    else:
        by = "a bound of its test" if ended.limit == OF_A_RUN else f"the server's limit {ended.limit}"
        why = f"{by} has ended it, since {ended.reason}"
        reason = f"sandbox {sandbox_id!r} is closed: {why}"
    return Absence(
        name=sandbox_id,
        labels=label_texts(hide.value(dict(closing.labels))),
        since=format_exact(closing.at),
        why=f"{why[0].upper()}{why[1:]}.",
        code="MOCK_SANDBOX_CLOSED",
        message=reason,
        limit="" if ended is None else ended.limit,
    )


def restarted(sandbox_id: str, shard_number: int) -> Absence:
    """Return the absence of a sandbox of a former run of this shard."""
    why = f"has ended with its process: shard {shard_number} was restarted"
    return Absence(
        name=sandbox_id,
        why=f"It {why}.",
        code="MOCK_SANDBOX_CLOSED",
        message=f"sandbox {sandbox_id!r} {why}; create another sandbox",
        limit="restart",
    )


def unknown(sandbox_id: str) -> Absence:
    """Return the absence of a sandbox that the server does not have, or has forgotten."""
    # Another text may contain a key, and to ask each sandbox for its keys would wait for the lock of each.
    is_id = re.fullmatch(_ID, sandbox_id) is not None
    got = repr(sandbox_id) if is_id else f"{len(sandbox_id)} characters that are no id of a sandbox"
    expected = "one that GET /_mock/sandboxes lists, or create one with POST /_mock/sandboxes"
    return Absence(
        name=sandbox_id if is_id else "",
        why="It was never created here, or its end was forgotten." if is_id else f"The address has {got}.",
        code="MOCK_NOT_FOUND",
        message=f"sandbox: got {got}; expected {expected}",
    )
