"""
The limits of one server: how many sandboxes its clients may have, for how long, and with how much memory.

1. A creation beyond a limit is refused with 429, with who holds most, and with when to try again.
2. `sweep`, which the background worker calls once a second, ends what has been unused or open for too long. While all
   sandboxes take more memory than allowed, it ends the one that takes most.
3. A call costs one flag: the sweep dates it. Times are real, also if the process's clock is frozen.
4. The default sandbox never ends. It counts in memory alone: while it takes most, nothing ends for memory.
5. A server that drains creates no sandbox for a client, and ends with the last one of its clients.
"""

from __future__ import annotations

import heapq
import math
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final, Literal, NamedTuple

from mockserver.contract.durations import duration_text
from mockserver.core.instants import SECOND, Duration
from mockserver.server.errors import ControlError
from mockserver.server.hosting.host import DEFAULT_ID, HostedSandbox, SandboxHost
from mockserver.server.hosting.usage import SANDBOX_BYTES, Ended, label_texts

Admission = AbstractContextManager[Callable[[HostedSandbox], None] | None]
Limit = Literal["sandboxes", "idle", "age", "memory"]

_HOLDERS_SHOWN: Final = 3
_RETRY_US: Final = 10 * SECOND  # if no sandbox is to end by itself
_STALE_US: Final = SECOND  # after which the holders are counted again
_MEGABYTE: Final = 1_000_000
_DRAINING_RETRY_S: Final = "1"


class ServerLimits(NamedTuple):
    """
    The limits of a server, None for one that is off.

    Attributes:
        sandboxes: the number of sandboxes that clients have open.
        idle: the time without a call after which a sandbox ends, in microseconds.
        age: the time after its creation at which a sandbox ends, in microseconds.
        memory: the estimated bytes of all sandboxes.
    """

    sandboxes: int | None = None
    idle: Duration | None = None
    age: Duration | None = None
    memory: int | None = None


BEYOND_LOOPBACK: Final = ServerLimits(
    sandboxes=10_000, idle=30 * 60 * SECOND, age=6 * 3_600 * SECOND, memory=2_000 * _MEGABYTE
)


class Holder(NamedTuple):
    """The sandboxes with one label, `key:value`; None for those without labels, `default` for the default one."""

    label: str | None
    sandboxes: int
    memory_bytes: int

    def __str__(self) -> str:
        count = "1 sandbox" if self.sandboxes == 1 else f"{self.sandboxes} sandboxes"
        return f"{self.label or 'no label'} ({count}, {self.memory_bytes / _MEGABYTE:.1f} MB)"

    def as_json(self) -> dict[str, object]:
        """Return the holder as a member of a refusal."""
        return {"label": self.label, "sandboxes": self.sandboxes, "memoryBytes": self.memory_bytes}


class _Standing(NamedTuple):
    """Who holds most, and in how many seconds the next sandbox ends by itself, as counted at one moment."""

    counted_at: Duration
    by_count: list[Holder]
    by_memory: list[Holder]
    retry_after_s: int


