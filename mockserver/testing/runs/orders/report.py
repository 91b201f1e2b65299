"""The report of an interleaving: its findings, as text, and as the decision whether the test fails. Equal searches have equal bytes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import ClassVar

from mockserver.contract.text import counted, printable
from mockserver.report.run.snapshot import read_snapshot
from mockserver.report.run.text import Report
from mockserver.report.trace_page import TracedRun, render
from mockserver.testing.backend import LocalBackend
from mockserver.testing.runs.bounds import NEED
from mockserver.testing.runs.findings import CURE, Cause, Part, ReportOfFindings, RunFinding, add_case, document_name
from mockserver.testing.runs.orders.options import InterleaveOptions
from mockserver.testing.runs.orders.placed_fault import PlacedFault
from mockserver.testing.runs.orders.played import Played, ReleasedStep
from mockserver.testing.runs.orders.verdicts import ORDER, OrderOutcome

_PLAIN = (" 200", " 201")  # answers that go without saying
_SHOWN = 6  # steps of one actor in a row
LINE = "mockserver_server.interleave(..., "  # goes on with the schedule
_MERGED = (
    "merged: equal to an order that is run; if the clients meet in a database or a file, `prune=False` runs those too"
)
_PREEMPTION = "another client or an event goes first while a client has a call waiting"


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
        fault: The fault of its run; None for an order alone.
        document: The scenario document that repeats its calls.
        path: Where the document was written; None if it was not.
        traced: What the trace of its run is made from.
    """

    clients: set[str] = field(default_factory=set)
    schedule: str = ""
    preemptions: int = 0
    steps: Sequence[ReleasedStep] = ()
    places: Sequence[str] = ()
    fault: PlacedFault | None = None
    traced: TracedRun | None = field(default=None, repr=False)

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


def serial_text(outcome: OrderOutcome, clients: Collection[str]) -> str:
    """Return a run of whole clients as text, such as `worker cron (3 and 1 calls)`."""
    steps = [step for step in outcome.played.steps if step.actor in clients]
    calls = {step.actor: 0 for step in steps}
    for step in steps:
        calls[step.actor] += step.waits == "call"
    numbers = list(calls.values())
    counts = f"{' and '.join(map(str, numbers))} {'call' if numbers == [1] else 'calls'}"
    errors = "".join(f"; {name} ended with {text}" for name, text in outcome.errors.items())
    order = " ".join(name for name, _ in groupby(step.actor for step in steps))
    return f"{order} ({counts}{errors})"


