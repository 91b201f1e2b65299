"""Findings: cases of one cause, the smallest first, with the scenario document that replays it and the lines to paste."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mockserver._json import JSON
from mockserver.testing.runs.faults.effects import DIFFERS
from mockserver.testing.runs.faults.placements import ExploreStep, Placement
from mockserver.testing.runs.faults.singles import Candidate
from mockserver.testing.runs.faults.verdicts import ADVICE, ORDER
from mockserver.testing.runs.findings import Cause, FindingsByCause, RunFinding, document_name
from mockserver.testing.sandbox import Sandbox


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
        placements: The placements with this cause, the smallest first.
        document: The scenario document that replays the smallest case.
        path: Where the document was written; None if it was not.
    """

    placements: list[Placement] = field(default_factory=list)

    @property
    def is_advice(self) -> bool:
        """True for a finding of the least severity."""
        return self.verdict == ADVICE

    @property
    def count(self) -> int:
        """The number of its placements."""
        return len(self.placements)

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


class Findings(FindingsByCause[ExploreFinding]):
    """The findings of one exploration."""

    def __init__(self, test: str) -> None:
        super().__init__(ExploreFinding, ORDER)
        self._test = test

    def add(self, cause: Cause, placement: Placement, sandbox: Sandbox) -> None:
        """
        Add a case.

        Args:
            cause: Why the run is a case.
            placement: Where the run had its faults.
            sandbox: The sandbox of the run, for the document.
        """
        row = self.of(cause)
        is_smallest = not row.placements or len(placement) < len(row.placements[0])
        row.placements.insert(0 if is_smallest else len(row.placements), placement)
        if is_smallest:
            row.message, row.shown = cause.message, cause.shown
            row.document = document(
                sandbox, placement, document_name(self._test, cause), f"{cause.name}: {cause.message}"
            )


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