class Limiter:
    """
    Holds the sandboxes of one host within its limits.

    Args:
        host: its sandboxes.
        limits: of the server.

    Lifetime: the host's.
    """

    def __init__(self, host: SandboxHost, limits: ServerLimits) -> None:
        self._host = host
        self._limits = limits
        self._lock = threading.Lock()
        self._being_created = 0
        self._taken: tuple[Duration, int] | None = None  # when it was counted, and the bytes
        self._standing: _Standing | None = None

    @contextmanager
    def admission(self) -> Iterator[Callable[[HostedSandbox], None]]:
        """
        Reserve the place of one sandbox, which the caller creates meanwhile.

        Yields:
            A function that counts the memory of the new sandbox.

        Raises:
            ControlError: The sandbox would be beyond a limit.
        """
        with self._lock:
            limit = self._reached()
            if limit is not None:
                raise self._refusal(limit)
            self._being_created += 1
        try:
            yield self._count_new
        finally:
            with self._lock:
                self._being_created -= 1

    def _count_new(self, hosted: HostedSandbox) -> None:
        """Count a new sandbox: before the next sweep others may be created, each with a million chats."""
        if self._limits.memory is None:
            return
        hosted.usage.refresh(hosted.sandbox, hosted.checkpoints, self._host.monotonic_us())
        with self._lock:
            if self._taken is not None:
                counted_at, taken = self._taken
                self._taken = counted_at, taken + hosted.memory_bytes

    def _reached(self) -> Limit | None:
        most, memory = self._limits.sandboxes, self._limits.memory
        if most is not None and _client_count(self._host) + self._being_created >= most:
            return "sandboxes"
        return "memory" if memory is not None and self._memory_taken() + SANDBOX_BYTES > memory else None

    def _memory_taken(self) -> int:
        """Return the bytes of all sandboxes, counted at most once a second."""
        now = self._host.monotonic_us()
        if self._taken is None or now - self._taken[0] >= _STALE_US:
            self._taken = now, sum(hosted.memory_bytes for hosted in self._host.refreshed())
        return self._taken[1]

    def _refusal(self, limit: Limit) -> ControlError:
        standing = self._current_standing()
        holders = standing.by_memory if limit == "memory" else standing.by_count
        retry_after_s = standing.retry_after_s
        most = ", ".join(map(str, holders)) or "sandboxes that are being created"
        message = (
            f"got one sandbox more than the server's limit of {self._bound(limit)} allows; expected that others end "
            "first, by DELETE /_mock/sandboxes/ID, DELETE /_mock/sandboxes?label=KEY:VALUE or by themselves; "
            f"try again in {retry_after_s} s; most is held by {most}"
        )
        details = {"limit": limit, "holders": [holder.as_json() for holder in holders]}
        headers = (("Retry-After", str(retry_after_s)),)
        return ControlError("MOCK_TOO_MANY_SANDBOXES", message, headers=headers, details=details)

    def _bound(self, limit: Limit) -> str:
        memory = f"{(self._limits.memory or 0) / _MEGABYTE:g} MB of memory (--memory)"
        return memory if limit == "memory" else f"{self._limits.sandboxes} sandboxes (--max-sandboxes)"

    def _current_standing(self) -> _Standing:
        """Return who holds most, counted at most once a second: a refusal costs little at any number of sandboxes."""
        now, standing = self._host.monotonic_us(), self._standing
        if standing is None or now - standing.counted_at >= _STALE_US:
            sandboxes = self._host.refreshed()
            ends = [self._ends_at(hosted) for hosted in sandboxes]
            wait_us = min((end for end in ends if end is not None), default=now + _RETRY_US) - now
            rows = _holders(sandboxes)
            of_clients = [row for row in rows if row.label != DEFAULT_ID]
            by_count = heapq.nlargest(_HOLDERS_SHOWN, of_clients, key=lambda row: (row.sandboxes, row.memory_bytes))
            by_memory = heapq.nlargest(_HOLDERS_SHOWN, rows, key=lambda row: row.memory_bytes)
            standing = _Standing(now, by_count, by_memory, max(1, math.ceil(wait_us / SECOND)))
            self._standing = standing
        return standing

    def _ends_at(self, hosted: HostedSandbox) -> Duration | None:
        """Return when a sandbox ends by itself; None if it does not."""
        idle, age = self._limits.idle, self._limits.age
        if hosted.is_default:
            return None
        ends = [] if idle is None else [hosted.usage.called_at + idle]
        return min([*ends, *([] if age is None else [hosted.usage.created_at + age])], default=None)

    def sweep(self) -> None:
        """Date the calls since the last sweep, estimate the memory of what was called, and end what is beyond a limit."""
        idle, age, memory = self._limits.idle, self._limits.age, self._limits.memory
        now = self._host.monotonic_us()
        sandboxes = self._host.refreshed()
        for hosted in sandboxes:
            if hosted.is_default:
                continue
            if age is not None and now - hosted.usage.created_at >= age:
                self._end(hosted, "age")
            elif idle is not None and now - hosted.usage.called_at >= idle:
                self._end(hosted, "idle")
        if memory is not None:
            self._taken = now, self._free_memory(memory)

    def _free_memory(self, bound: int) -> int:
        """End the sandboxes that take most, until the others are within the bound, and return what these take."""
        sandboxes = list(self._host.sandboxes.values())
        taken = sum(hosted.memory_bytes for hosted in sandboxes)
        if taken <= bound:
            return taken
        for hosted in sorted(sandboxes, key=_by_memory, reverse=True):
            if taken <= bound or hosted.is_default:
                break
            taken -= hosted.memory_bytes
            self._end(hosted, "memory")
        return taken

    def _end(self, hosted: HostedSandbox, limit: Limit) -> None:
        self._host.close(hosted.id, ended_by=Ended(limit, self._reason(limit)))

    def _reason(self, limit: Limit) -> str:
        """Return why a sandbox was ended, as its late calls read it."""
        if limit == "idle":
            return f"it had no call for {_span(self._limits.idle)} (--idle)"
        if limit == "age":
            return f"it was open for {_span(self._limits.age)} (--age)"
        return f"it took the most, and all sandboxes together more than {self._bound('memory')}"


