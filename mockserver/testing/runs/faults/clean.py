"""The clean run: what the others are compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mockserver.core.run import Run
from mockserver.testing.runs.bounds import Bounds, Watch
from mockserver.testing.runs.faults.verdicts import JudgedRun
from mockserver.testing.runs.traced_calls import TracedCall, trace


class Delivered(NamedTuple):
    """One attempt to deliver an event: its number in the run, the event's kind, and its endpoint."""

    number: int
    event: str
    endpoint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Clean:
    """
    The clean run.

    Attributes:
        run: As it is judged.
        calls: Its calls of operations.
        delivered: Its attempts to deliver an event.
        templates: The ids of the templates of the client's campaigns.
        entrypoints: The ids of the entrypoints, each with the session that has connected it; None if none has.
        used: What it took.
        in_force: The options of the choices.
    """

    run: JudgedRun
    calls: Sequence[TracedCall]
    delivered: Sequence[Delivered]
    templates: Sequence[str]
    entrypoints: Mapping[str, str | None]
    used: Bounds
    in_force: Mapping[str, object]


def read_clean(run: JudgedRun, view: Run, watch: Watch) -> Clean:
    """Return a clean run. Lock: the caller holds the sandbox's."""
    connected = {session.entrypoint_id: session.id for _, session in view.records("session")}
    return Clean(
        run=run,
        calls=trace(view, watch.by_socket),
        delivered=_delivered(view),
        templates=sorted({campaign.template_id for _, campaign in view.records("campaign")}),
        entrypoints={row.id: connected.get(row.id) for _, row in view.records("entrypoint")},
        used=watch.used(),
        in_force=dict(view.choices),
    )


def _delivered(run: Run) -> list[Delivered]:
    """Return the attempts to deliver that had no fault and were answered, in the order in which rules count them."""
    attempts = []
    for delivery in run.deliveries.values():
        row = delivery.seq, delivery.event.kind, delivery.webhook_id
        genuine = [attempt for attempt in delivery.attempts if attempt.fault is None]
        attempts += [(attempt.at, *row, attempt.status is not None) for attempt in genuine]
    numbered = enumerate(sorted(attempts), start=1)
    return [Delivered(n, kind, endpoint) for n, (_, _, kind, endpoint, is_answered) in numbered if is_answered]
