"""The closed sandboxes of a host: what they were, when and why each ended, and the calls to them after their end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

from mockserver.core.instants import Instant

OF_A_RUN: Final = "run"
_REMEMBERED: Final = 10_000


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
        self._late_calls: dict[str, int] = {}
        self.late_calls: Mapping[str, int] = MappingProxyType(self._late_calls)
        self.ended_counts: Counter[str] = Counter()

    def add(self, sandbox_id: str, closing: Closing) -> None:
        """Add a sandbox, and forget the oldest of too many."""
        self[sandbox_id] = closing
        if closing.ended_by is not None:
            self.ended_counts[closing.ended_by.limit] += 1
        if len(self) > _REMEMBERED:
            oldest = next(iter(self))
            del self[oldest]
            self._late_calls.pop(oldest, None)

    def note_call(self, sandbox_id: str) -> None:
        """Count a call of a closed sandbox."""
        if sandbox_id in self:
            self._late_calls[sandbox_id] = self._late_calls.get(sandbox_id, 0) + 1

    def called(self) -> list[tuple[str, int]]:
        """Return those that were called after their end, in the order of their ends, with the number of these calls."""
        counts = dict(self._late_calls)  # another thread may close a sandbox meanwhile
        return [(sandbox_id, counts[sandbox_id]) for sandbox_id in list(self) if sandbox_id in counts]


def label_texts(labels: Mapping[str, str]) -> list[str]:
    """Return labels in the form of a query, `key:value`."""
    return [f"{key}:{value}" for key, value in labels.items()]
