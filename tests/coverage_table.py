"""
The coverage table of the suite: which rows of the project's tables a run of the tests has exercised.

    python -m tests.coverage_table                                          # the README's test line
    python -m tests.coverage_table -m "deep or law" --hypothesis-profile deep  # the deep run

Clauses and options are counted by the marks of the tests that ran, everything else by what happened in the processes
of the run: journal entries, fired rules and findings. What happens in the servers that tests start is not counted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

FOLDER = "SUITE_COVERAGE_TABLE"
ROOT = Path(__file__).resolve().parents[1]
SHOWN = 20  # of the rows that are missing
Seen = dict[str, set[str]]


def observed(seen: Seen) -> list[tuple[Any, str, Callable[..., None]]]:
    """The methods through which every exchange, fired rule and finding passes, each with what notes its arguments."""
    from mockserver.core.state.journal import Journal
    from mockserver.core.state.rule_set import RuleSet
    from mockserver.judge.check import Finding

    def exchange(journal: Any, entry: Any) -> None:
        seen["endpoints"].add(str(entry.operation))
        if entry.error is not None:
            seen["errors"].add(entry.error.code)

    def fired(rules: Any, rule: Any, into: Any = None) -> None:
        seen["effects"].update(rule.source["do"])
        seen["scenarios with rules"].add(str(rule.scenario))

    def finding(cls: Any, rule: str, *rest: Any, **named: Any) -> None:
        seen["conduct rules"].add(rule)

    return [
        (Journal, "add_exchange", exchange),
        (RuleSet, "_fire", fired),
        (RuleSet, "record_fired", fired),
        (Finding, "__new__", finding),
    ]


def _observe(owner: Any, name: str, note: Callable[..., None]) -> None:
    """Call `note` with the arguments of each call of a method, before it."""
    original = getattr(owner, name)

    def method(*args: Any, **named: Any) -> Any:
        note(*args, **named)
        return original(*args, **named)

    setattr(owner, name, method)


def rows() -> Mapping[str, set[str]]:
    """Each table of the project that tests cover, as its ids."""
    from mockserver.contract.choices import CHOICES
    from mockserver.contract.clauses import read
    from mockserver.contract.effects import EFFECTS
    from mockserver.contract.endpoints import ENDPOINTS
    from mockserver.contract.errors import ERRORS
    from mockserver.judge.client.rules import RULES
    from mockserver.scenario import library

    # A choice of numbers has no options to name, except the default.
    options = {f"{row.id}: {option}" for row in CHOICES.values() if not row.value for option in row.options}
    scenarios = {name for name in library.paths() if library.document(name).get("script")}
    return {
        "clauses": {clause.id for clause in read()},
        "options": options,
        "endpoints": set(ENDPOINTS),
        "errors": set(ERRORS),
        "effects": set(EFFECTS),
        "scenarios with rules": scenarios,
        "conduct rules": set(RULES),
    }


class Recorder:
    """A pytest plugin that writes what one process has exercised as a JSON file."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.seen: Seen = {name: set() for name in [*rows(), "tests", "laws"]}
        for owner, name, note in observed(self.seen):
            _observe(owner, name, note)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        self.seen["tests"].add(item.nodeid)
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            self.seen["laws"].add(item.nodeid.partition("[")[0])
        for mark in item.iter_markers("clause"):
            self.seen["clauses"].update(mark.args)
        for mark in item.iter_markers("option"):
            self.seen["options"].add(": ".join(mark.args))

    def pytest_unconfigure(self) -> None:
        found = {name: sorted(ids) for name, ids in self.seen.items()}
        Path(self.folder, f"{os.getpid()}.json").write_text(json.dumps(found), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    if FOLDER in os.environ:
        config.pluginmanager.register(Recorder(os.environ[FOLDER]))


def table(folder: Path) -> str:
    """The table as Markdown, from the files that the processes of a run wrote."""
    runs = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.json"))]
    seen = {name: {each for run in runs for each in run[name]} for name in runs[0]}
    lines = ["| What | Exercised | Of | Missing |", "|---|---|---|---|"]
    for name, ids in rows().items():
        missing = sorted(ids - seen[name])
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        lines.append(f"| {name} | {len(ids & seen[name])} | {len(ids)} | {', '.join(missing[:SHOWN])}{more} |")
    lines += [f"| {name} | {len(seen[name])} | | |" for name in ("laws", "tests")]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "tests.coverage_table", *arguments]
        # The exit code is the run's own.
        run = subprocess.run(command, cwd=ROOT, env=os.environ | {FOLDER: folder}, stdout=sys.stderr, check=False)
        print(table(Path(folder)))
    return run.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
