"""The clean run: what the others are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mockserver.core.run import Run
from mockserver.testing.runs.bounds import Used, Watch
from mockserver.testing.runs.faults.singles import Delivered, Surroundings
from mockserver.testing.runs.faults.verdicts import JudgedRun
from mockserver.testing.runs.traced_calls import TracedCall, trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Clean:
    """
    The clean run.

    Attributes:
        run: As it is judged.
        calls: Its calls of operations.
        delivered: Its attempts to deliver an event.
        around: What it had, other than calls.
        used: What it took.
        in_force: The options of the choices.
    """

    run: JudgedRun
    calls: Sequence[TracedCall]
    delivered: Sequence[Delivered]
    around: Surroundings
    used: Used
    in_force: dict[str, object]


def read_clean(run: JudgedRun, view: Run, watch: Watch) -> Clean:
    """Return a clean run. Lock: the caller holds the sandbox's."""
    templates = {campaign.id: campaign.template_id for _, campaign in view.records("campaign")}
    connected = {session.entrypoint_id: session.id for _, session in view.records("session")}
    entrypoints = {row.id: connected.get(row.id) for _, row in view.records("entrypoint")}
    return Clean(
        run=run,
        calls=trace(view),
        delivered=_delivered(view),
        around=Surroundings(templates, entrypoints, by_socket(view, watch)),
        used=watch.used(),
        in_force=dict(view.choices),
    )


def by_socket(run: Run, watch: Watch) -> frozenset[int]:
    """Return the numbers of the calls of operations that a socket carried."""
    numbers = [exchange.n for exchange in run.exchanges if exchange.operation]
    return frozenset(place for place, n in enumerate(numbers, start=1) if n in watch.by_socket)


def _delivered(run: Run) -> list[Delivered]:
    """Return the attempts to deliver that had no fault and were answered, in the order in which rules count them."""
    attempts = []
    for delivery in run.deliveries.values():
        row = delivery.seq, delivery.event.kind, delivery.webhook_id
        genuine = [attempt for attempt in delivery.attempts if attempt.fault is None]
        attempts += [(attempt.at, *row, attempt.status is not None) for attempt in genuine]
    numbered = enumerate(sorted(attempts), start=1)
    return [Delivered(n, kind, endpoint) for n, (_, _, kind, endpoint, is_answered) in numbered if is_answered]
