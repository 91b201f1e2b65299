"""
Explore: a strategy that runs a test with each fault at each of its calls, and compares each run with a run without one.

The clean run is first, twice. Single placements follow, in the order of its calls, then pairs within their budget.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from mockserver.core.run import Run
from mockserver.testing.runs.bounds import CLEAN, bounds_beyond, drain
from mockserver.testing.runs.faults import singles
from mockserver.testing.runs.faults.clean import Clean, read_clean
from mockserver.testing.runs.faults.findings import EffectsAlone, Findings
from mockserver.testing.runs.faults.options import ExploreOptions
from mockserver.testing.runs.faults.pairs import First, pairs
from mockserver.testing.runs.faults.placements import ExploreStep, Placement
from mockserver.testing.runs.faults.report import CURE, ExploreReport, Part
from mockserver.testing.runs.faults.verdicts import (
    DEVIATES,
    JudgedRun,
    causes,
    describe,
    of_finding,
    read_run,
    verdict_of,
    waiting_for_ever,
)
from mockserver.testing.runs.findings import Cause
from mockserver.testing.runs.in_process import Sleep
from mockserver.testing.runs.investigation import ControlledRun, Investigation, Plans, muted_logs
from mockserver.testing.runs.traced_calls import first_difference, lacks_calls, trace
from mockserver.testing.sandbox import Sandbox

Explored = Callable[[Sandbox], Any]
Show = Callable[[str], object]


class Outcome(NamedTuple):
    """
    A run that has ended.

    Attributes:
        control: The run.
        raised: The exception with which its test ended; None if it passed.
        is_drained: Everything that was due has been delivered and done.
    """

    control: ControlledRun
    raised: BaseException | None
    is_drained: bool = False

    @classmethod
    def of(cls, control: ControlledRun, raised: BaseException | None) -> Outcome:
        """End a run whose test has ended: in process its receivers get what is still due, if it has passed."""
        if isinstance(raised, SystemExit) and not raised.code:
            raised = None  # the program has ended in order
        is_drained = raised is None and control.in_process is not None and drain(control.hosted)
        control.stop()
        return cls(control, raised, is_drained)


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
            found=Findings(test),
            cure=cure,
        )
        self._options, self._is_in_process = options, in_process
        self._clean: Clean | None = None
        self._alone = EffectsAlone()
        self._firsts: list[First] = []

    def run(self, subject: Callable[[Placement], AbstractContextManager[Outcome]], show: Show = lambda _: None) -> None:
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
        bounds = CLEAN if self._clean is None or not placement else bounds_beyond(self._clean.used)
        control = ControlledRun(sandbox, bounds, in_process=self._is_in_process, time_zone=placement.time_zone)
        control.hosted.counts_faults = not placement
        return control

    def plans(self) -> Plans[Placement, Outcome]:
        """Yield the placement of each run: the empty one twice, then the singles, then pairs."""
        yield from self._clean_runs()
        clean = self._clean
        if clean is None or not self.report.clean.is_explored:
            return
        self.report.investigation.has_baseline = True
        for placement in self._singles(clean):
            self._judge(clean, placement, (yield placement))
        if self._options.pairs:
            for placement in self._pairs(clean):
                self._judge(clean, placement, (yield placement))

    @property
    def progress(self) -> str:
        """How far it is, such as `12 of 128, 2 findings, 9 s`: placements tried, causes found, real seconds."""
        of_singles, of_pairs = self.report.coverage.singles, self.report.coverage.pairs
        planned = of_singles.placements - of_singles.merged - self.report.coverage.over_budget + self._options.pairs
        tried = f"{of_singles.tried + of_pairs.tried} of {planned}" if planned else "clean run"
        found = len(self.report.found)
        return f"{tried}, {found} finding{'' if found == 1 else 's'}, {self.report.wall_seconds:.0f} s"

    # The clean runs

    def _clean_runs(self) -> Plans[Placement, Outcome]:
        """Run the test twice without a fault: equal runs should be equal."""
        first = self._clean = self._read_clean((yield Placement()))
        self.report.clean.calls, self.report.clean.deliveries = len(first.calls), len(first.delivered)
        if first.run.raised is None:
            self._compare_clean(first, self._read_clean((yield Placement())))

    def _read_clean(self, outcome: Outcome) -> Clean:
        """Return a clean run, and report what it shows by itself."""
        is_first = self._clean is None
        hosted = outcome.control.hosted
        with hosted.sandbox.lock:
            view = Run.of(hosted.sandbox)
            clean = read_clean(self._read(Placement(), outcome), view, outcome.control.watch)
        reasons = {finding.rule: of_finding(finding) for finding in reversed(clean.run.findings)}
        raised = clean.run.raised
        if raised is not None:
            self.report.clean.failure = describe(raised, clean.run.base_url)
            message = f"the clean run failed: {self.report.clean.failure}"
            reasons["raised"] = Cause("crashed", type(raised).__name__, message)
        for cause in reasons.values() if is_first or raised is not None else ():
            self.report.found.add(cause, Placement(), outcome.control.sandbox)
        return clean

    def _compare_clean(self, first: Clean, second: Clean) -> None:
        """Note what the second clean run does otherwise, and keep what both show."""
        seen = self.report.clean
        seen.difference = first_difference(first.calls, second.calls)
        if second.run.raised is not None:
            seen.difference = seen.difference or f"the second run ended with {type(second.run.raised).__name__}"
        elif lacks_calls(first.calls, second.calls):
            seen.unexplored = f"run 2 did not make the calls of run 1: {seen.difference}"
        seen.is_repeatable = first.run.caused.is_like(second.run.caused)
        self._clean = replace(first, run=replace(first.run, is_repeatable=seen.is_repeatable))

    # Sleeps

    def _read(self, placement: Placement, outcome: Outcome) -> JudgedRun:
        """Return a run as it is judged, and note its sleeps. Lock: the caller holds the sandbox's."""
        control, raised, is_drained = outcome
        if control.in_process is not None:
            self._note_sleep(control.in_process.longest(), placement)
        of_clean = () if self._clean is None or not placement else self._clean.run.caused.calls
        return read_run(
            control.hosted,
            control.watch.ended,
            raised,
            control.in_process,
            of_clean,
            placement,
            is_drained=is_drained,
        )

    def _note_sleep(self, longest: Sleep | None, placement: Placement) -> None:
        """Keep the longest sleep of the clean runs, or if they have none of the runs with faults."""
        known = self.report.longest
        if longest is None or (known is not None and not known[1] and placement):
            return
        if known is None or longest.seconds > known[0].seconds:
            self.report.longest = longest, placement

    # Single placements

    def _singles(self, clean: Clean) -> Iterator[Placement]:
        options = self._options_of_calls()
        candidates = [
            *singles.at_calls(clean.calls, clean, options),
            *singles.at_deliveries(clean.delivered, options),
            *singles.of_choices(self.report.clean.choices_read, clean.in_force, options),
            *(singles.of_process(options) if self._is_in_process and clean.calls else ()),
        ]
        self.report.coverage.possible = {candidate.step.name for candidate in candidates if candidate.step.name}
        if options.prune:
            self._alone.merge(candidates)
        planned = singles.pruned(candidates, options.prune)
        chosen = singles.within(planned, options.runs)
        coverage = self.report.coverage
        coverage.singles = Part(placements=len(candidates), merged=len(candidates) - len(planned))
        coverage.over_budget = len(planned) - len(chosen)
        coverage.over_socket = any(call.by_socket for call in clean.calls)
        yield from chosen

    # Pairs

    def _pairs(self, clean: Clean) -> Iterator[Placement]:
        planned = pairs(self._firsts, clean, self._options_of_calls())
        self.report.coverage.pairs = Part(placements=len(planned.placements) + planned.merged, merged=planned.merged)
        yield from planned.placements[: self._options.pairs]

    def _options_of_calls(self) -> ExploreOptions:
        """Return the options; calls of a client that is not deterministic are equal to no other."""
        return self._options if self.report.clean.difference is None else replace(self._options, prune=False)

    # Judging

    def _judge(self, clean: Clean, placement: Placement, outcome: Outcome) -> None:
        """Judge a run, count it, and keep what further runs begin with."""
        hosted = outcome.control.hosted
        with hosted.sandbox.lock:
            view = Run.of(hosted.sandbox)
            run = self._read(placement, outcome)
            waiting = list(waiting_for_ever(view, outcome.control.watch.by_socket, is_strict=self._options.strict))
            self._keep(placement, outcome.control, view)
        if run.has_unseen_waits:
            self.report.unjudged.append(placement)
        tolerated = (*self._options.tolerated_types, *_own_answers())
        reasons = causes(clean.run, run, placement, tolerated)
        if not run.altered and not reasons:
            self.report.coverage.part_of(placement).not_tried.append(placement)
            return
        reasons += waiting
        verdict = self._count(placement, reasons, outcome.control.sandbox)
        hosted.counts_faults = verdict not in DEVIATES

    def _keep(self, placement: Placement, control: ControlledRun, view: Run) -> None:
        """Keep what a run shows other than its verdict."""
        if len(placement) == 1 and self._options.pairs and placement[0].is_in_pairs:
            self._firsts.append(First(placement[0], trace(view, control.watch.by_socket)))

    def _count(self, placement: Placement, reasons: list[Cause], sandbox: Sandbox) -> str:
        """Count a run with its causes, and return its verdict."""
        verdict = verdict_of(reasons)
        if len(placement) == 1:
            self._alone.keep(placement[0], reasons)
        else:
            reasons = self._alone.without(placement, reasons)
        if verdict in DEVIATES and self.report.tolerated.allows(placement, verdict):
            verdict, reasons = "reported", []
        self.report.coverage.part_of(placement).tried += 1
        self.report.verdicts[verdict] += 1
        if len(placement) == 1:
            self._count_in_matrix(placement[0], verdict)
        for cause in (each for each in reasons if each.verdict != "reported"):
            self.report.found.add(cause, placement, sandbox)
        return verdict

    def _count_in_matrix(self, step: ExploreStep, verdict: str) -> None:
        row = step.operation or step.event
        if row is not None:
            self.report.matrix.setdefault((row, step.name or ""), Counter())[verdict] += 1


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
    def subject(placement: Placement) -> Iterator[Outcome]:
        with make_sandbox() as sandbox:
            control = exploration.prepare(sandbox, placement)
            try:
                outcome = Outcome.of(control, _raised_by(function, sandbox))
            finally:
                control.stop()
            yield outcome

    try:
        with muted_logs():
            exploration.run(subject)
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(exploration.report.text())
        raise
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


def _own_answers() -> tuple[type[BaseException], ...]:
    """Return the exceptions by which a test or its client itself says how it ends: a program's status, pytest's skip and xfail."""
    outcomes = sys.modules.get("_pytest.outcomes")
    return (SystemExit,) if outcomes is None else (SystemExit, outcomes.Skipped, outcomes.XFailed)
