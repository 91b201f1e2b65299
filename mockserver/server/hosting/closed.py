"""The closed sandboxes of a host: the limits that have ended them, and the calls to them after their end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

from mockserver.server.hosting.usage import Ended

_REMEMBERED = 10_000


class ClosedSandboxes:
    """
    The latest closed sandboxes, by id, the oldest first.

    Attributes:
        late_calls: the number of calls to each of these after its end, by id; those without one are not in it.
        ended: those that a limit has ended, by id.
        ended_counts: how many sandboxes each limit has ended, by its name; forgotten ones included.

    Lock: the caller of what changes it holds the host's.
    """

    def __init__(self) -> None:
        self._ids: dict[str, None] = {}
        self._late_calls: dict[str, int] = {}
        self._ended: dict[str, Ended] = {}
        self.late_calls: Mapping[str, int] = MappingProxyType(self._late_calls)
        self.ended: Mapping[str, Ended] = MappingProxyType(self._ended)
        self.ended_counts: Counter[str] = Counter()

    def __contains__(self, sandbox_id: str) -> bool:
        return sandbox_id in self._ids

    def add(self, sandbox_id: str, ended_by: Ended | None) -> None:
        """Add a sandbox, with the limit that has ended it, and forget the oldest of too many."""
        self._ids[sandbox_id] = None
        if ended_by is not None:
            self._ended[sandbox_id] = ended_by
            self.ended_counts[ended_by.limit] += 1
        while len(self._ids) > _REMEMBERED:
            oldest = next(iter(self._ids))
            del self._ids[oldest]
            self._late_calls.pop(oldest, None)
            self._ended.pop(oldest, None)

    def note_call(self, sandbox_id: str) -> None:
        """Count a call of a closed sandbox."""
        if sandbox_id in self._ids:
            self._late_calls[sandbox_id] = self._late_calls.get(sandbox_id, 0) + 1

    def called(self) -> list[tuple[str, int]]:
        """Return those that were called after their end, in the order of their ends, with the number of these calls."""
        counts = dict(self._late_calls)  # a copy: another thread may close a sandbox meanwhile
        return [(sandbox_id, counts[sandbox_id]) for sandbox_id in list(self._ids) if sandbox_id in counts]
