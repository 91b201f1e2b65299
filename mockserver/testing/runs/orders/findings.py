"""Findings of an interleaving: cases of one cause, with the shortest schedule, its lanes and the document that replays it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from mockserver.report.run.snapshot import read_snapshot
from mockserver.report.run.text import Report
from mockserver.report.trace_page import TracedRun, render
from mockserver.testing.backend import LocalBackend
from mockserver.testing.runs.bounds import NEED
from mockserver.testing.runs.findings import Cause, FindingsByCause, RunFinding, document_name
from mockserver.testing.runs.orders.played import Played, ReleasedStep
from mockserver.testing.runs.orders.verdicts import ORDER

if TYPE_CHECKING:
    from mockserver.testing.sandbox import Sandbox

_PLAIN = (" 200", " 201")  # answers that go without saying
_SHOWN = 6  # steps of one actor in a row


@dataclass
class InterleaveFinding(RunFinding):
    """
    The cases of one cause.

    Attributes:
        verdict: `duplicate`, `breach`, `unserial`, `crashed`, `stuck` or `check`.
        cause: What distinguishes it from other findings of the verdict.
        message: One sentence on the shortest case.
        clause: The clause that a client breaks, None if no rule on conduct names one.
        advice: What the client has to do instead; empty if no rule has it.
        count: The number of orders with this cause.
        clients: The clients that have it, in one order or another; none if it is that of all.
        schedule: The shortest schedule that leads to it.
        preemptions: Those of this schedule.
        steps: The steps of its run.
        places: Where it leaves the serial order, as texts.
        document: The scenario document that repeats its calls.
        path: Where the document was written; None if it was not.
        traced: What the trace of its run is made from.
    """

    count: int = 0
    clients: set[str] = field(default_factory=set)
    schedule: str = ""
    preemptions: int = 0
    steps: Sequence[ReleasedStep] = ()
    places: Sequence[str] = ()
    traced: TracedRun | None = field(default=None, repr=False)
    size: tuple[int, ...] = field(default=(), repr=False)

    def write(self, folder: Path) -> None:
        """Write the finding's document into a folder, and next to it the trace of its run, in which each call has its actor."""
        super().write(folder)
        if self.traced is not None:
            Path(self.path or "").with_suffix(".html").write_bytes(render(self.traced))

    def lanes(self) -> Iterator[str]:
        """Yield one line per actor: its steps, below the time at which they happened."""
        segments = [(actor, _segment(list(rows))) for actor, rows in groupby(self.steps, key=lambda step: step.actor)]
        actors = list(dict.fromkeys(actor for actor, _ in segments))
        width = max(map(len, actors), default=0)
        for lane in actors:
            cells = (text if actor == lane else " " * len(text) for actor, text in segments)
            yield f"{lane:<{width}}  {'  '.join(cells)}".rstrip()


def _segment(steps: Sequence[ReleasedStep]) -> str:
    equal = [(label, len(list(rows))) for label, rows in groupby(map(_label, steps))]
    labels = [label if times == 1 else f"{label}*{times}" for label, times in equal]
    if len(labels) > _SHOWN:
        half = _SHOWN // 2
        labels = [*labels[:half], f"... {len(labels) - 2 * half} more", *labels[-half:]]
    return "  ".join(labels)


def _label(step: ReleasedStep) -> str:
    for plain in _PLAIN:
        if step.label.endswith(plain):
            return step.label.removesuffix(plain)
    return step.label


def _places(played: Played) -> Iterator[str]:
    """Yield where a run has its preemptions, such as `after listCampaigns of worker`."""
    for place, decision in enumerate(played.decisions):
        if decision.chosen.cost:
            before = played.steps[place - 1] if place else None
            yield "at the beginning" if before is None else f"after {_label(before)} of {before.actor}"


class InterleaveFindings(FindingsByCause[InterleaveFinding]):
    """The findings of one search."""

    def __init__(self, test: str) -> None:
        super().__init__(InterleaveFinding, ORDER)
        self._test = test

    def add(self, causes: Sequence[Cause], played: Played, sandbox: Sandbox) -> None:
        """
        Add a case; the shortest one of a cause has the fewest preemptions, then the fewest steps.

        Args:
            causes: Those of one run that differ by their client alone.
            played: The run.
            sandbox: As the run has left it.
        """
        cause = causes[0]
        row = self.of(cause)
        row.count += 1
        row.clients.update(each.client for each in causes if each.client is not None)
        size = played.cost, played.named, len(played.steps)
        if row.size and row.size <= size:
            return
        row.size = size
        row.message, row.schedule, row.preemptions = cause.message, played.schedule, played.cost
        row.steps, row.places = played.steps, list(_places(played))
        name = document_name(self._test, cause)
        summary = f"{cause.message} (schedule {played.schedule!r})"
        row.document = {**sandbox.log.replay_document(name), "summary": summary}
        row.traced = self._traced(row, sandbox)

    def _traced(self, row: InterleaveFinding, sandbox: Sandbox) -> TracedRun:
        """Return what the page of a finding's run is made from."""
        hosted = sandbox.local(NEED)
        snapshot = read_snapshot(
            LocalBackend(hosted, lambda: None).run,
            id=sandbox.id,
            address=None,
            settings=sandbox.settings.values,
            sources=sandbox.settings.sources,
            is_python=True,
        )
        lines = [*row.places, *row.lanes(), f"schedule: {row.schedule}"]
        return TracedRun(
            name=self._test,
            is_failed=True,
            snapshot=snapshot,
            report=Report(problems=[row.problem], summary=[], sections=lines),
            document=row.document,
            secrets=hosted.sandbox.secrets(),
            base_url=hosted.base_url,
            actors={number: step.actor for step in row.steps for number in step.exchanges},
        )
