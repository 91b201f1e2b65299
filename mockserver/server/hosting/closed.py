"""The closed sandboxes of a host, and why an address has no sandbox, in the words of the refusal and of the page for a browser."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from mockserver.core.instants import Instant, format_exact
from mockserver.core.redaction import Redactor

OF_A_RUN: Final = "run"
_REMEMBERED: Final = 10_000
_ID: Final = r"(?:sandbox|shard)_[0-9a-f_]{1,40}"


class Ended(NamedTuple):
    """The limit that has ended a sandbox, `OF_A_RUN` for a bound of its test, and the reason in words."""

    limit: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """
    The end of a sandbox.

    Attributes:
        at: by the clock of the process.
        labels: of the sandbox.
        ended_by: the limit that has ended it; None if a client or the server's end has.
        had_own_port: True if it was reached at a port that only it had.
    """

    at: Instant
    labels: Mapping[str, str]
    ended_by: Ended | None
    had_own_port: bool


class ClosedSandboxes(dict[str, Closing]):
    """
    The latest closed sandboxes, by id, the oldest first.

    Attributes:
        late_calls: the number of calls to each of these after its end, by id; those without one are not in it.
        ended_counts: how many sandboxes each limit has ended, by its name; forgotten ones included.

    Lock: the caller of what changes it holds the host's.
    """

    def __init__(self) -> None:
        super().__init__()
        self.late_calls: dict[str, int] = {}
        self.ended_counts: Counter[str] = Counter()

    def add(self, sandbox_id: str, closing: Closing) -> None:
        """Add a sandbox, and forget the oldest of too many."""
        self[sandbox_id] = closing
        if closing.ended_by is not None:
            self.ended_counts[closing.ended_by.limit] += 1
        if len(self) > _REMEMBERED:
            oldest = next(iter(self))
            del self[oldest]
            self.late_calls.pop(oldest, None)

    def note_call(self, sandbox_id: str) -> None:
        """Count a call of a closed sandbox."""
        if sandbox_id in self:
            self.late_calls[sandbox_id] = self.late_calls.get(sandbox_id, 0) + 1

    def called(self) -> list[tuple[str, int]]:
        """Return those that were called after their end, in the order of their ends, with the number of these calls."""
        counts = dict(self.late_calls)  # another thread may close a sandbox meanwhile
        return [(sandbox_id, counts[sandbox_id]) for sandbox_id in list(self) if sandbox_id in counts]


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


def absence_of_closed(sandbox_id: str, closing: Closing, hide: Redactor) -> Absence:
    """Return the absence of a closed sandbox; the limit that has ended it is named."""
    ended = closing.ended_by
    if ended is None:
        why = "its test or another client has closed it"
        message = f"sandbox {sandbox_id!r} is closed; this call arrived after its test had ended"
    else:
        by = "a bound of its test" if ended.limit == OF_A_RUN else f"the server's limit {ended.limit}"
        why = f"{by} has ended it, since {ended.reason}"
        message = f"sandbox {sandbox_id!r} is closed: {why}"
    return Absence(
        name=sandbox_id,
        labels=label_texts(hide.value(dict(closing.labels))),
        since=format_exact(closing.at),
        why=f"{why[0].upper()}{why[1:]}.",
        code="MOCK_SANDBOX_CLOSED",
        message=message,
        limit="" if ended is None else ended.limit,
    )


def absence_of_former_run(sandbox_id: str, shard_number: int) -> Absence:
    """Return the absence of a sandbox of a former run of this shard."""
    why = f"has ended with its process: shard {shard_number} was restarted"
    return Absence(
        name=sandbox_id,
        why=f"It {why}.",
        code="MOCK_SANDBOX_CLOSED",
        message=f"sandbox {sandbox_id!r} {why}; create another sandbox",
        limit="restart",
    )


def absence_of_unknown(sandbox_id: str) -> Absence:
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


def label_texts(labels: Mapping[str, str]) -> list[str]:
    """Return labels in the form of a query, `key:value`."""
    return [f"{key}:{value}" for key, value in labels.items()]
