"""
Clocks of the process, and the runtime of a hosted sandbox: seed data, clock moves and waits.

`datetime.now` is resolved at each call, so that freezegun and time-machine take effect, also in the server's threads.
"""

from __future__ import annotations

import datetime
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mockserver.core import scheduler
from mockserver.core.instants import EARLIEST, LATEST, Duration, Instant, from_datetime
from mockserver.core.state.sandbox import Clock, Runtime, SandboxState
from mockserver.scenario.apply import apply
from mockserver.server.http1 import real_time

_TRAVELS = (
    ("freezegun.api", "freeze_factories"),
    ("time_machine", "traveller_stack"),
    ("time_machine", "coordinates_stack"),
)


def process_now() -> Instant:
    """Return the instant by the process's clock; the first or last one that can be shown, if it is beyond."""
    return min(max(EARLIEST, from_datetime(datetime.datetime.now(datetime.UTC))), LATEST)


def is_process_frozen() -> bool:
    """Return True while freezegun or time-machine freezes the process's clock."""
    return any(getattr(sys.modules.get(module), stack, None) for module, stack in _TRAVELS)


def frozen_clock(instant: Instant) -> Clock:
    """Return a clock that is frozen at this instant."""
    return Clock(instant, frozen=True)


def following_clock() -> Clock:
    """Return a clock that follows the process's."""
    return Clock(process_now(), frozen=False)


def fixture_clock() -> Clock:
    """Return the default clock of the fixture: frozen now, or following a process that is frozen."""
    return following_clock() if is_process_frozen() else frozen_clock(process_now())


class HostRuntime(Runtime):
    """Runtime of one hosted sandbox, which counts its calls. Lifetime: that of the sandbox."""

    __slots__ = ("_lock", "_waits", "attempts", "calls", "pass_time")

    def __init__(self) -> None:
        self.calls, self.attempts = {}, {}
        self.pass_time: Callable[[Duration], object] = lambda by: None  # the host sets it once it has the sandbox
        self._lock = threading.Lock()
        self._waits: set[Callable[[], None]] = set()  # of the epoch: functions that cancel one wait each

    def apply_seed_data(self, sandbox: SandboxState, given: Mapping[str, Any]) -> None:
        apply(sandbox, {"given": given})

    def advance_clock(self, sandbox: SandboxState, by: Duration) -> list[scheduler.FiredTimer]:
        return scheduler.advance(sandbox, by)

    def pass_virtual_time(self, sandbox: SandboxState, by: Duration) -> None:
        self.pass_time(by)

    def add_wait(self, sandbox: SandboxState, epoch: int, cancel: Callable[[], None]) -> bool:
        with self._lock:
            if sandbox.epoch != epoch:
                return False
            self._waits.add(cancel)
        return True

    def remove_wait(self, cancel: Callable[[], None]) -> None:
        with self._lock:
            self._waits.discard(cancel)

    def has_waits(self) -> bool:
        return bool(self._waits)

    def monotonic_us(self) -> Duration:
        return real_time.microseconds()

    def process_frozen_at(self) -> Instant | None:
        return process_now() if is_process_frozen() else None

    def end_epoch(self) -> None:
        with self._lock:
            waits, self._waits = self._waits, set()
        for cancel in waits:
            cancel()


class Totals(NamedTuple):
    """The calls of the API by operation and status, and the attempts of deliveries by the state that they have led to."""

    calls: Counter[tuple[str | None, int | None]]
    deliveries: Counter[str]

    def add(self, counted: Runtime) -> None:
        """Add what a sandbox has counted."""
        self.calls.update(dict(counted.calls or {}))
        self.deliveries.update(dict(counted.attempts or {}))
