"""The report of one exploration: its findings, as JSON, as text, and as the decision whether the test fails."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from mockserver._json import JSON
from mockserver.contract.text import counted, printable
from mockserver.testing.runs.faults import waits
from mockserver.testing.runs.faults.clean import CleanRun
from mockserver.testing.runs.faults.effects import DIFFERS
from mockserver.testing.runs.faults.options import ANY, ExploreOptions
from mockserver.testing.runs.faults.placements import ExploreStep, Placement
from mockserver.testing.runs.faults.singles import Candidate
from mockserver.testing.runs.faults.tables import FAULTS, ORDER, VERDICTS, variant_of
from mockserver.testing.runs.faults.verdicts import MEANINGS, NO_TIMEOUT
from mockserver.testing.runs.findings import CURE, Cause, Part, ReportOfFindings, RunFinding, add_case, document_name
from mockserver.testing.sandbox import Sandbox
from mockserver.version import REPORT_VERSION

_PLACEMENT = "one thing that goes wrong at one place, such as a lost answer at call 2"
Matrix = dict[tuple[str, str], Counter[str]]  # of an operation or event and a fault, by verdict
_SHOWN = 3  # placements of a finding in the text
_SLOW = ", ".join(row.name for row in FAULTS.values() if row.needs_time)
_FRESH_STATE = "keep what decides its calls in the sandbox, or in a fixture of function scope that each run makes anew"


@dataclass
class ExploreFinding(RunFinding):
    """
    The cases of one cause.

    Attributes:
        verdict: `silent`, `breach`, `crashed`, or `advice` for a finding of the least severity, which does not fail the test.
        cause: A rule on conduct, a list of the ledger, `differs`, `endless`, or an exception's name.
        message: One sentence on the smallest case.
        clause: The clause that the client breaks, None if no rule names one.
        advice: What the client has to do instead; empty if no rule has it.
        shown: The records and calls that show it in the smallest case, as lines.
        count: The number of placements with this cause.
        placements: These placements, the smallest first.
        document: The scenario document that replays the smallest case.
        path: Where the document was written; None if it was not.
    """

    placements: list[Placement] = field(default_factory=list)

    @property
    def lines(self) -> list[str]:
        """The lines of Python that cause the smallest case, to paste into a test before the client's first call."""
        return self.placements[0].lines

    @property
    def rules(self) -> JSON:
        """The smallest case as a scenario document, to send to `POST /_mock/scenarios` before the client's first call."""
        smallest = self.placements[0]
        return {**({"choices": smallest.choices} if smallest.choices else {}), "script": smallest.script}

    def as_json(self) -> JSON:
        """Return the finding as JSON; `document` is the path of the written document, else None."""
        return {
            "verdict": self.verdict,
            "cause": self.cause,
            "message": self.message,
            "placements": [placement.as_json() for placement in self.placements],
            "count": self.count,
            "lines": self.lines,
            "rules": self.rules,
            "document": self.path,
            "clause": self.clause,
            "advice": self.advice,
            "shown": list(self.shown),
        }


class EffectsAlone:
    """What each fault and act has caused alone: for that no pair with it is blamed."""

    def __init__(self) -> None:
        self._effects: dict[ExploreStep, set[Any]] = {}
        self._equal: dict[ExploreStep, ExploreStep] = {}

    def merge(self, candidates: Iterable[Candidate]) -> None:
        """Let candidates with one key have the effects of the first of them, which is the one that is tried."""
        tried: dict[Any, ExploreStep] = {}
        for candidate in candidates:
            self._equal[candidate.step] = tried.setdefault(candidate.key, candidate.step)

    def keep(self, step: ExploreStep, reasons: Iterable[Cause]) -> None:
        """Keep what a step alone has caused."""
        self._effects[step] = set(map(_effect, reasons))

    def without(self, placement: Placement, reasons: Sequence[Cause]) -> list[Cause]:
        """Return the causes that no step of a pair has alone."""
        known = set[Any]().union(*(self._effects.get(self._equal.get(step, step), ()) for step in placement))
        return [cause for cause in reasons if _effect(cause) not in known]