@dataclass(kw_only=True)
class InterleaveReport(ReportOfFindings[InterleaveFinding]):
    """
    The report of an interleaving.

    Attributes:
        test: The test's name.
        clients: The names of the clients.
        options: What was to be tried.
        line: The beginning of the line that repeats a finding, in Python.
        serial: The runs of whole clients, as texts.
        bounds: The orders by the number of their preemptions, the serial ones among those with none; `placements` are those that were found.
        difference: What two equal serial runs do differently; None if they are equal.
        blocked: Where clients waited outside of calls, with the number of runs.
        failed_serial: Why the serial runs allow no comparison; None if they do.
        unplayed: Why the schedule was not played as it is; None if it was.
        shares_memory: The clients change memory that they share, so that no order is left out as equal.
        fault_runs: The faults at calls of the serial runs, and those of them that were tried with every order that has at most one preemption; None if there were none.
        left: The number of orders within the bound that were found and not run.
        not_interleaved: Sentences about clients whose calls are no steps.
    """

    order: ClassVar = ORDER
    clients: Sequence[str]
    options: InterleaveOptions
    line: str = LINE
    serial: list[str] = field(default_factory=list)
    bounds: dict[int, Part] = field(default_factory=dict)
    difference: str | None = None
    blocked: dict[str, int] = field(default_factory=dict)
    failed_serial: str | None = "it ended before the last serial run"
    unplayed: str | None = None
    shares_memory: bool = False
    fault_runs: Part | None = None
    left: int = 0
    not_interleaved: Sequence[str] = ()

    @property
    def failed(self) -> bool:
        """True if there is a finding, or if nothing could be compared or played."""
        return bool(self.findings) or self.failed_serial is not None or self.unplayed is not None

    def text(self) -> str:
        """Return the report as text: what was run, then the findings with their shortest schedules."""
        return "\n".join(map(printable, self._lines()))

    def _lines(self) -> Iterator[str]:
        yield f"interleaved {', '.join(self.clients)}: {counted(len(self.clients), 'client')}"
        if self.failed_serial is not None:
            yield f"nothing is compared: {self.failed_serial}"
        yield f"  serial: {', '.join(self.serial)}"
        if self.options.schedule is not None:
            yield f"  schedule: {self.options.schedule}"
        else:
            yield from (f"  {line}" for line in self._bound_lines())
            if self.findings:
                yield f"  preemption: {_PREEMPTION}"
        yield from (f"  {line}" for line in self._notes())
        for finding in self.findings:
            yield from _finding_lines(finding, self.line)

    def _bound_lines(self) -> Iterator[str]:
        orders = merged = 0
        last = max(self.bounds, default=0)
        for preemptions, row in self.bounds.items():
            orders, merged = orders + row.placements, merged + row.merged
            if preemptions == 0 and last:
                continue
            which = f"all {counted(orders, 'order')}"
            if preemptions == last and self.left:
                which = f"{orders} of at least {counted(orders + self.left, 'order')}"
            yield f"bound {preemptions}: {which}, {merged} merged"

    def _notes(self) -> Iterator[str]:
        """Yield what limits the report."""
        if self.ended is not None:
            yield f"ended early, {self.ended}; the report has what was found before"
        if self.unplayed is not None:
            yield f"the schedule was not played: {self.unplayed}"
        if self.left and self.failed_serial is None and self.ended is None:
            seconds = None if self.runs >= self.options.runs else self.options.seconds
            budget = f"{self.options.runs} runs" if seconds is None else f"{seconds:g} s"
            last = max(self.bounds)
            rest = f", and none with more than {counted(last, 'preemption')}" if last < self.options.bound else ""
            yield f"not run: {counted(self.left, 'order')} beyond the budget of {budget}{rest}"
        if self.fault_runs is not None:
            row = self.fault_runs
            yield f"with a fault: {row.tried} of {row.placements} faults at calls, each with every order of one preemption"
        yield from self.not_interleaved
        if self.shares_memory and self.options.prune and self.options.schedule is None:
            yield "the clients change memory that they share, so every order is run"
        elif any(row.merged for row in self.bounds.values()):
            yield _MERGED
        if self.difference is not None:
            yield f"equal runs differ: {self.difference}; so `unserial` is not judged"
        for text, runs in self.blocked.items():
            yield f"{text} was blocked outside of calls in {counted(runs, 'run')}, which may differ from run to run"
        if self.sleep is not None:
            yield f"{self.sleep}; let it sleep on the sandbox's clock: {CURE}"
        yield from self.unwritten


def add_run(report: InterleaveReport, causes: Sequence[Cause], outcome: OrderOutcome) -> None:
    """
    Add a run to the finding of its cause; the smallest case has the fewest preemptions, then the fewest steps.

    Args:
        report: That of the search.
        causes: Those of the run that differ by their client alone.
        outcome: The run.
    """
    cause, played, fault = causes[0], outcome.played, outcome.plan.fault
    size = int(fault is not None), played.cost, played.named, len(played.steps)
    row, is_smallest = add_case(report.by_cause, InterleaveFinding, cause, size)
    row.clients.update(each.client for each in causes if each.client is not None)
    if not is_smallest:
        return
    row.schedule, row.preemptions, row.fault = played.schedule, played.cost, fault
    row.steps, row.places = played.steps, list(_places(played))
    name, summary = document_name(report.test, cause), f"{cause.message} (schedule {played.schedule!r})"
    row.document = {**outcome.sandbox.log.replay_document(name), "summary": summary}
    row.traced = _traced(report.test, row, outcome)


def _traced(test: str, row: InterleaveFinding, outcome: OrderOutcome) -> TracedRun:
    """Return what the page of a finding's run is made from."""
    sandbox = outcome.sandbox
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
        name=test,
        snapshot=snapshot,
        report=Report(problems=[row.problem], summary=[], sections=lines),
        document=row.document,
        secrets=hosted.sandbox.secrets(),
        base_url=hosted.base_url,
        actors=outcome.played.owners,
    )


def _finding_lines(finding: InterleaveFinding, line: str) -> Iterator[str]:
    alike = f" ({', '.join(sorted(finding.clients))})" if len(finding.clients) > 1 else ""
    yield from finding.lines_of(f"at {counted(finding.count, 'order')}{alike}")
    yield from (f"  {line}" for line in finding.lanes())
    where = f", {', '.join(finding.places)}" if finding.places else ""
    option = ""
    if finding.fault is not None:
        yield f"  with {finding.fault.describe()}"
        option = f', fault="{finding.fault}"'
    preemptions = counted(finding.preemptions, "preemption") if finding.preemptions else "no preemptions"
    yield f"  shortest: {preemptions}{where}"
    yield f'  > {line}schedule="{finding.schedule}"{option})'
    if finding.path is not None:
        yield f"  calls repeated by {finding.path}, and step by step in {finding.path.removesuffix('.json')}.html"
