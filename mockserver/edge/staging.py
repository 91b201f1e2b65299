"""The stage of a hosted sandbox: it applies seed data, moves the clock, and holds calls in real time until they are let go."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from mockserver.core import timekeeping
from mockserver.core.instants import Instant, Span
from mockserver.core.sandbox import Sandbox
from mockserver.core.stage import Stage
from mockserver.edge import clocks
from mockserver.scenario.apply import apply

# Real time, also under freezegun: it replaces what it finds as a module's attribute, and not what a tuple holds.
_MONOTONIC_NS = (getattr(sys.modules.get("freezegun.api"), "real_monotonic_ns", time.monotonic_ns),)


class HostStage(Stage):
    """What a host does for one sandbox's script. Lives as long as the sandbox."""

    __slots__ = ("_let_go", "_lock", "pass_time")

    def __init__(self) -> None:
        self.pass_time: Callable[[Span], object] = lambda by: None  # the host's, once it has the sandbox
        self._lock = threading.Lock()
        self._let_go: threading.Event | None = None  # set when the epoch ends for which somebody waits

    def give(self, sandbox: Sandbox, given: Mapping[str, Any]) -> None:
        apply(sandbox, {"given": given})

    def advance(self, sandbox: Sandbox, by: Span) -> None:
        timekeeping.advance(sandbox, by)

    def elapse(self, sandbox: Sandbox, by: Span) -> None:
        self.pass_time(by)

    def hold(self, sandbox: Sandbox, epoch: int, seconds: float) -> bool:
        with self._lock:
            if sandbox.epoch != epoch:
                return True
            let_go = self._let_go = self._let_go or threading.Event()
        # An event waits on a lock with a timeout, in C: nothing that freezes the process's clock reaches it.
        return let_go.wait(min(seconds, threading.TIMEOUT_MAX))

    def stopwatch(self) -> Span:
        return _MONOTONIC_NS[0]() // 1000

    def process_frozen_at(self) -> Instant | None:
        return clocks.process_now() if clocks.is_process_frozen() else None

    def release(self) -> None:
        with self._lock:
            let_go, self._let_go = self._let_go, None
        if let_go is not None:
            let_go.set()
