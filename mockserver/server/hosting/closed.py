"""The closed sandboxes of a host, and the refusals of calls to an address that has no sandbox."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final, NamedTuple

OF_A_RUN: Final = "run"
_REMEMBERED: Final = 10_000
_ID: Final = r"(?:sandbox|shard)_[0-9a-f_]{1,40}"


class Ended(NamedTuple):
    """The limit that has ended a sandbox, `OF_A_RUN` for a bound of its test, and the reason in words."""

    limit: str
    reason: str


class ClosedSandboxes(dict[str, Ended | None]):
    """
    What has ended the latest closed sandboxes, by id, the oldest first; None for one that a client or the server's end has ended.

    Attributes:
        late_calls: the number of calls to each of these after its end, by id; those without one are not in it.
        ended_counts: how many sandboxes each limit has ended, by its name; forgotten ones included.

    Lock: the caller of what changes it holds the host's.
    """

    def __init__(self) -> None:
        super().__init__()
        self.late_calls: dict[str, int] = {}
        self.ended_counts: Counter[str] = Counter()

    def add(self, sandbox_id: str, ended_by: Ended | None) -> None:
        """Add a sandbox, and forget the oldest of too many."""
        self[sandbox_id] = ended_by
        if ended_by is not None:
            self.ended_counts[ended_by.limit] += 1
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


def closed_message(sandbox_id: str, ended: Ended | None) -> str:
    """Return the refusal of a call of a closed sandbox; the limit that has ended it is named."""
    if ended is None:
        return f"sandbox {sandbox_id!r} is closed; this call arrived after its test had ended"
    by = "a bound of its test" if ended.limit == OF_A_RUN else f"the server's limit {ended.limit}"
    return f"sandbox {sandbox_id!r} is closed: {by} has ended it, since {ended.reason}"


def unknown_message(sandbox_id: str) -> str:
    """Return the refusal of a call of a sandbox that the server does not have, or has forgotten."""
    # Another text may contain a key, and to ask each sandbox for its keys would wait for the lock of each.
    is_id = re.fullmatch(_ID, sandbox_id) is not None
    got = repr(sandbox_id) if is_id else f"{len(sandbox_id)} characters that are no id of a sandbox"
    return f"sandbox: got {got}; expected one that GET /_mock/sandboxes lists, or create one with POST /_mock/sandboxes"