def _effect(cause: Cause) -> Any:
    return cause.verdict, cause.name, cause.message if cause.name == DIFFERS else cause.effect


def document(sandbox: Sandbox, placement: Placement, name: str, summary: str) -> JSON:
    """
    Return the scenario document that replays a placement for a test that makes the same calls.

    Args:
        sandbox: The sandbox of the run: its seed, clock, choices and seed data are the document's.
        placement: Where the run had its faults.
        name: The scenario's name.
        summary: One sentence.
    """
    replayed = sandbox.log.replay_document(name)
    parts: JSON = {key: replayed[key] for key in ("scenario", "seed", "clock") if key in replayed}
    parts["summary"] = summary
    choices = {**replayed.get("choices", {}), **placement.choices}
    given = _seed_data(replayed)
    script = [*replayed.get("script", []), *placement.script]
    optional = {"choices": choices, "given": given, "script": script}
    return {**parts, **{key: value for key, value in optional.items() if value}}


def _seed_data(replayed: Mapping[str, Any]) -> JSON:
    """Return the seed data of the scenario and of the sandbox's settings, which a replay adds by a first command."""
    given = dict(replayed.get("given", {}))
    first: JSON = next(iter(replayed.get("calls", ())), {})
    if first.get("do") != "apply_scenario" or "given" not in replayed:
        return given
    for kind, entries in first["with"].get("given", {}).items():
        given[kind] = (
            [*given[kind], *entries] if isinstance(given.get(kind), list) and isinstance(entries, list) else entries
        )
    return given


@dataclass
class TriedPlacements:
    """What was tried, and what was not."""

    singles: Part = field(default_factory=Part)
    pairs: Part = field(default_factory=Part)
    over_budget: int = 0  # single placements beyond the budget of runs

    def part_of(self, placement: Placement) -> Part:
        """Return the part that counts a placement."""
        return self.pairs if len(placement) > 1 else self.singles


