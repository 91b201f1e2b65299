"""
One exploration: it names the placement of the next run, prepares its sandbox, and judges the run.

The clean run is first, twice. Single placements follow, in the order of its calls, then pairs within their budget.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from mockserver.core.instants import Duration
from mockserver.core.run import Run
from mockserver.testing.runs.bounds import CLEAN, NEED, Used, Watch, bounds_beyond, drain
from mockserver.testing.runs.faults import singles, waits
from mockserver.testing.runs.faults.findings import EffectsAlone, Findings
from mockserver.testing.runs.faults.options import ExploreOptions
from mockserver.testing.runs.faults.pairs import First, pairs
from mockserver.testing.runs.faults.placements import ExploreStep, Placement
from mockserver.testing.runs.faults.report import CURE, CleanRun, ExploreReport, Tolerated, TriedPlacements
from mockserver.testing.runs.faults.singles import Delivered, Surroundings
from mockserver.testing.runs.faults.verdicts import (
    JudgedRun,
    causes,
    describe,
    has_waited,
    of_finding,
    read_run,
    verdict_of,
    waiting_for_ever,
)
from mockserver.testing.runs.faults.waits import Bursts
from mockserver.testing.runs.findings import Cause
from mockserver.testing.runs.in_process import RunInProcess, Sleep
from mockserver.testing.runs.traced_calls import TracedCall, first_difference, lacks_calls, trace
from mockserver.testing.sandbox import Sandbox
from mockserver.trace.of_sandbox import trace_of

Explored = Callable[[Sandbox], Any]

# In tuples: freezegun replaces attributes of modules.
_PROCESS_TIME, _REAL_TIME = (time.process_time,), (time.monotonic,)
_FOLLOWED = "the names time.sleep, asyncio.sleep and threading.Event.wait"
_DEVIATES = ("silent", "breach", "crashed")


@dataclass(frozen=True, slots=True)
class _Clean:
    """The clean run, as the other runs are compared with it."""

    run: JudgedRun
    calls: Sequence[TracedCall]
    delivered: Sequence[Delivered]
    around: Surroundings
    used: Used
    in_force: dict[str, object]
    waits: Sequence[Duration] | None
    bursts: Bursts
    real_wait: str | None


class _Repeated(NamedTuple):
    """The run that is made once more, to see whether equal runs are equal."""

    placement: Placement
    calls: Sequence[TracedCall]
    waits: Sequence[Duration] | None


class Exploration:
    """
    Finds the placements of one test and judges its runs.

    For each placement of `placements()` the caller makes a fresh sandbox, calls `prepare`, runs the test, and calls `record`
    before it asks for the next.

    Lifetime: one test.

    Args:
        options: What to try.
        test: The test's name in the report.
        cure: What lets a client that sleeps in real time sleep on the sandbox's clock.
        in_process: The test runs in this process, where its sleeps and its random numbers can be seen.
    """

    def __init__(self, options: ExploreOptions, *, test: str, cure: str = CURE, in_process: bool = True) -> None:
        self._options, self._test, self._cure = options, test, cure
        self._began, self._began_at = _PROCESS_TIME[0](), _REAL_TIME[0]()
        self._clean: _Clean | None = None
        self._difference: str | None = None
        self._failed_clean: str | None = None
        self._unexplored: str | None = None
        self._ended: str | None = None
        self._choices_read: set[str] = set()
        self._findings = Findings(test)
        self._alone = EffectsAlone()
        self._tolerated = Tolerated(options.tolerated_rows)
        self._coverage = TriedPlacements()
        self._verdicts: Counter[str] = Counter()
        self._matrix: dict[tuple[str, str], Counter[str]] = {}
        self._left_behind: dict[str, list[Placement]] = {}
        self._firsts: list[First] = []
        self._watch: Watch | None = None
        self._unjudged: dict[str, list[Placement]] = {}
        self._is_in_process = in_process
        self._in_process: RunInProcess | None = None  # of the current run
        self._longest: tuple[Sleep, Placement] | None = None  # of the first run that sleeps, and of longer ones
        self._unequal: str | None = None
        self._repeated: _Repeated | None = None
        self._is_repeating = False
        self._runs = 0

    def placements(self) -> Iterator[Placement]:
        """Yield the placement of each run: the empty one twice, then the singles, then pairs."""
        for _ in range(2):
            if self._failed_clean is None:
                yield Placement()
        clean = self._clean
        if clean is None or self._failed_clean is not None or self._unexplored is not None:
            return
        yield from self._singles(clean)
        if self._repeated is not None and not self._is_over():
            self._is_repeating = True
            yield self._repeated.placement
            self._is_repeating = False
        if self._options.pairs and not self._is_over():
            yield from self._pairs(clean)

    def prepare(self, sandbox: Sandbox, placement: Placement) -> None:
        """
        Put the rules, choices and bounds of a run in force, before the test's own code runs.

        Args:
            sandbox: A fresh sandbox of this process.
            placement: Where the run has its faults.
        """
        sandbox.local(NEED).counts_faults = not placement
        if not placement:
            sandbox.log.watch_choices(self._choices_read)
        if placement.choices:
            sandbox.choose(placement.choices)
        if placement.script:
            sandbox.apply(script=placement.script)
        bounds = CLEAN if self._clean is None or not placement else bounds_beyond(self._clean.used)
        self._watch = Watch(sandbox.local(NEED), bounds)
        if self._is_in_process:
            self._in_process = RunInProcess(sandbox)
            self._in_process.start(placement.time_zone)

    def stop(self) -> None:
        """End a run that is not recorded, or has been: what its process shares with other code is as it was before."""
        if self._in_process is not None:
            self._in_process.stop()

    def record(self, placement: Placement, sandbox: Sandbox, raised: BaseException | None) -> None:
        """
        Judge a run.

        Args:
            placement: Where the run had its faults.
            sandbox: Its sandbox, as the test left it.
            raised: The exception with which the test ended; None if it passed.
        """
        watch, hosted = self._watch, sandbox.local(NEED)
        assert watch is not None, "record() needs a prepared sandbox"
        if isinstance(raised, SystemExit) and not raised.code:
            raised = None  # the program has ended in order
        is_drained = raised is None and self._is_in_process and drain(hosted)
        watch.stop()
        self.stop()
        self._runs += 1
        with hosted.sandbox.lock:
            view = Run.of(hosted.sandbox)
            run = self._read(placement, sandbox, watch, raised, is_drained=is_drained)
            if self._is_repeating:
                first = self._repeated
                assert first is not None, "a run is repeated only if there is one to repeat"
                other = first_difference(first.calls, trace(view)) or waits.first_other_wait(
                    first.waits, waits.before_calls(view)
                )
                if other is not None:
                    self._unequal = self._unequal or f"two runs with {first.placement.describe()} differ: {other}"
                return
            waiting = list(waiting_for_ever(view, watch.by_socket, is_strict=self._options.strict))
            if not placement:
                self._record_clean(run, watch, view)
            else:
                self._keep(placement, sandbox, view, watch, run)
        if not placement:
            self._judge_clean(run, sandbox)
        elif self._clean is not None:
            reasons = causes(self._clean.run, run, placement, (*self._options.tolerated_types, *_own_answers()))
            if not run.altered and not reasons:
                self._coverage.part_of(placement).not_tried.append(placement)
                return
            verdict = self._judge(placement, [*reasons, *waiting], sandbox)
            hosted.counts_faults = verdict not in _DEVIATES
            if verdict == "reported" and run.left not in ("", self._clean.run.left):
                self._left_behind.setdefault(run.left, []).append(placement)

    def _read(
        self,
        placement: Placement,
        sandbox: Sandbox,
        watch: Watch,
        raised: BaseException | None,
        *,
        is_drained: bool,
    ) -> JudgedRun:
        """Return a run as it is judged, by what its and earlier runs show of the client's sleeps."""
        of_clean = {} if self._clean is None or not placement else self._clean.bursts
        run = read_run(
            sandbox.local(NEED), watch.ended, raised, self._in_process, of_clean, placement, is_drained=is_drained
        )
        self._note_sleep(placement)
        return run

    def _keep(self, placement: Placement, sandbox: Sandbox, view: Run, watch: Watch, run: JudgedRun) -> None:
        """Keep what a run with faults shows other than its verdict, and what further runs begin with."""
        if run.unjudged is not None:
            self._unjudged.setdefault(run.unjudged, []).append(placement)
        if self._repeated is None and self._waits_longer(placement, sandbox, view):
            self._repeated = _Repeated(placement, trace(view), waits.before_calls(view))
        if len(placement) == 1:
            (step,) = placement
            if step.held is not None:
                self._coverage.held = step.operation or "", has_waited(view)
            if self._options.pairs and step.is_in_pairs:
                self._firsts.append(First(step, trace(view), _by_socket(view, watch)))

    def end(self, reason: str) -> None:
        """
        End the exploration before its last run, which is not recorded; the report has what was found so far.

        Args:
            reason: Why, as the end of a sentence, such as "by Ctrl-C".
        """
        self.stop()
        self._ended = reason

    @property
    def progress(self) -> str:
        """How far it is, such as `12 of 128, 2 findings, 9 s`: placements tried, causes found, real seconds."""
        of_singles, of_pairs = self._coverage.singles, self._coverage.pairs
        planned = of_singles.placements - of_singles.merged - self._coverage.over_budget + self._options.pairs
        tried = f"clean run {min(self._runs + 1, 2)}"
        if planned:
            tried = f"{of_singles.tried + of_pairs.tried} of {planned}"
        found = len(self._findings)
        findings = "1 finding" if found == 1 else f"{found} findings"
        return f"{tried}, {findings}, {_REAL_TIME[0]() - self._began_at:.0f} s"

    def report(self) -> ExploreReport:
        """Return the report of the runs so far."""
        clean = self._clean
        seen = CleanRun(
            calls=len(clean.calls) if clean else 0,
            choices_read=sorted(self._choices_read),
            deliveries=len(clean.delivered) if clean else 0,
            difference=self._difference,
            failure=self._failed_clean,
            is_repeatable=clean.run.is_repeatable if clean else True,
            unequal=self._unequal,
            unexplored=self._unexplored,
        )
        return ExploreReport(
            test=self._test,
            options=self._options,
            clean=seen,
            coverage=self._coverage,
            runs=self._runs,
            seconds=_PROCESS_TIME[0]() - self._began,
            wall_seconds=_REAL_TIME[0]() - self._began_at,
            verdicts=self._verdicts,
            findings=self._findings.rows(),
            matrix=self._matrix,
            tolerated=self._tolerated,
            sleep=self._sleep_text(),
            cure=self._cure,
            left_behind=self._left_behind,
            unjudged=self._unjudged,
            ended=self._ended,
            of_command=not self._is_in_process,
        )

    # The clean run

    def _record_clean(self, run: JudgedRun, watch: Watch, view: Run) -> None:
        calls = trace(view)
        if self._clean is not None:
            self._difference = first_difference(self._clean.calls, calls)
            if self._difference is None and (self._clean.run.raised is None) != (run.raised is None):
                self._difference = f"the second run ended with {type(run.raised).__name__}"
            elif run.raised is None and lacks_calls(self._clean.calls, calls):
                self._unexplored = f"run 2 did not make the calls of run 1: {self._difference}"
            first = replace(self._clean.run, is_repeatable=self._clean.run.caused.is_like(run.caused))
            # A busy machine may delay one of two runs; a client that sleeps does so in both.
            both = self._clean.real_wait if waits.real_wait(view.exchanges) is not None else None
            self._clean = replace(self._clean, run=first, real_wait=both)
            other = waits.first_other_wait(self._clean.waits, waits.before_calls(view))
            self._unequal = other and f"two clean runs differ: {other}"
            return
        templates = {campaign.id: campaign.template_id for _, campaign in view.records("campaign")}
        connected = {session.entrypoint_id: session.id for _, session in view.records("session")}
        entrypoints = {row.id: connected.get(row.id) for _, row in view.records("entrypoint")}
        self._clean = _Clean(
            run=run,
            calls=calls,
            delivered=_delivered(view),
            around=Surroundings(templates, entrypoints, _by_socket(view, watch)),
            used=watch.used(),
            in_force=dict(view.choices),
            waits=waits.before_calls(view),
            bursts=waits.bursts(trace_of(view)),
            real_wait=waits.real_wait(view.exchanges),
        )

    # Sleeps, and runs that should be equal

    def _note_sleep(self, placement: Placement) -> None:
        """Keep the longest sleep of the clean runs, or if they have none of the runs with faults."""
        longest = self._in_process.longest() if self._in_process is not None else None
        known = self._longest
        if longest is None or (known is not None and not known[1] and placement):
            return
        if known is None or longest.seconds > known[0].seconds:
            self._longest = longest, placement

    def _sleep_text(self) -> str | None:
        if self._longest is not None:
            sleep, placement = self._longest
            where = f", with {placement.describe()}" if placement else ""
            return f"the test or its client sleeps in real time ({sleep}{where})"
        if self._clean is None or self._clean.real_wait is None:
            return None
        wait = f"{self._clean.real_wait}, in both clean runs"
        if self._is_in_process:
            return f"the client may sleep in real time by a function that is not followed ({wait}; followed are {_FOLLOWED})"
        return f"the client may sleep in real time ({wait})"

    def _waits_longer(self, placement: Placement, sandbox: Sandbox, view: Run) -> bool:
        """Return True for the run of one fault after which the client waits: the wait may be one that no seed decides."""
        if self._clean is None or not placement.has("fault") or sandbox.clock.sleeps == 0:
            return False
        return sum(waits.before_calls(view) or ()) > sum(self._clean.waits or ())

    def _judge_clean(self, run: JudgedRun, sandbox: Sandbox) -> None:
        """Report what the clean run shows by itself; without a clean run that passes nothing can be compared."""
        is_first = self._runs == 1
        if run.raised is not None:
            self._failed_clean = describe(run.raised, run.base_url)
        if not is_first and run.raised is None:
            return
        reasons = {finding.rule: of_finding(finding) for finding in reversed(run.findings)}
        if run.raised is not None:
            reasons["raised"] = Cause(
                "crashed", type(run.raised).__name__, f"the clean run failed: {self._failed_clean}"
            )
        for cause in reasons.values():
            self._findings.add(cause, Placement(), sandbox)

    # Single placements

    def _singles(self, clean: _Clean) -> Iterator[Placement]:
        options = self._options_of_calls()
        candidates = [
            *singles.at_calls(clean.calls, clean.around, options),
            *singles.at_deliveries(clean.delivered, options),
            *singles.of_choices(self._choices_read, clean.in_force, options),
            *(singles.of_process(options) if self._is_in_process and clean.calls else ()),
        ]
        self._coverage.possible = {candidate.step.name for candidate in candidates if candidate.step.name}
        if options.prune:
            self._alone.merge(candidates)
        planned, merged = singles.pruned(candidates, options.prune)
        singles_coverage = self._coverage.singles
        singles_coverage.placements, singles_coverage.merged = len(planned) + merged, merged
        self._coverage.over_socket = bool(clean.around.by_socket)
        chosen = singles.within(planned, options.runs)
        self._coverage.over_budget = len(planned) - len(chosen)
        for placement in chosen:
            if self._is_over():
                return
            yield self._counted(placement)

    # Pairs

    def _pairs(self, clean: _Clean) -> Iterator[Placement]:
        planned = pairs(self._firsts, clean.calls, clean.around, self._options_of_calls())
        coverage = self._coverage.pairs
        coverage.placements = len(planned.placements) + planned.merged
        coverage.merged = planned.merged
        self._coverage.has_planned_pairs = True
        for placement in planned.placements[: self._options.pairs]:
            if self._is_over():
                return
            yield self._counted(placement)

    def _options_of_calls(self) -> ExploreOptions:
        """Return the options; calls of a client that is not deterministic are equal to no other."""
        return self._options if self._difference is None else replace(self._options, prune=False)

    def _counted(self, placement: Placement) -> Placement:
        """Return the placement; for a client that is not deterministic, with calls counted among those of their operations."""
        return placement if self._difference is None else Placement(replace(step, call=step.nth) for step in placement)

    # Judging

    def _judge(self, placement: Placement, reasons: list[Cause], sandbox: Sandbox) -> str:
        """Count a run with its causes, and return its verdict."""
        verdict = verdict_of(reasons)
        if len(placement) == 1:
            self._alone.keep(placement[0], reasons)
        else:
            reasons = self._alone.without(placement, reasons)
        if verdict in _DEVIATES and self._tolerated.allows(placement, verdict):
            verdict, reasons = "reported", []
        self._coverage.part_of(placement).tried += 1
        self._verdicts[verdict] += 1
        if len(placement) == 1:
            self._count_in_matrix(placement[0], verdict)
        for cause in (each for each in reasons if each.verdict != "reported"):
            self._findings.add(cause, placement, sandbox)
        return verdict

    def _count_in_matrix(self, step: ExploreStep, verdict: str) -> None:
        row = step.operation or step.event
        if row is not None:
            self._matrix.setdefault((row, step.name or ""), Counter())[verdict] += 1

    def _is_over(self) -> bool:
        limit = self._options.seconds
        self._coverage.out_of_time = limit is not None and _PROCESS_TIME[0]() - self._began >= limit
        return self._coverage.out_of_time


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
    """
    exploration = Exploration(options, test=test)
    for placement in exploration.placements():
        with make_sandbox() as sandbox:
            exploration.prepare(sandbox, placement)
            sandbox.is_repeated = True
            raised: BaseException | None = None
            try:
                result = function(sandbox)
                if inspect.iscoroutine(result):
                    asyncio.run(result)
            except KeyboardInterrupt as interrupt:
                exploration.end("by Ctrl-C")
                interrupt.add_note(exploration.report().text())
                raise
            except BaseException as failure:  # noqa: BLE001 - the way in which it ends is judged
                raised = failure
            exploration.record(placement, sandbox, raised)
    return exploration.report()


def _own_answers() -> tuple[type[BaseException], ...]:
    """Return the exceptions by which a test or its client itself says how it ends: a program's status, pytest's skip and xfail."""
    outcomes = sys.modules.get("_pytest.outcomes")
    return (SystemExit,) if outcomes is None else (SystemExit, outcomes.Skipped, outcomes.XFailed)


def _delivered(run: Run) -> list[Delivered]:
    """Return the attempts to deliver that had no fault and were answered, in the order in which rules count them."""
    attempts = []
    for delivery in run.deliveries.values():
        row = delivery.seq, delivery.event.kind, delivery.webhook_id
        genuine = [attempt for attempt in delivery.attempts if attempt.fault is None]
        attempts += [(attempt.at, *row, attempt.status is not None) for attempt in genuine]
    numbered = enumerate(sorted(attempts), start=1)
    return [Delivered(n, kind, endpoint) for n, (_, _, kind, endpoint, is_answered) in numbered if is_answered]


def _by_socket(run: Run, watch: Watch) -> frozenset[int]:
    """Return the numbers of the calls of operations that a socket carried."""
    numbers = [exchange.n for exchange in run.exchanges if exchange.operation]
    return frozenset(place for place, n in enumerate(numbers, start=1) if n in watch.by_socket)
