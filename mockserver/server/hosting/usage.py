"""
The use of a sandbox: when it was last called, and an estimate of its memory (journal, records, media, checkpoints).

1. A call only sets a flag, which dates the call and has the memory estimated again when the use is read next.
2. The memory of the process would not do: it does not tell whose it is, nor fall once a sandbox has ended.
3. The estimate counts records and adds what clients choose in them; it leaves out what sandboxes share.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any, Final

from mockserver.core.instants import Duration
from mockserver.core.state.records import Message
from mockserver.core.state.sandbox import SandboxState
from mockserver.core.state.tenant import TABLES, Tenant

SANDBOX_BYTES: Final = 16_000  # of an empty one, its initial checkpoint included
_RECORD_BYTES: Final = 700  # without the texts that a client chooses
_CHAT_BYTES: Final = 400
_DELIVERY_BYTES: Final = 6_000  # with some attempts
_TARGET_BYTES: Final = 8  # of an execution: a reference to its chat
_REFERENCE_BYTES: Final = 100  # of a record, in a checkpoint
_VALUE_FACTOR: Final = 6  # of a JSON value, by the length of its text


def _of_value(value: object) -> int:
    return _VALUE_FACTOR * len(repr(value)) if value else 0


def _of_message(message: Message) -> int:
    return _RECORD_BYTES + _of_value(message.fields)


# The size of what a client chooses in a record, by the record's table.
_OWN_BYTES: Final[Mapping[str, Callable[[Any], int]]] = MappingProxyType(
    {
        "media": lambda media: len(media.content),
        "campaigns": lambda campaign: sys.getsizeof(campaign.description) + _of_value(campaign.filters),
        "templates": lambda template: sum(sys.getsizeof(item.text) for item in template.items),
        "executions": lambda execution: _TARGET_BYTES * len(execution.targets) + _of_value(execution.values),
    }
)


class Usage:
    """
    The use of one sandbox.

    Attributes:
        is_called: set at the creation and by each call, until `refresh` dates it.
        created_at: in microseconds of a clock that runs in real time.
        called_at: when the last call was dated, by the same clock.
        memory_bytes: the latest estimate.

    Lifetime: the sandbox's.
    """

    __slots__ = ("_epoch", "_own", "called_at", "created_at", "is_called", "memory_bytes")

    def __init__(self, now: Duration) -> None:
        self.is_called = True
        self.created_at = self.called_at = now
        self.memory_bytes = SANDBOX_BYTES
        self._epoch = 0
        # Counted records and their bytes in this epoch: by tenant and table, of messages by chat too.
        self._own: dict[tuple[str, ...], tuple[int, int]] = {}

    def refresh(self, sandbox: SandboxState, checkpoints: Mapping[str, SandboxState], now: Duration) -> None:
        """Date the calls since the last time, and estimate the memory if there are any; wait for no lock."""
        if not self.is_called and not sandbox.runtime.has_waits():
            return
        self.called_at = now
        lock: Any = sandbox.lock
        if not lock.acquire(blocking=False):
            return  # a call runs now: the next refresh estimates
        try:
            self.is_called = False
            self.memory_bytes = self._estimate(sandbox, checkpoints.values())
        finally:
            lock.release()

    def _estimate(self, sandbox: SandboxState, checkpoints: Collection[SandboxState]) -> int:
        """
        Return what is counted, times its size, and what clients choose.

        Lock: the caller holds the sandbox's.
        """
        if sandbox.epoch != self._epoch:  # a reset has replaced the records
            self._epoch = sandbox.epoch
            self._own.clear()
        tenants = sandbox.tenants.values()
        references = sum(_records(stored) + len(stored.journal.exchanges) for stored in checkpoints)
        counted = (
            (_records(sandbox) + len(sandbox.timers) + len(sandbox.visits), _RECORD_BYTES),
            (sum(len(tenant.chats) for tenant in tenants), _CHAT_BYTES),
            (len(sandbox.outbox.deliveries), _DELIVERY_BYTES),
            (references, _REFERENCE_BYTES),
        )
        texts = sum(map(self._of_tenant, tenants))
        bodies = sum(len(deferred.call.body or b"") for deferred in sandbox.rule_set.deferred_calls.values())
        journals = [sandbox.journal, *(stored.journal for stored in checkpoints)]
        journal = max(journal.size_bytes for journal in journals)  # they share their entries
        return SANDBOX_BYTES + sum(count * size for count, size in counted) + texts + bodies + journal

    def _of_tenant(self, tenant: Tenant) -> int:
        """Return the bytes of what clients have chosen in a tenant's records."""
        size_bytes = 0
        for name, size_of in _OWN_BYTES.items():
            records = getattr(tenant, name).values()
            size_bytes += self._of_records((tenant.id, name), records, size_of)
        for chat_id, messages in tenant.messages.items():
            size_bytes += self._of_records((tenant.id, "messages", chat_id), messages, _of_message)
        return size_bytes

    def _of_records(self, key: tuple[str, ...], records: Collection[Any], size_of: Callable[[Any], int]) -> int:
        """Return the bytes of records; only those at the end are new, unless there are fewer than before."""
        count, size_bytes = self._own.get(key, (0, 0))
        if len(records) < count:
            count = size_bytes = 0
        if len(records) > count:
            size_bytes += sum(map(size_of, islice(records, count, None)))
        self._own[key] = len(records), size_bytes
        return size_bytes


def _records(state: SandboxState) -> int:
    """Return the number of records except exchanges and chats: of chats a checkpoint shares the table."""
    tables = [getattr(tenant, name) for tenant in state.tenants.values() for name in TABLES if name != "chats"]
    return len(state.journal.transitions) + len(state.events) + sum(map(len, tables))