@dataclass(kw_only=True)
class ExploreReport(ReportOfFindings[ExploreFinding]):
    """
    The report of an exploration.

    Attributes:
        test: The test's name.
        options: What was to be tried.
        cure: What lets a client that sleeps in real time sleep on the sandbox's clock.
        clean: The clean run.
        coverage: What was tried, and what was not.
        verdicts: The number of placements by verdict.
        matrix: The number of single placements by operation (or event) and fault, by verdict.
        tolerated: The number of cases that each row of known cases has met.
        unjudged: The placements after whose 429 no clock moved, so that the waits there are not judged.
    """

    order: ClassVar = ORDER
    options: ExploreOptions
    cure: str = CURE
    clean: CleanRun = field(default_factory=CleanRun)
    coverage: TriedPlacements = field(default_factory=TriedPlacements)
    verdicts: Counter[str] = field(default_factory=Counter)
    matrix: Matrix = field(default_factory=dict)
    tolerated: dict[tuple[str, str, str, str], int] = field(init=False)
    unjudged: list[Placement] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tolerated = dict.fromkeys(self.options.tolerated_rows, 0)

    def count(self, placement: Placement, verdict: str) -> None:
        """Count a run with its verdict."""
        self.verdicts[verdict] += 1
        step = placement[0]
        row = step.operation or step.event
        if len(placement) == 1 and row is not None:
            self.matrix.setdefault((row, step.name or ""), Counter())[verdict] += 1

    def tolerates(self, placement: Placement, verdict: str) -> bool:
        """Return True if a row of known cases names the operation, the fault and the verdict of a placement; count it."""
        for row in self.tolerated:
            operation, fault, named, _ = row
            if named == verdict and all(
                operation in (ANY, step.operation) and fault in (ANY, step.name, variant_of(step.name or ""))
                for step in placement
            ):
                self.tolerated[row] += 1
                return True
        return False

    @property
    def failed(self) -> bool:
        """True if a clean run failed, nothing was explored, it ended early, or a finding is silent, a breach, or with `strict` a crash."""
        is_incomplete = self.ended is not None or not self.clean.is_explored
        has_no_time = self.investigation.is_out_of_time and not self.coverage.singles.tried
        failing = VERDICTS[: 3 if self.options.strict else 2]
        return is_incomplete or has_no_time or any(row.verdict in failing for row in self.findings)

    @property
    def deterministic(self) -> bool:
        """True if the clean runs made the same calls."""
        return self.clean.difference is None

    def as_json(self) -> JSON:
        """Return the document of a report file, with this test alone: `{"version": 1, "tests": [entry]}`."""
        return {"version": REPORT_VERSION, "tests": [self.entry()]}

    def entry(self) -> JSON:
        """Return the report as one entry of the member `tests` of a report file."""
        clean = {
            "calls": len(self.clean.calls),
            "choicesRead": sorted(self.clean.choices_read),
            "deliveries": len(self.clean.delivered),
        }
        matrix: JSON = {}
        for (operation, fault), counts in self.matrix.items():
            matrix.setdefault(operation, {})[fault] = _counts(counts)
        return {
            "test": self.test,
            "clean": clean,
            "deterministic": self.deterministic,
            "notes": [*self._incomplete(), *self._notes()],
            "singles": self.coverage.singles.as_json(),
            "pairs": self.coverage.pairs.as_json(),
            "runs": self.runs,
            "verdicts": _counts(self.verdicts),
            "findings": [finding.as_json() for finding in self.findings],
            "matrix": matrix,
            "seconds": round(self.seconds, 1),
        }

    def text(self, *, as_documents: bool = False, then: Iterable[str] = ()) -> str:
        """
        Return the report as text: what was covered, the findings, and what was not tried.

        The last line has the seconds, which two explorations of one test do not have in common.

        Args:
            as_documents: Show the smallest case of a finding as a scenario document instead of lines of Python.
            then: Lines to add before the last one.
        """
        took = f"{counted(self.runs, 'run')} in {self.seconds:.1f} s"
        return "\n".join(map(printable, (*self._lines(as_documents=as_documents), *then, "", took)))

    def _lines(self, *, as_documents: bool) -> Iterator[str]:
        clean = self.clean
        yield from self._incomplete()
        yield f"explored {self.test}: {counted(len(clean.calls), 'call')}, {counted(len(clean.delivered), 'delivery')}; depends on {counted(len(clean.choices_read), 'choice')}"
        yield from (f"  {line}" for line in self._notes())
        if clean.is_explored:
            yield f"  {self.coverage.singles.describe('single placement')}"
            if self.coverage.pairs.placements:
                yield f"  {self.coverage.pairs.describe('pair')}"
            yield f"  placement: {_PLACEMENT}"
            counts = ", ".join(f"{name} {self.verdicts[name]}" for name in VERDICTS)
            yield f"  placements by their worst verdict: {counts}"
            yield from (f"  {name}: {meaning}" for name, meaning in MEANINGS.items() if self.verdicts[name])
        for finding in self.findings:
            yield ""
            rules = [json.dumps(finding.rules, ensure_ascii=False)] if as_documents else finding.lines
            yield from _finding_lines(finding, rules)
        not_tried = list(self._not_tried())
        if not_tried and clean.is_explored:
            yield from ("", "not tried:")
            yield from (f"  {line}" for line in not_tried)

    def _incomplete(self) -> Iterator[str]:
        """Yield why not every placement was tried."""
        if self.ended is not None:
            yield f"ended early, {self.ended}; the report has what was found before"
        if self.investigation.is_out_of_time:
            yield f"ended after {self.options.seconds:g} seconds, before the last run"
        if self.coverage.over_budget:
            yield (
                f"{self.coverage.over_budget} single placements are beyond the budget of {self.options.runs} (`runs`): "
                "each fault is tried at the first calls of each operation"
            )

    def _notes(self) -> Iterator[str]:
        """Yield what the clean runs show about the test, what all runs show about its client, and the use of tolerated rows."""
        clean = self.clean
        if clean.failure is not None:
            yield f"the clean run failed, so nothing was explored: {clean.failure}"
        elif not clean.calls:
            yield "the clean run made no call, so nothing was explored"
        if clean.unexplored is not None:
            yield f"not explored: {clean.unexplored}"
            yield _FRESH_STATE
        elif clean.difference is not None:
            yield f"the clean runs differ: {clean.difference}; so no placement is left out as equal to another"
        if not clean.is_repeatable:
            yield "what its calls cause differs too, so no placement is silent, and no list of the ledger is compared"
        patient = next((row for row in self.findings if row.cause == NO_TIMEOUT), None)
        if patient is not None:
            yield f"the client has no timeout, so that a lost answer would hold it for ever, at {counted(patient.count, 'placement')}: set one"
        if self.sleep is not None:
            yield f"{self.sleep}; let it sleep on the sandbox's clock: {self.cure}"
        if self.unjudged:
            places = f"{counted(len(self.unjudged), 'placement')}, such as {self.unjudged[0].describe()}"
            yield f"{waits.RULE} is not judged at {places}: no clock moved after the 429; let it sleep on the sandbox's clock: {self.cure}"
        for (operation, fault, verdict, reason), count in self.tolerated.items():
            met = counted(count, "case") if count else "no case: remove the row"
            yield f"tolerated {verdict} of {fault} at {operation}: {met} ({reason})"
        yield from self.unwritten

    def _not_tried(self) -> Iterator[str]:
        coverage, options = self.coverage, self.options
        if coverage.singles.left:
            yield counted(coverage.singles.left, "single placement")
        if options.pairs == 0:
            yield "pairs of faults (`pairs` is 0)"
        elif coverage.pairs.left:
            yield counted(coverage.pairs.left, "pair")
        unaltered = [*coverage.singles.not_tried, *coverage.pairs.not_tried]
        if unaltered:
            yield f"{counted(len(unaltered), 'placement')} that changed nothing, such as {unaltered[0].describe()}"
        if any(call.by_socket for call in self.clean.calls):
            yield f"{_SLOW} at calls over a socket, where they would take real time: whether the client has a timeout is not known"
        if not self.clean.delivered:
            yield "faults of deliveries: the clean run delivered no event"


