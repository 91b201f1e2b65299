"""
Explore: a strategy that runs a test with each fault at each of its calls, and compares each run with a run without one.

The clean run is first, twice. Single placements follow, in the order of its calls, then pairs within their budget.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

from mockserver.core.run import Run
from mockserver.testing.runs.bounds import CLEAN, bounds_beyond
from mockserver.testing.runs.faults import singles
from mockserver.testing.runs.faults.options import ExploreOptions
from mockserver.testing.runs.faults.pairs import First, pairs
from mockserver.testing.runs.faults.placements import Placement
from mockserver.testing.runs.faults.report import EffectsAlone, ExploreReport, add_placement
from mockserver.testing.runs.faults.tables import DEVIATES
from mockserver.testing.runs.faults.verdicts import EndedRun, FaultOutcome, causes, of_finding, read_outcome, verdict_of
from mockserver.testing.runs.findings import CURE, Cause, Part, first_of_each_rule, in_python
from mockserver.testing.runs.investigation import ControlledRun, Investigation, Plans
from mockserver.testing.runs.traced_calls import traced_calls
from mockserver.testing.sandbox import Sandbox

Explored = Callable[[Sandbox], Any]
Show = Callable[[str], object]


class Exploration:
    """
    Finds the placements of one test and judges its runs.

    Lifetime: one test.

    Args:
        options: What to try.
        test: The test's name in the report.
        cure: What lets a client that sleeps in real time sleep on the sandbox's clock.
        in_process: The test runs in this process, where its sleeps and its random numbers can be seen.

    Attributes:
        report: That of the runs so far.
    """

    def __init__(self, options: ExploreOptions, *, test: str, cure: str = CURE, in_process: bool = True) -> None:
        self.report = ExploreReport(
            test=test,
            options=options,
            investigation=Investigation(options.seconds),
            cure=cure,
        )
        self._options, self._is_in_process = options, in_process
        self._alone = EffectsAlone()
        self._firsts: list[First] = []

    def run(
        self, subject: Callable[[Placement], AbstractContextManager[EndedRun]], show: Show = lambda _: None
    ) -> None:
        """
        Run the test at each placement.

        Args:
            subject: Runs it once, in a sandbox that `prepare` gets before the test's own code runs.
            show: Gets how far it is, such as `12 of 128, 2 findings, 9 s`.

        Raises:
            KeyboardInterrupt: It was stopped; the report has what was found before.
        """
        self.report.investigation.run(self.plans(), subject, lambda: show(self.progress))

    def prepare(self, sandbox: Sandbox, placement: Placement) -> ControlledRun:
        """
        Put the rules, choices and bounds of a run in force, before the test's own code runs.

        Args:
            sandbox: A fresh sandbox of this process.
            placement: Where the run has its faults.
        """
        if placement.choices:
            sandbox.choose(placement.choices)
        if placement.script:
            sandbox.apply(script=placement.script)
        if not placement:
            sandbox.log.watch_choices(self.report.clean.choices_read)
        bounds = bounds_beyond(self.report.clean.used) if placement else CLEAN
        control = ControlledRun(sandbox, bounds, in_process=self._is_in_process, time_zone=placement.time_zone)
        control.hosted.counts_faults = not placement
        return control

    def plans(self) -> Plans[Placement, EndedRun]:
        """Yield the placement of each run: the empty one twice, since equal runs should be equal, then the singles, then pairs."""
        clean = self.report.clean
        self._read_clean((yield Placement()))
        if clean.failure is None:
            self._read_clean((yield Placement()))
        if clean.outcome is None or not clean.is_explored:
            return
        self.report.investigation.has_baseline = True
        for placement in self._singles():
            self._judge(clean.outcome, placement, (yield placement))
        if self._options.pairs:
            for placement in self._pairs():
                self._judge(clean.outcome, placement, (yield placement))

    @property
    def progress(self) -> str:
        """How far it is, such as `12 of 128, 2 findings, 9 s`: placements tried, causes found, real seconds."""
        of_singles, of_pairs = self.report.coverage.singles, self.report.coverage.pairs
        planned = of_singles.placements - of_singles.merged - self.report.coverage.over_budget + self._options.pairs
        tried = f"{of_singles.tried + of_pairs.tried} of {planned}" if planned else "clean run"
        return self.report.investigation.progress(tried, len(self.report.findings))

    # The clean runs

    def _read_clean(self, ended: EndedRun) -> None:
        """Read a clean run, and report what it shows by itself."""
        clean, control = self.report.clean, ended.control
        is_first = clean.outcome is None
        with control.hosted.sandbox.lock:
            run = read_outcome(ended, Placement(), None)
            clean.read(run, control)
        self.report.investigation.note_sleep(control.longest_sleep)
        reasons = {finding.rule: of_finding(finding) for finding in first_of_each_rule(run.findings)}
        if run.raised is not None:
            reasons["raised"] = Cause("crashed", type(run.raised).__name__, f"the clean run failed: {clean.failure}")
        for cause in reasons.values() if is_first or run.raised is not None else ():
            add_placement(self.report, cause, Placement(), control.sandbox)

    # Single placements

    def _singles(self) -> Iterator[Placement]:
        clean, options = self.report.clean, self._options_of_calls()
        candidates = [
            *singles.at_calls(clean.calls, clean, options),
            *singles.at_deliveries(clean.delivered, options),
            *singles.of_choices(clean.choices_read, clean.in_force, options),
            *(singles.of_process(options) if self._is_in_process and clean.calls else ()),
        ]
        if options.prune:
            self._alone.merge(candidates)
        planned = singles.pruned(candidates, options.prune)
        chosen = singles.within(planned, options.runs)
        coverage = self.report.coverage
        coverage.singles = Part(placements=len(candidates), merged=len(candidates) - len(planned))
        coverage.over_budget = len(planned) - len(chosen)
        yield from chosen

    # Pairs

    def _pairs(self) -> Iterator[Placement]:
        planned, count = pairs(self._firsts, self.report.clean, self._options_of_calls())
        self.report.coverage.pairs = Part(placements=count, merged=count - len(planned))
        yield from planned[: self._options.pairs]

    def _options_of_calls(self) -> ExploreOptions:
        """Return the options; calls of a client that is not deterministic are equal to no other."""
        return self._options if self.report.clean.difference is None else replace(self._options, prune=False)

    # Judging

    def _judge(self, clean: FaultOutcome, placement: Placement, ended: EndedRun) -> None:
        """Judge a run, count it, and keep what pairs begin with."""
        control, coverage = ended.control, self.report.coverage.part_of(placement)
        with control.hosted.sandbox.lock:
            run = read_outcome(ended, placement, clean)
            if self._options.pairs and len(placement) == 1 and placement[0].is_in_pairs:
                calls = traced_calls(Run.of(control.hosted.sandbox), run.trace, control.watch.by_socket)
                self._firsts.append(First(placement[0], calls))
        self.report.investigation.note_sleep(control.longest_sleep, placement.describe())
        if run.has_unseen_waits:
            self.report.unjudged.append(placement)
        reasons = causes(clean, run, self._options)
        if not run.altered and not reasons:
            coverage.not_tried.append(placement)
            return
        coverage.tried += 1
        verdict = self._count(placement, reasons, control.sandbox)
        control.hosted.counts_faults = verdict not in DEVIATES

    def _count(self, placement: Placement, reasons: list[Cause], sandbox: Sandbox) -> str:
        """Count a run with its causes, and return its verdict."""
        verdict = verdict_of(reasons)
        if len(placement) == 1:
            self._alone.keep(placement[0], reasons)
        else:
            reasons = self._alone.without(placement, reasons)
        if verdict in DEVIATES and self.report.tolerates(placement, verdict):
            verdict, reasons = "reported", []
        self.report.count(placement, verdict)
        for cause in reasons:
            if cause.verdict != "reported":
                add_placement(self.report, cause, placement, sandbox)
        return verdict


def explore(
    make_sandbox: Callable[[], Sandbox], function: Explored, options: ExploreOptions, test: str
) -> ExploreReport:
    """
    Run a function at each placement, and return the report.

    Args:
        make_sandbox: Returns a fresh sandbox of this process; each with the same seed and the same instant.
        function: The test: it takes a sandbox and raises if the client fails. A coroutine function runs on a loop of its own.
        options: What to try.
        test: The name in the report.

    Raises:
        KeyboardInterrupt: It was stopped, with the report so far as its note.
    """
    exploration = Exploration(options, test=test)

    @contextmanager
    def subject(placement: Placement) -> Iterator[EndedRun]:
        with make_sandbox() as sandbox:
            control = exploration.prepare(sandbox, placement)
            try:
                ended = EndedRun.of(control, _raised_by(function, sandbox))
            finally:
                control.stop()
            yield ended

    with in_python(exploration.report):
        exploration.run(subject)
    return exploration.report


def _raised_by(function: Explored, sandbox: Sandbox) -> BaseException | None:
    """Run a test, and return the exception with which it ends; that of Ctrl-C is raised."""
    try:
        result = function(sandbox)
        if inspect.iscoroutine(result):
            asyncio.run(result)
    except KeyboardInterrupt:
        raise
    except BaseException as failure:  # noqa: BLE001 - the way in which it ends is judged
        return failure
    return None
