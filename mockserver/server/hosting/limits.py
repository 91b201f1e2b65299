"""
The limits of one server: how many sandboxes its clients may have, for how long, and with how much memory.

1. A creation beyond a limit is refused with 429.
2. `sweep`, which the background worker calls once a second, ends what has been unused or open for too long. While all
   sandboxes take more memory than allowed, it ends the one that takes most; and it ends a server that has drained.
3. A call costs one flag: the sweep dates it. Times are real, also if the process's clock is frozen.
4. The default sandbox never ends. It counts in memory alone: while it takes most, nothing ends for memory.
5. A server that drains creates no sandbox for a client, and ends with the last one of its clients.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Literal, NamedTuple

from mockserver.contract.durations import duration_text
from mockserver.core.instants import SECOND, Duration
from mockserver.server.errors import ControlError
from mockserver.server.hosting.closed import Ended
from mockserver.server.hosting.host import DEFAULT_ID, HostedSandbox, SandboxHost
from mockserver.server.hosting.usage import SANDBOX_BYTES

_MEGABYTE: Final = 1_000_000
_FULL_RETRY_S: Final = "10"
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


class Limiter:
    """
    Holds the sandboxes of one host within its limits, and ends the server that drains.

    Args:
        host: its sandboxes.
        limits: of the server.
        on_drained: called once the server drains and no client has a sandbox, or the time for it is over.

    Lifetime: the host's.
    """

    def __init__(self, host: SandboxHost, limits: ServerLimits, on_drained: Callable[[], None] = lambda: None) -> None:
        self._host = host
        self._on_drained = on_drained
        bounds = [math.inf if limit is None else limit for limit in limits]
        self._sandboxes, self._idle, self._age, self._memory = bounds
        self._lock = threading.Lock()
        self._being_created = 0
        self._drained_by: Duration | None = None  # None until it drains

    @contextmanager
    def admission(self) -> Iterator[None]:
        """
        Reserve the place of one sandbox, which the caller creates meanwhile.

        Raises:
            ControlError: The sandbox would be beyond a limit, or the server drains.
        """
        with self._lock:
            if self.drains:
                message = "got a new sandbox while this server is draining; expected another server, or a later call"
                raise ControlError("MOCK_DRAINING", message, headers=(("Retry-After", _DRAINING_RETRY_S),))
            if self._client_count() >= self._sandboxes:
                raise self._refusal("sandboxes", f"{self._sandboxes} sandboxes (--max-sandboxes)")
            if self._memory < math.inf and self._host.memory_bytes() + SANDBOX_BYTES > self._memory:
                raise self._refusal("memory", self._memory_text())
            self._being_created += 1
        try:
            yield
        finally:
            with self._lock:
                self._being_created -= 1

    def _client_count(self) -> int:
        """Return the number of sandboxes, except the default one, that are open or being created."""
        return len(self._host.sandboxes) - (DEFAULT_ID in self._host.sandboxes) + self._being_created

    def _refusal(self, limit: Literal["sandboxes", "memory"], bound: str) -> ControlError:
        message = (
            f"got one sandbox more than the server's limit of {bound} allows; expected that others end first, by DELETE "
            "/_mock/sandboxes/ID, DELETE /_mock/sandboxes?label=KEY:VALUE or by themselves; GET /_mock/sandboxes lists them"
        )
        headers = (("Retry-After", _FULL_RETRY_S),)
        return ControlError("MOCK_TOO_MANY_SANDBOXES", message, headers=headers, details={"limit": limit})

    def sweep(self) -> None:
        """Date the calls since the last sweep, estimate the memory of what was called, and end what is beyond a limit."""
        self._end_drained()
        now = self._host.monotonic_us()
        for hosted in self._host.refreshed():
            if hosted.is_default:
                continue
            if now - hosted.usage.created_at >= self._age:
                self._end(hosted, "age", f"it was open for {_span(self._age)} (--age)")
            elif now - hosted.usage.called_at >= self._idle:
                self._end(hosted, "idle", f"it had no call for {_span(self._idle)} (--idle)")
        while self._host.memory_bytes() > self._memory:
            largest = max(list(self._host.sandboxes.values()), key=_by_memory, default=None)
            if largest is None or largest.is_default:
                break
            together = f"all sandboxes together more than {self._memory_text()}"
            self._end(largest, "memory", f"it took the most, and {together}")

    def _end(self, hosted: HostedSandbox, limit: str, reason: str) -> None:
        """End a sandbox; its late calls read the reason."""
        self._host.close(hosted.id, ended_by=Ended(limit, reason))

    def _memory_text(self) -> str:
        return f"{self._memory / _MEGABYTE:g} MB of memory (--memory)"

    @property
    def drains(self) -> bool:
        """True once no sandbox is created for a client."""
        return self._drained_by is not None

    def drain(self, within: Duration) -> None:
        """Refuse new sandboxes from now on, and end after this time at the latest; a signal handler may call it."""
        self._drained_by = self._host.monotonic_us() + within

    def _end_drained(self) -> None:
        """End the server if it drains and is empty, or its time is over."""
        if self._drained_by is None:
            return
        with self._lock:
            is_empty = self._client_count() == 0
        if is_empty or self._host.monotonic_us() >= self._drained_by:
            self._on_drained()


def _span(duration: float) -> str:
    """Return a limit in the format in which it is given: `30m`, `6h`."""
    for unit, name in ((3_600 * SECOND, "h"), (60 * SECOND, "m"), (SECOND, "s")):
        if duration and duration % unit == 0:
            return f"{duration // unit:g}{name}"
    return duration_text(round(duration))


def _by_memory(hosted: HostedSandbox) -> tuple[int, Duration]:
    """Return the order in which sandboxes end for memory: of equal ones first that which was called longest ago."""
    return hosted.usage.memory_bytes, -hosted.usage.called_at
