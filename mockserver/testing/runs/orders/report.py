"""The report of an interleaving: as JSON, as text, and as the decision whether the test fails. Equal searches have equal bytes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import NamedTuple

from mockserver._json import JSON
from mockserver.contract.text import printable
from mockserver.testing.runs.faults.report import CURE
from mockserver.testing.runs.findings import ReportOfFindings
from mockserver.testing.runs.in_process import Sleep
from mockserver.testing.runs.orders.findings import InterleaveFinding
from mockserver.testing.runs.orders.options import InterleaveOptions
from mockserver.testing.runs.orders.played import Played
from mockserver.testing.runs.orders.verdicts import RunEnd
from mockserver.version import REPORT_VERSION

_PREEMPTION = "another client or an event goes first while a client has a call waiting"


class SerialRun(NamedTuple):
    """
    A run of whole clients, one after the other.

    Attributes:
        order: The names of the clients.
        calls: The number of calls of each.
        errors: The exceptions with which clients ended, by client.
    """

    order: Sequence[str]
    calls: Sequence[int]
    errors: Mapping[str, str]

    @classmethod
    def of(cls, played: Played, clients: Collection[str], end: RunEnd) -> SerialRun:
        """Return the row of a run."""
        order = [name for name, _ in groupby(step.actor for step in played.steps if step.actor in clients)]
        calls = dict.fromkeys(order, 0)
        for step in played.steps:
            if step.waits == "call" and step.actor in calls:
                calls[step.actor] += 1
        return cls(order, [calls[name] for name in dict.fromkeys(order)], end.errors)


@dataclass
class Bound:
    """The orders with this number of preemptions, the serial ones among those with none: how many were run, and how many are equal to one that was."""

    preemptions: int
    run: int = 0
    merged: int = 0


class FaultRuns(NamedTuple):
    """
    The runs with a fault at a call of one client in addition.

    Attributes:
        runs: Their number, with the serial runs of each fault.
        placements: The faults at calls of the serial runs.
        tried: Those of which every order with at most one preemption was run.
    """

    runs: int
    placements: int
    tried: int


@dataclass(frozen=True)
class InterleaveReport(ReportOfFindings):
    """
    The report of an interleaving.

    Attributes:
        test: The test's name.
        clients: The names of the clients.
        options: What was to be tried.
        serial: The runs of whole clients.
        bounds: The orders by their preemptions.
        runs: The number of runs.
        found: The findings, the worst first.
        difference: What two equal serial runs do differently; None if they are equal.
        blocked: Where clients waited outside of calls, with the number of runs.
        sleep: The longest sleep in real time; None if there was none.
        failed_serial: Why the serial runs allow no comparison; None if they do.
        unplayed: Why the schedule was not played as it is; None if it was.
        shares_memory: The clients change memory that they share, so that no order is left out as equal.
        fault_runs: The runs with a fault in addition; None if there were none.
        left: The number of orders within the bound that were found and not run.
        not_interleaved: Sentences about clients whose calls are no steps.
        ended: Why it ended before its last run, as the end of a sentence; None if it did not.
        unwritten: Why documents of the findings were not written.
    """

    test: str
    clients: Sequence[str]
    options: InterleaveOptions
    serial: Sequence[SerialRun]
    bounds: Sequence[Bound]
    runs: int
    found: Sequence[InterleaveFinding]
    difference: str | None
    blocked: Mapping[str, int]
    sleep: Sleep | None
    failed_serial: str | None
    unplayed: str | None
    shares_memory: bool
    fault_runs: FaultRuns | None
    left: int
    not_interleaved: Sequence[str]
    ended: str | None = None
    unwritten: list[str] = field(default_factory=list)

    @property
    def findings(self) -> Sequence[InterleaveFinding]:
        """The findings, the worst first."""
        return self.found

    @property
    def failed(self) -> bool:
        """True if there is a finding, or if nothing could be compared or played."""
        return bool(self.findings) or self.failed_serial is not None or self.unplayed is not None

    @property
    def json(self) -> JSON:
        """The report as JSON."""
        return {
            "version": REPORT_VERSION,
            "test": self.test,
            "clients": list(self.clients),
            "serial": [row._asdict() for row in self.serial],
            "bounds": [asdict(row) for row in self.bounds],
            "left": self.left,
            "faults": None if self.fault_runs is None else self.fault_runs._asdict(),
            "runs": self.runs,
            "seed": self.options.seed,
            "deterministic": self.difference is None and not self.blocked,
            "notes": [*self._not_compared(), *self._notes()],
            "findings": [finding.as_json() for finding in self.findings],
        }

    def text(self) -> str:
        """Return the report as text: what was run, then the findings with their shortest schedules."""
        return "\n".join(map(printable, self._lines()))

    def _lines(self) -> Iterator[str]:
        yield f"interleaved {', '.join(self.clients)}: {_count(len(self.clients), 'client')}"
        yield from self._not_compared()
        yield f"  serial: {', '.join(map(_serial_text, self.serial))}"
        if self.options.schedule is not None:
            yield f"  schedule: {self.options.schedule}"
        else:
            yield from (f"  {line}" for line in self._bound_lines())
            if self.findings:
                yield f"  preemption: {_PREEMPTION}"
        yield from (f"  {line}" for line in self._notes())
        for finding in self.findings:
            yield from _finding_lines(finding)

    def _not_compared(self) -> Iterator[str]:
        if self.failed_serial is not None:
            yield f"nothing is compared: {self.failed_serial}"

    def _bound_lines(self) -> Iterator[str]:
        orders = merged = 0
        for row in self.bounds:
            orders, merged = orders + row.run + row.merged, merged + row.merged
            if row.preemptions == 0 and len(self.bounds) > 1:
                continue
            is_last = row is self.bounds[-1]
            which = (
                f"{orders} of at least {_count(orders + self.left, 'order')}"
                if is_last and self.left
                else f"all {_count(orders, 'order')}"
            )
            yield f"bound {row.preemptions}: {which}, {merged} merged"

    def _notes(self) -> Iterator[str]:
        """Yield what limits the report."""
        if self.ended is not None:
            yield f"ended early, {self.ended}; the report has what was found before"
        if self.unplayed is not None:
            yield f"the schedule was not played: {self.unplayed}"
        if self.fault_runs is not None:
            row = self.fault_runs
            yield f"with a fault: {row.tried} of {row.placements} faults at calls, each with every order of one preemption, in {row.runs} runs"
        if self.left and self.failed_serial is None and self.ended is None:
            seconds = None if self.runs >= self.options.runs else self.options.seconds
            budget = f"{self.options.runs} runs" if seconds is None else f"{seconds:g} s"
            last = self.bounds[-1].preemptions
            rest = f", and none with more than {_count(last, 'preemption')}" if last < self.options.bound else ""
            yield f"not run: {_count(self.left, 'order')} beyond the budget of {budget}{rest}"
        yield from self.not_interleaved
        if self.shares_memory and self.options.prune and self.options.schedule is None:
            yield "the clients change memory that they share, so every order is run"
        elif any(row.merged for row in self.bounds) and _calls_depend_on_order(self.serial):
            yield "how many calls a client makes depends on the order; if the clients meet in a database or a file, `prune=False` runs the merged orders too"
        if self.difference is not None:
            yield f"equal runs differ: {self.difference}; so `unserial` is not judged"
        for text, runs in self.blocked.items():
            yield f"{text} was blocked outside of calls in {_count(runs, 'run')}, which may differ from run to run"
        if self.sleep is not None:
            yield f"a client sleeps in real time ({self.sleep}); let it sleep on the sandbox's clock: {CURE}"
        yield from self.unwritten


def _calls_depend_on_order(serial: Sequence[SerialRun]) -> bool:
    """Return True if a client makes more calls in one serial run than in another."""
    counts: dict[str, set[int]] = {}
    for row in serial:
        for name, calls in zip(row.order, row.calls, strict=True):
            counts.setdefault(name, set()).add(calls)
    return any(len(different) > 1 for different in counts.values())


def _serial_text(row: SerialRun) -> str:
    calls = f"{' and '.join(map(str, row.calls))} {'call' if list(row.calls) == [1] else 'calls'}"
    errors = "".join(f"; {name} ended with {text}" for name, text in row.errors.items())
    return f"{' '.join(row.order)} ({calls}{errors})"


def _count(number: int, what: str) -> str:
    return f"{number} {what if number == 1 else what + 's'}"


def _finding_lines(finding: InterleaveFinding) -> Iterator[str]:
    alike = f" ({', '.join(sorted(finding.clients))})" if len(finding.clients) > 1 else ""
    yield from finding.lines_of(f"at {_count(finding.count, 'order')}{alike}")
    yield from (f"  {line}" for line in finding.lanes())
    where = f", {', '.join(finding.places)}" if finding.places else ""
    preemptions = _count(finding.preemptions, "preemption") if finding.preemptions else "no preemptions"
    yield f"  shortest: {preemptions}{where}"
    option = ""
    if finding.fault is not None:
        yield f"  with {finding.fault.describe()}; compared with serial runs that have this fault too"
        option = f', fault="{finding.fault}"'
    yield f'  > mockserver_server.interleave(..., schedule="{finding.schedule}"{option})'
    if finding.path is not None:
        yield f"  calls repeated by {finding.path}, and step by step in {finding.path.removesuffix('.json')}.html"