def add_placement(report: ExploreReport, cause: Cause, placement: Placement, sandbox: Sandbox) -> None:
    """
    Add a placement to the finding of a cause.

    Args:
        report: That of the exploration.
        cause: Why the run has its verdict.
        placement: Where the run had its faults.
        sandbox: The sandbox of the run, for the document.
    """
    row, is_smallest = add_case(report.by_cause, ExploreFinding, cause, (len(placement),))
    row.placements.insert(0 if is_smallest else len(row.placements), placement)
    if is_smallest:
        name, summary = document_name(report.test, cause), f"{cause.name}: {cause.message}"
        row.document = document(sandbox, placement, name, summary)


def _counts(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: counts.get(name, 0) for name in reversed(VERDICTS)}


def _finding_lines(finding: ExploreFinding, rules: Sequence[str]) -> Iterator[str]:
    is_of_clean = not finding.placements[0]
    yield from finding.lines_of("in the clean run" if is_of_clean else f"at {counted(finding.count, 'placement')}")
    if not is_of_clean:
        yield from (f"  {placement.describe()}" for placement in finding.placements[:_SHOWN])
        if finding.count > _SHOWN:
            yield f"  and {finding.count - _SHOWN} more"
        yield from (f"  > {line}" for line in rules)
    if finding.path is not None:
        yield f"  the whole as a scenario: {finding.path}"
