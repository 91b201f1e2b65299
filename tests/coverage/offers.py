"""
The library played by careful clients, and what each scenario covers there: `mockreport/run/scenarios.json`.

    python -m tests.coverage.offers

The tests of `tests/scenario` play every scenario of the library. What a sandbox covers counts for its scenario if no
naive client was in it and the test changed nothing of it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from mockserver.core.run import Run
from mockserver.core.state.journal import CommandRecord
from mockserver.judge.client.judge import chances, judge
from mockserver.judge.client.rules import RULES
from mockserver.judge.coverage.coverage import Coverage
from mockserver.judge.coverage.dimensions import DIMENSIONS, Dimension
from mockserver.server.hosting.host import HostedSandbox, SandboxHost
from mockserver.trace.of_sandbox import trace_of
from tests.scenario.scenario_runs import ScenarioRun
from tests.wheels import ROOT

FILE = ROOT / "mockserver" / "report" / "scenarios.json"
PLAYED = sorted((ROOT / "tests" / "scenario").glob("test_*_played.py"))
PLAIN = ("happy-campaign", "connect-standard")  # offered first: nothing goes wrong in them
Offers = dict[Dimension, dict[str, str]]


class Recorder:
    """A plugin that gathers the coverage of each scenario's sandboxes."""

    def __init__(self) -> None:
        self.covered: dict[str, Coverage] = {}
        self.contradictions: set[str] = set()  # rules with a finding that had no chance to fail
        self._naive: set[str] = set()

    def pytest_configure(self) -> None:
        self._patch_host()
        for method in ("naive", "only_two_hundred"):
            self._patch_stage(method)

    def _patch_host(self) -> None:
        close, create = SandboxHost.close, SandboxHost._create

        def created(host: SandboxHost, *arguments: Any) -> HostedSandbox:
            hosted = create(host, *arguments)
            hosted.cover_choices()
            return hosted

        def closed(host: SandboxHost, id: str) -> bool:
            if id in host.sandboxes:
                self._gather(host.sandboxes[id])
            return close(host, id)

        SandboxHost._create, SandboxHost.close = created, closed  # type: ignore[assignment, method-assign]

    def _patch_stage(self, method: str) -> None:
        original = getattr(ScenarioRun, method)

        def noted(run: ScenarioRun, *arguments: Any, **options: Any) -> Any:
            self._naive.add(run.sandbox.base_url)
            return original(run, *arguments, **options)

        setattr(ScenarioRun, method, noted)

    def _gather(self, hosted: HostedSandbox) -> None:
        state = hosted.sandbox.clone()
        state.choices = dict(state.choices)  # so that the judges' reads of choices do not count
        trace = trace_of(Run.of(state))
        self.contradictions |= {finding.rule for finding in judge(trace).findings} - chances(trace, RULES.keys())
        names = {*_names(hosted)}
        if len(names) != 1 or hosted.base_url in self._naive:
            return
        hosted.gather_coverage(self.covered.setdefault(names.pop() or "", Coverage()))


def _names(hosted: HostedSandbox) -> Iterator[str | None]:
    """Yield the scenarios of a sandbox, None for a change by the test itself."""
    scenario = hosted.config.scenario
    if scenario is not None:
        yield scenario if isinstance(scenario, str) else scenario.get("scenario")
    if hosted.config.choices or hosted.config.given:
        yield None
    yield from (_name(command) for command in hosted.sandbox.journal.commands if command.command in CHANGES)


CHANGES = ("apply_scenario", "choose", "set_tenant", "remove_rules")


def _name(command: CommandRecord) -> str | None:
    return command.arguments.get("name") or command.arguments.get("scenario")


def play() -> tuple[Mapping[str, Coverage], list[str]]:
    """Return what each scenario covers, by its name, and the rules with a finding that had no chance to fail."""
    recorder = Recorder()
    arguments = [
        "-q",
        "-W",
        "ignore:Module already imported",
        "-p",
        "no:randomly",
        "-p",
        "no:cacheprovider",
        *map(str, PLAYED),
    ]
    if pytest.main(arguments, plugins=[recorder]) != 0:
        raise SystemExit("the tests of the scenarios fail")
    covered = {name: coverage for name, coverage in sorted(recorder.covered.items()) if name not in ("", "demo")}
    return covered, sorted(recorder.contradictions)


def offers(covered: Mapping[str, Coverage]) -> Offers:
    """
    Return the scenario to offer for each item that one covers.

    That of the code, else a plain one, else the one that covers least, those of other codes last.
    """
    found: Offers = {}
    sizes = {name: coverage.count().covered for name, coverage in covered.items()}
    for dimension in DIMENSIONS:
        if dimension == "clauses":
            continue
        by_item: dict[str, list[str]] = {}
        for name, coverage in covered.items():
            for item in coverage.covered(dimension):
                by_item.setdefault(item, []).append(name)
        found[dimension] = {
            item: min(names, key=lambda name: (*_rank(item, name), sizes[name], name))
            for item, names in sorted(by_item.items())
        }
    return found


def _rank(item: str, scenario: str) -> tuple[bool, bool, bool]:
    is_of_code = scenario == f"error-{item.rpartition(' ')[2].lower().replace('_', '-')}"
    return not is_of_code, scenario not in PLAIN, scenario.startswith("error-")


def main() -> None:
    covered, contradictions = play()
    played = {
        name: {dimension: coverage.covered(dimension) for dimension in DIMENSIONS} for name, coverage in covered.items()
    }
    text = json.dumps(offers(covered), indent=1) + "\n"
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(
            json.dumps({"covered": played, "offers": text, "contradictions": contradictions}), encoding="utf-8"
        )
    else:
        FILE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