class Drain:
    """
    The end of one host that waits for the end of its clients' sandboxes.

    Args:
        host: its sandboxes.
        admission: of the host while it does not drain.
        on_end: called once no client has a sandbox, or the time is over.

    Lifetime: the host's.
    """

    def __init__(self, host: SandboxHost, admission: Callable[[], Admission], on_end: Callable[[], None]) -> None:
        self._host = host
        self._admission = admission
        self._on_end = on_end
        self._ends_at: float | None = None  # None until it begins
        self._being_created = 0
        self._lock = threading.Lock()

    @property
    def has_begun(self) -> bool:
        """True once no sandbox is created for a client."""
        return self._ends_at is not None

    def begin(self, within: Duration | None) -> None:
        """Refuse new sandboxes from now on, and end after this time at the latest; a signal handler may call it."""
        self._ends_at = math.inf if within is None else self._host.monotonic_us() + within

    @contextmanager
    def admission(self) -> Iterator[Callable[[HostedSandbox], None] | None]:
        """
        Hold the end back while the caller creates a sandbox.

        Yields:
            What the host's own admission yields.

        Raises:
            ControlError: The server drains, or the sandbox would be beyond a limit.
        """
        with self._lock:
            self._being_created += 1
        try:
            if self.has_begun:
                message = "got a new sandbox while this server is draining; expected another server, or a later call"
                raise ControlError("MOCK_DRAINING", message, headers=(("Retry-After", _DRAINING_RETRY_S),))
            with self._admission() as count_new:
                yield count_new
        finally:
            with self._lock:
                self._being_created -= 1

    def check(self) -> None:
        """End the server if it drains and is empty, or its time is over; called about once a second."""
        if self._ends_at is None:
            return
        with self._lock:
            is_empty = self._being_created + _client_count(self._host) == 0
        if is_empty or self._host.monotonic_us() >= self._ends_at:
            self._on_end()


def _client_count(host: SandboxHost) -> int:
    """Return the number of open sandboxes except the default one."""
    return len(host.sandboxes) - (DEFAULT_ID in host.sandboxes)


def _span(duration: Duration | None) -> str:
    """Return a limit in the format in which it is given: `30m`, `6h`."""
    for unit, name in ((3_600 * SECOND, "h"), (60 * SECOND, "m"), (SECOND, "s")):
        if duration and duration % unit == 0:
            return f"{duration // unit}{name}"
    return duration_text(duration or 0)


def _by_memory(hosted: HostedSandbox) -> tuple[int, Duration]:
    """Return the order in which sandboxes end for memory: of equal ones first that which was called longest ago."""
    return hosted.memory_bytes, -hosted.usage.called_at


def _holders(sandboxes: Iterable[HostedSandbox]) -> list[Holder]:
    """Return the sandboxes and the memory of each label."""
    counts: Counter[str | None] = Counter()
    sizes: Counter[str | None] = Counter()
    for hosted in sandboxes:
        labels: list[str | None] = [DEFAULT_ID] if hosted.is_default else [*label_texts(hosted.labels)]
        for label in labels or [None]:
            counts[label] += 1
            sizes[label] += hosted.memory_bytes
    return [Holder(label, counts[label], sizes[label]) for label in counts]
