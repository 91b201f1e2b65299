"""
What a tree finds of clients and recordings, as files. Run by `tests.served` with the tree's package, and with its own corpus.

    python -P tests/served/findings.py FOLDER

The clients of the tree's corpus run alone and with a lost answer or a limited call; twenty of their tests are explored, ten
pairs of them interleaved. Recordings are those of the tree and the HAR of each client's run. Reports are those of a suite of
failing tests, with the files that it leaves.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mockserver import MockServer, Sandbox
from mockserver.cli import main as command
from tests.runs.faults import working_day
from tests.runs.orders import pairs

EXPLORATIONS, INTERLEAVINGS = 20, 10
FAILING = Path(__file__).with_name("failing_tests.py")
NOON = "2026-03-01T12:00:00Z"
# What happens to a client in addition to its ordinary run.
SCRIPTS: Mapping[str, Callable[[Sandbox], Any]] = MappingProxyType(
    {
        "nothing": lambda sandbox: None,
        "lost create": lambda sandbox: sandbox.on("createCampaign").nth(1).drop("after"),
        "lost start": lambda sandbox: sandbox.on("startCampaign").nth(1).drop("after"),
        "limited read": lambda sandbox: sandbox.on("readCampaign").nth(1).error("RATE_LIMIT_EXCEEDED"),
    }
)
CAREFUL: Mapping[str, Callable[[Sandbox], Any]] = MappingProxyType(
    {
        name: getattr(working_day, name)
        for name in (
            "launching",
            "bursting",
            "canceling",
            "naming",
            "reading",
            "connecting",
            "working_day",
            "receiving",
        )
    }
)
REAL_TIMES = re.compile(r'\bin \d+\.\d+s\b|\b\d+(\.\d+)? ms\b|(?<= runs in )\d+\.\d s|("durationMs": ?)\d+(\.\d+)?')
# Ports, addresses of objects, and folders before a module of the tree.
OF_THIS_RUN = re.compile(r"(?<=127\.0\.0\.1:)\d+|0x[0-9a-f]{6,}|[\w./-]+/(?=mockserver/\w+/)")


class Folder:
    """A folder of files without real times, ports and addresses of objects."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, name: str, text: str) -> None:
        file = self._path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(OF_THIS_RUN.sub("…", REAL_TIMES.sub("(real time)", text)), encoding="utf-8")


def as_text(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def corpus() -> Iterator[tuple[str, Callable[[Sandbox], Any]]]:
    """Yield the ordinary test of each careful client and of each one with a bug, by name."""
    yield from CAREFUL.items()
    for bug in working_day.BUGS:
        yield bug, working_day.ordinary_test(bug)


def judge_clients(server: MockServer, folder: Folder, recordings: Path) -> None:
    """Write the findings of each client of the corpus under each script, and its run as a HAR."""
    for name, test in corpus():
        for script, arrange in SCRIPTS.items():
            with server.sandbox(now=NOON, seed=7) as sandbox:
                arrange(sandbox)
                folder.write(f"corpus/{name}/{script}", f"{outcome(test, sandbox)}\n{sandbox.conduct}\n")
                har = recordings / f"{name}, {script}.har"
                har.write_text(json.dumps(sandbox.log.har()), encoding="utf-8")


def outcome(test: Callable[[Sandbox], Any], sandbox: Sandbox) -> str:
    """Run a test; return how it ended."""
    try:
        test(sandbox)
    except Exception as failure:  # noqa: BLE001 - any client, with any failure
        return f"{type(failure).__name__}: {failure}"
    return "passed"


def judge_recordings(folder: Folder, files: list[Path]) -> None:
    """Write what `judge` prints of each file, as lines of the findings in it."""
    for file in files:
        lines = set(judged(json.loads(run_command(["judge", "--json", str(file)]))))
        folder.write(f"recordings/{file.stem}", as_text(sorted(lines)))


def judged(value: Any) -> Iterator[str]:
    """Yield a line for each verdict of a clause, finding on the client, and choice, wherever the value has it."""
    if isinstance(value, dict):
        if {"id", "verdict", "exchanges"} <= set(value):
            yield f"clause {value['id']}: {value['verdict']}, {as_text(value['contradictions'])}"
        if {"rule", "message", "exchanges"} <= set(value):
            yield f"rule {value['rule']}: {value['message']}, {value['exchanges']}"
        if {"choice", "options"} <= set(value):
            yield f"choice {value['choice']}: {value['options']}"
        for member in value.values():
            yield from judged(member)
    elif isinstance(value, list):
        for member in value:
            yield from judged(member)


def run_command(arguments: list[str]) -> str:
    """Return what a command prints, whatever its exit status is."""
    printed = io.StringIO()
    with (
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(io.StringIO()),
        contextlib.suppress(SystemExit),
    ):
        command(arguments)
    return printed.getvalue()


def explore(server: MockServer, folder: Folder) -> None:
    for bug in islice(working_day.ORDINARY, EXPLORATIONS):
        report = server.explore(working_day.ordinary_test(bug), test=bug, choices=(), seconds=600)
        findings = [
            [finding.verdict, finding.cause, finding.message, finding.count, finding.lines]
            for finding in report.findings
        ]
        folder.write(f"explorations/{bug}", f"{report.text()}\n{as_text(findings)}\n")


def interleave(server: MockServer, folder: Folder) -> None:
    named = {f"race {name}": pair for name, pair in pairs.RACES.items()}
    named |= {f"careful {name}": pair for name, pair in pairs.CAREFUL.items()}
    for name, pair in islice(named.items(), INTERLEAVINGS):
        report = interleaved(server, pair)
        findings = [[finding.verdict, finding.cause, finding.message, finding.schedule] for finding in report.findings]
        folder.write(f"interleavings/{name}", f"{report.text()}\n{as_text(findings)}\n")


def interleaved(server: MockServer, pair: pairs.Pair) -> Any:
    """Interleave a pair, whose clients share what each run makes anew."""
    present: dict[str, Callable[[Sandbox], Any]] = {}

    def client(name: str) -> Callable[[Sandbox], Any]:
        return lambda sandbox: present[name](sandbox)

    return server.interleave(
        setup=lambda _: present.update(pair.make()),
        clients={name: client(name) for name in pair.make()},
        settings={"given": pair.given},
        tolerates=pair.tolerates,
        bound=1,
    )


def fail(folder: Folder) -> None:
    """Write the reports of the failing tests, and the files that they leave."""
    with tempfile.TemporaryDirectory() as name:
        suite = Path(name)
        (suite / "test_failing.py").write_text(FAILING.read_text(encoding="utf-8"), encoding="utf-8")
        (suite / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        options = ("--mockserver-now", NOON, "--mockserver-failures-dir", "left")
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "--tb=short", "-p", "mockserver.pytest_plugin", *options],
            check=False,
            cwd=suite,
            env={**os.environ, "COLUMNS": "120", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
        folder.write("failing/printed", done.stdout.replace(str(suite), "SUITE") + done.stderr)
        for file in sorted((suite / "left").rglob("*.*")):
            folder.write(f"failing/{file.relative_to(suite)}", file.read_text(encoding="utf-8"))


def main() -> None:
    tree, folder = Path.cwd(), Folder(Path(sys.argv[1]))
    with tempfile.TemporaryDirectory() as name, MockServer() as server:
        recordings = Path(name)
        judge_clients(server, folder, recordings)
        judge_recordings(folder, [*sorted((tree / "tests").rglob("*.har")), *sorted(recordings.glob("*.har"))])
        explore(server, folder)
        interleave(server, folder)
    fail(folder)


if __name__ == "__main__":
    main()
