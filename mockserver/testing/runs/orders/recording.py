"""Records the steps of one run: what each has called, read, written, scheduled and made due."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from mockserver.contract.endpoints import ENDPOINTS, is_cancel, is_creation_of, is_list_of
from mockserver.core.operations.footprints import Footprint, footprint_of
from mockserver.core.state.journal import JournalEntry
from mockserver.core.state.sandbox import SandboxState, Timer
from mockserver.testing.runs.orders.gate import Gate
from mockserver.testing.runs.orders.played import NewTimer, ReleasedStep
from mockserver.testing.runs.orders.schedules import Waits

# Of a campaign while it is sent.
_SHOWS_PROGRESS: Final = tuple(
    row.id for row in ENDPOINTS.values() if row.reads in ("campaign", "execution") or row.lists == "message"
)


class StepRecorder:
    """
    The steps of one run.

    Lifetime: one run.

    Args:
        state: The sandbox.
        gate: Of the run.

    Attributes:
        steps: In the order of their release.
        timers: Those that were scheduled before the first step.
    """

    def __init__(self, state: SandboxState, gate: Gate) -> None:
        self.steps: list[ReleasedStep] = []
        self._state, self._gate = state, gate
        self._live: Mapping[int, Timer] = {}
        self.timers = self._new_timers()
        self.begin()

    def begin(self) -> None:
        """Take what happens from here on for the next step's."""
        journal = self._state.journal
        self._exchange, self._transition = journal.last_exchange, journal.last_transition

    def add(self, name: str, waits: Waits, label: str) -> ReleasedStep:
        """
        Record the step that has happened, and return it.

        Args:
            name: Whose it is.
            waits: What it is.
            label: What it has done, if the journal does not show it.
        """
        exchanges = [entry for entry in self._state.journal.exchanges if entry.n > self._exchange]
        before = self._live
        step = ReleasedStep(
            actor=name,
            waits=waits,
            label=_label(label, waits, exchanges),
            exchanges=tuple(entry.n for entry in exchanges),
            footprint=self._footprint(waits, exchanges),
            at=self._state.now,
            reads=tuple(_read(entry) for entry in exchanges),
            timers=self._new_timers(),
            gone=tuple(number for number in before if number not in self._live),
            is_timed=any(map(self._is_timed, exchanges)),
            is_paced=any((entry.status or 0) >= 400 or _is_paced(entry.operation) for entry in exchanges),
        )
        self._gate.has_looked = False
        self.steps.append(step)
        return step

    def _footprint(self, waits: Waits, exchanges: Sequence[JournalEntry]) -> Footprint | None:
        if self._gate.has_looked:
            return None
        if waits in ("start", "sleep", "time"):
            return Footprint()
        if waits != "call" or len(exchanges) != 1:
            return None
        changed = [row for row in self._state.journal.transitions if row.n > self._transition]
        return footprint_of(self._state, exchanges[0], changed)

    def _new_timers(self) -> tuple[NewTimer, ...]:
        """Return the timers that have been scheduled since the last look."""
        before = self._live
        self._live = {timer.order: timer for timer in self._state.timers if self._state.timer_target(timer) is not None}
        return tuple(
            NewTimer(number, timer.due - self._state.now, self._part_of(timer))
            for number, timer in self._live.items()
            if number not in before
        )

    def _part_of(self, timer: Timer) -> str | None:
        """Return the part of the state that a timer changes; None if it may change anything."""
        if timer.rule_id or timer.kind not in ("execution", "session"):
            return None
        if timer.kind == "session":
            return f"session:{timer.id}"
        return f"campaign:{self._state.tenants[timer.tenant_id].executions[timer.id].campaign_id}"

    def _is_timed(self, entry: JournalEntry) -> bool:
        """Return True for a call whose effect or answer depends on how long a campaign has been sent."""
        if is_cancel(entry.operation):
            return True
        if is_creation_of(entry.operation, "execution"):
            return self._state.choices["size-limit-base"] == "moving-day"
        if entry.operation not in _SHOWS_PROGRESS or entry.tenant_id is None:
            return False
        live = {timer.id for timer in self._live.values()}
        executions = self._state.tenants[entry.tenant_id].executions.values()
        return any(
            execution.status == "processing" or execution.id in live
            for execution in executions
            if is_list_of(entry.operation, "message") or execution.campaign_id == entry.call.params.get("id")
        )


def _is_paced(operation: str | None) -> bool:
    """Return True for a call whose conduct is judged by the time between calls, and not by their order alone."""
    if operation is None:
        return False
    row = ENDPOINTS[operation]
    is_preview = row.method == "POST" and not row.writes
    return is_preview or "session" in (row.creates, row.reads)


def _read(entry: JournalEntry) -> object:
    """Return what is equal for equal reads with equal answers; None for a call that is no read."""
    is_read = entry.operation is not None and ENDPOINTS[entry.operation].method == "GET"
    return (entry.request, entry.status, entry.answer) if is_read else None


def _label(label: str, waits: Waits, exchanges: Sequence[JournalEntry]) -> str:
    calls = [f"{entry.operation or entry.call.method} {entry.status or 'no answer'}" for entry in exchanges]
    if waits == "call" and calls:
        return ", ".join(calls)
    return label or waits
