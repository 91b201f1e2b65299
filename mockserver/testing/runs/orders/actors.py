"""What one run notes about an actor, and what all runs of a search learn about threads."""

from __future__ import annotations

import random
import threading
from typing import Any

from mockserver.testing.runs.orders.gate import Waiting

_VAIN_READS = 3  # equal reads with equal answers and a sleep between them, after which a client waits for another
_VAIN_READS_WITHOUT_SLEEP = 10


class Actor:
    """A client, or the deliveries of one endpoint, in one run."""

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self.waiting: list[Waiting] = []
        self.is_begun = self.is_over = self.is_task = False
        self.thread: threading.Thread | None = None
        self.blocked_at: str | None = None
        self.random = random.Random(f"{seed} {name}").getstate()
        self.unanswered = 0  # released requests over sockets
        self.last_read: Any = None
        self.reads = 0
        self.has_slept = False  # between these reads

    @property
    def is_running(self) -> bool:
        return self.is_begun and not self.is_over

    @property
    def reads_in_vain(self) -> bool:
        return self.reads >= (_VAIN_READS if self.has_slept else _VAIN_READS_WITHOUT_SLEEP)

    def next_waiting(self) -> Waiting:
        return self.waiting[0] if len(self.waiting) == 1 else min(self.waiting, key=lambda waiting: waiting.order)


class KnownThreads:
    """What the runs of one search have learned: threads that call for clients, and where clients were blocked."""

    def __init__(self) -> None:
        self.calling: set[threading.Thread] = set()
        self.blocks: set[str] = set()
