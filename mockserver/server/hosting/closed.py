"""The closed sandboxes of a host: what they were, when and why each ended, and the calls to them after their end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mockserver.core.instants import Instant
from mockserver.server.hosting.usage import Ended

_REMEMBERED = 10_000


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


class ClosedSandboxes:
    """
    The latest closed sandboxes, by id, the oldest first.

    Attributes:
        late_calls: the number of calls to each of these after its end, by id; those without one are not in it.
        ended_counts: how many sandboxes each limit has ended, by its name; forgotten ones included.

    Lock: the caller of what changes it holds the host's.
    """

    def __init__(self) -> None:
        self._closings: dict[str, Closing] = {}
        self._late_calls: dict[str, int] = {}
        self.late_calls: Mapping[str, int] = MappingProxyType(self._late_calls)
        self.ended_counts: Counter[str] = Counter()

    def __contains__(self, sandbox_id: str) -> bool:
        return sandbox_id in self._closings

    def get(self, sandbox_id: str) -> Closing | None:
        """Return the end of a sandbox; None for one that is open, unknown or forgotten."""
        return self._closings.get(sandbox_id)

    def add(self, sandbox_id: str, closing: Closing) -> None:
        """Add a sandbox, and forget the oldest of too many."""
        self._closings[sandbox_id] = closing
        if closing.ended_by is not None:
            self.ended_counts[closing.ended_by.limit] += 1
        while len(self._closings) > _REMEMBERED:
            oldest = next(iter(self._closings))
            del self._closings[oldest]
            self._late_calls.pop(oldest, None)

    def note_call(self, sandbox_id: str) -> None:
        """Count a call of a closed sandbox."""
        if sandbox_id in self._closings:
            self._late_calls[sandbox_id] = self._late_calls.get(sandbox_id, 0) + 1

    def called(self) -> list[tuple[str, int]]:
        """Return those that were called after their end, in the order of their ends, with the number of these calls."""
        counts = dict(self._late_calls)  # a copy: another thread may close a sandbox meanwhile
        return [(sandbox_id, counts[sandbox_id]) for sandbox_id in list(self._closings) if sandbox_id in counts]
