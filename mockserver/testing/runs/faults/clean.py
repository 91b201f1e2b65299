"""The clean run: what the others are compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from mockserver.core.run import Run
from mockserver.testing.runs.bounds import CLEAN, Bounds
from mockserver.testing.runs.faults.verdicts import FaultOutcome
from mockserver.testing.runs.findings import describe
from mockserver.testing.runs.investigation import ControlledRun
from mockserver.testing.runs.traced_calls import TracedCall, first_difference, lacks_calls, traced_calls


class Delivered(NamedTuple):
    """One attempt to deliver an event: its number in the run, the event's kind, and its endpoint."""

    number: int
    event: str
    endpoint: str


@dataclass(kw_only=True)
class CleanRun:
    """
    The clean run, and what the second one does otherwise.

    Attributes:
        outcome: What it ends with, as it is judged; None before that.
        calls: Its calls of operations.
        delivered: Its attempts to deliver an event.
        templates: The ids of the templates of the client's campaigns.
        entrypoints: The ids of the entrypoints, each with the session that has connected it; None if none has.
        used: What it took.
        choices_read: The ids of the choices that it read.
        in_force: The options of the choices.
        difference: The first difference of the second clean run; None if they are equal.
        failure: The exception with which one of them ended; None if both passed.
        unexplored: Why nothing was explored although both clean runs passed; None if it was.
    """

    outcome: FaultOutcome | None = None
    calls: Sequence[TracedCall] = ()
    delivered: Sequence[Delivered] = ()
    templates: Sequence[str] = ()
    entrypoints: Mapping[str, str | None] = field(default_factory=dict)
    used: Bounds = CLEAN
    choices_read: set[str] = field(default_factory=set)
    in_force: Mapping[str, object] = field(default_factory=dict)
    difference: str | None = None
    failure: str | None = None
    unexplored: str | None = None

    @property
    def is_explored(self) -> bool:
        """True if the clean runs allow others to be compared with them."""
        return self.failure is None and self.unexplored is None

    @property
    def is_repeatable(self) -> bool:
        """True if the calls of the second one caused the same."""
        return self.outcome is None or self.outcome.is_repeatable

    def read(self, outcome: FaultOutcome, control: ControlledRun) -> None:
        """Keep the first clean run, or what the second one does otherwise. Lock: the caller holds the sandbox's."""
        view = Run.of(control.hosted.sandbox)
        calls = traced_calls(view, outcome.trace, control.watch.by_socket)
        if self.outcome is not None:
            self._compare(self.outcome, outcome, calls)
        else:
            connected = {session.entrypoint_id: session.id for _, session in view.records("session")}
            self.outcome, self.calls, self.delivered = outcome, calls, _delivered(view)
            self.templates = sorted({campaign.template_id for _, campaign in view.records("campaign")})
            self.entrypoints = {row.id: connected.get(row.id) for _, row in view.records("entrypoint")}
            self.used, self.in_force = control.watch.used(), dict(view.choices)
        if outcome.raised is not None:
            self.failure = describe(outcome.raised, outcome.base_url)

    def _compare(self, first: FaultOutcome, second: FaultOutcome, calls: Sequence[TracedCall]) -> None:
        self.difference = first_difference(self.calls, calls)
        if second.raised is not None:
            self.difference = self.difference or f"the second run ended with {type(second.raised).__name__}"
        elif lacks_calls(self.calls, calls):
            self.unexplored = f"run 2 did not make the calls of run 1: {self.difference}"
        self.outcome = replace(first, is_repeatable=first.caused.is_like(second.caused))


def _delivered(run: Run) -> list[Delivered]:
    """Return the attempts to deliver that had no fault and were answered, in the order in which rules count them."""
    attempts = []
    for delivery in run.deliveries.values():
        row = delivery.seq, delivery.event.kind, delivery.webhook_id
        genuine = [attempt for attempt in delivery.attempts if attempt.fault is None]
        attempts += [(attempt.at, *row, attempt.status is not None) for attempt in genuine]
    numbered = enumerate(sorted(attempts), start=1)
    return [Delivered(n, kind, endpoint) for n, (_, _, kind, endpoint, is_answered) in numbered if is_answered]
