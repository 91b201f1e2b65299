"""
Clocks of the process, and the runtime of a hosted sandbox: seed data, clock moves and waits.

The process's clock, and whether somebody has frozen it.

`datetime.now` is looked up at each call, so that freezegun and time-machine are obeyed, also in the server's threads.

The stage of a hosted sandbox: it applies seed data, moves the clock, and holds calls in real time until they are let go.
"""

from __future__ import annotations

import datetime
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from mockserver.core import scheduler
from mockserver.core.instants import Duration, Instant, from_datetime
from mockserver.core.state.sandbox import Clock, Runtime, SandboxState
from mockserver.scenario.apply import apply

_TRAVELS = (
    ("freezegun.api", "freeze_factories"),
    ("time_machine", "traveller_stack"),
    ("time_machine", "coordinates_stack"),
)


def process_now() -> Instant:
    """The instant by the process's clock."""
    return from_datetime(datetime.datetime.now(datetime.UTC))


def is_process_frozen() -> bool:
    """True while freezegun or time-machine holds the process's clock."""
    modules = sys.modules  # at each call: the loop is written for speed
    for module, stack in _TRAVELS:  # noqa: SIM110
        if module in modules and getattr(modules[module], stack, None):
            return True
    return False


def frozen_clock(instant: Instant) -> Clock:
    """A clock that stands at this instant."""
    return Clock(instant, frozen=True)


def following_clock() -> Clock:
    """A clock that goes with the process's."""
    return Clock(process_now(), frozen=False)


def fixture_clock() -> Clock:
    """What a test wants who asks for nothing: frozen at the present, or with the process where that is frozen."""
    return following_clock() if is_process_frozen() else frozen_clock(process_now())


# Real time, also under freezegun: it replaces what it finds as a module's attribute, and not what a tuple holds.
_MONOTONIC_NS = (getattr(sys.modules.get("freezegun.api"), "real_monotonic_ns", time.monotonic_ns),)


class HostRuntime(Runtime):
    """What a host does for one sandbox's script. Lives as long as the sandbox."""

    __slots__ = ("_let_go", "_lock", "pass_time")

    def __init__(self) -> None:
        self.pass_time: Callable[[Duration], object] = lambda by: None  # the host's, once it has the sandbox
        self._lock = threading.Lock()
        self._let_go: threading.Event | None = None  # set when the epoch ends for which somebody waits

    def apply_seed_data(self, sandbox: SandboxState, given: Mapping[str, Any]) -> None:
        apply(sandbox, {"given": given})

    def advance_clock(self, sandbox: SandboxState, by: Duration) -> None:
        scheduler.advance(sandbox, by)

    def pass_virtual_time(self, sandbox: SandboxState, by: Duration) -> None:
        self.pass_time(by)

    def wait_real_time(self, sandbox: SandboxState, epoch: int, seconds: float) -> bool:
        with self._lock:
            if sandbox.epoch != epoch:
                return True
            let_go = self._let_go = self._let_go or threading.Event()
        # An event waits on a lock with a timeout, in C: nothing that freezes the process's clock reaches it.
        return let_go.wait(min(seconds, threading.TIMEOUT_MAX))

    def monotonic_us(self) -> Duration:
        return _MONOTONIC_NS[0]() // 1000

    def process_frozen_at(self) -> Instant | None:
        return process_now() if is_process_frozen() else None

    def cancel_waits(self) -> None:
        with self._lock:
            let_go, self._let_go = self._let_go, None
        if let_go is not None:
            let_go.set()
