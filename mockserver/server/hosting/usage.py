"""
The use of a sandbox: when it was last called, and an estimate of its memory (journal, records, media, checkpoints).

A call only sets a flag, which dates the call and has the memory estimated again when the use is read next.

1. What has a bounded size counts by its number; media, campaigns, templates and messages count by their size, each once.
2. The estimate is from above for journals, and leaves out what sandboxes share.
3. It costs some microseconds, plus the records that are new since the last one.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sized
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from mockserver.core.instants import Duration
from mockserver.core.state.sandbox import Checkpoint, SandboxState
from mockserver.core.state.tenant import TABLES

SANDBOX_BYTES: Final = 16_000  # of an empty one, its initial checkpoint included
_ROW_BYTES: Final = 700  # of a record, without the texts that a client chooses
_CHAT_BYTES: Final = 400
_TRANSITION_BYTES: Final = 400
_TIMER_BYTES: Final = 200
_EVENT_BYTES: Final = 2_000
_DELIVERY_BYTES: Final = 6_000  # with some attempts
_VISIT_BYTES: Final = 1_000
_TARGET_BYTES: Final = 8  # of an execution: a reference to its chat
_REFERENCE_BYTES: Final = 100  # of a record, in a checkpoint
_VALUE_FACTOR: Final = 6  # of a JSON value, by the length of its text


def _of_value(value: object) -> int:
    return _VALUE_FACTOR * len(repr(value)) if value else 0


# The size of what a client chooses in a record, by the record's table.
_OWN_BYTES: Final[Mapping[str, Callable[[Any], int]]] = MappingProxyType(
    {
        "media": lambda media: len(media.content),
        "campaigns": lambda campaign: sys.getsizeof(campaign.description) + _of_value(campaign.filters),
        "templates": lambda template: sum(sys.getsizeof(item.text) for item in template.items),
        "messages": lambda messages: sum(_ROW_BYTES + _of_value(message.fields) for message in messages),
        "executions": lambda execution: _TARGET_BYTES * len(execution.targets) + _of_value(execution.values),
    }
)


class MemoryEstimate:
    """
    The estimate of one sandbox, which counts each record once.

    Attributes:
        size_bytes: the latest estimate.

    Lifetime: the sandbox's.
    """

    __slots__ = ("_own", "size_bytes")

    def __init__(self) -> None:
        self.size_bytes = SANDBOX_BYTES
        self._own: dict[tuple[str, str], tuple[int, int]] = {}  # by tenant and table: counted records, their bytes

    def update(self, sandbox: SandboxState, checkpoints: Mapping[str, Checkpoint]) -> None:
        """
        Estimate again.

        Lock: the caller holds the sandbox's.

        Args:
            sandbox: The sandbox.
            checkpoints: Those that a client has stored.
        """
        journal, outbox = sandbox.journal, sandbox.outbox
        journal_bytes = max([journal.size_bytes, *(each.journal.size_bytes for each in checkpoints.values())])
        self.size_bytes = (
            SANDBOX_BYTES
            + journal_bytes
            + _TRANSITION_BYTES * len(journal.transitions)
            + _TIMER_BYTES * len(sandbox.timers)
            + _EVENT_BYTES * len(sandbox.events)
            + _DELIVERY_BYTES * len(outbox.deliveries)
            + _VISIT_BYTES * len(sandbox.visits)
            + sum(len(each.call.body or b"") for each in sandbox.rule_set.deferred_calls.values())
            + sum(
                self._of_table(tenant.id, table, getattr(tenant, table))
                for tenant in sandbox.tenants.values()
                for table in TABLES
            )
            + sum(map(_of_checkpoint, checkpoints.values()))
        )

    def _of_table(self, tenant_id: str, name: str, table: Any) -> int:
        own = self._of_texts((tenant_id, name), table, _OWN_BYTES[name]) if table and name in _OWN_BYTES else 0
        return own + len(table) * (_CHAT_BYTES if name == "chats" else _ROW_BYTES)

    def _of_texts(self, key: tuple[str, str], table: Mapping[str, Any], size_of: Callable[[Any], int]) -> int:
        """Return the bytes of a table's texts; records are added at its end, and a shorter table is another state."""
        count, size_bytes = self._own.get(key, (0, 0))
        if len(table) < count:
            count = size_bytes = 0
        if len(table) > count:
            size_bytes += sum(map(size_of, islice(table.values(), count, None)))
            self._own[key] = (len(table), size_bytes)
        return size_bytes


def _of_checkpoint(checkpoint: Checkpoint) -> int:
    """Return the size of a checkpoint, which refers to the records of the state; of chats it shares the table."""
    tables: list[Sized] = [checkpoint.journal.exchanges, checkpoint.journal.transitions, checkpoint.events]
    tables += [getattr(tenant, name) for tenant in checkpoint.tenants.values() for name in TABLES if name != "chats"]
    return _REFERENCE_BYTES * (len(tables) + sum(map(len, tables)))


class Usage:
    """
    The use of one sandbox.

    Attributes:
        is_called: set by each call, until `refresh` dates it.
        created_at: in microseconds of a clock that runs in real time.
        called_at: when the last call was dated, by the same clock.

    Lifetime: the sandbox's.
    """

    __slots__ = ("_estimate", "called_at", "created_at", "is_called")

    def __init__(self, now: Duration) -> None:
        self.is_called = False
        self.created_at = self.called_at = now
        self._estimate: MemoryEstimate | None = None  # none until the first refresh

    @property
    def memory_bytes(self) -> int:
        """The latest estimate."""
        return SANDBOX_BYTES if self._estimate is None else self._estimate.size_bytes

    def refresh(self, sandbox: SandboxState, checkpoints: Mapping[str, Checkpoint], now: Duration) -> None:
        """Date the calls since the last time, and estimate the memory if there are any; wait for no lock."""
        if self.is_called or sandbox.runtime.has_waits():
            self.called_at = now
        elif self._estimate is not None:
            return
        lock: Any = sandbox.lock
        if not lock.acquire(blocking=False):
            return  # a call runs now: the next refresh estimates
        try:
            self.is_called = False
            self._estimate = self._estimate or MemoryEstimate()
            self._estimate.update(sandbox, checkpoints)
        finally:
            lock.release()


def label_texts(labels: Mapping[str, str]) -> list[str]:
    """Return labels in the form of a query, `key:value`."""
    return [f"{key}:{value}" for key, value in labels.items()]


OF_A_RUN = "run"


class Ended(NamedTuple):
    """The limit that has ended a sandbox, `OF_A_RUN` for a bound of its test, and the reason in words."""

    limit: str
    reason: str


class Totals(NamedTuple):
    """The calls of the API by operation and status, and the attempts of deliveries by the state that they have led to."""

    calls: Counter[tuple[str | None, int | None]]
    deliveries: Counter[str]

    def add(self, sandbox: SandboxState) -> None:
        """Add what a sandbox has counted."""
        self.calls.update(dict(sandbox.runtime.calls or {}))
        self.deliveries.update(dict(sandbox.runtime.attempts or {}))
