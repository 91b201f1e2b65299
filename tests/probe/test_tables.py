"""The tables of `probe`: the probes, and what they import."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import mockserver.probe
from mockserver import MockServer
from mockserver.probe.probes import PROBES
from tests.probe.worlds import run, world

ROOM = Path(mockserver.probe.__file__).parent
# A run provokes no failure, waits for no end, uploads no file and sends no message.
NOT_MET = frozenset(
    (
        "auth.subscription",
        "base.internal",
        "base.rate-limit",
        "base.tenant-scope",
        "events.connected",
        "events.failed",
        "events.once",
        "events.session-id",
        "media.upload",
        "session.completed",
        "session.expired",
        "session.failed",
        "start.already",
    )
)


def test_the_names_of_probes_are_distinct() -> None:
    assert len({probe.name for probe in PROBES}) == len(PROBES)


def test_a_full_run_meets_every_clause_that_a_recording_of_a_correct_service_shows(
    mockserver_server: MockServer,
) -> None:
    with world(mockserver_server) as sandbox:
        probed = run(sandbox)

    assert NOT_MET == {clause.id for clause in probed.report.service.clauses if clause.why.startswith("not met")}


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)


def test_the_package_imports_the_contract_and_nothing_else_of_the_mock() -> None:
    imports = [(file.name, *name.split(".")[:2]) for file in sorted(ROOM.rglob("*.py")) for name in imported(file)]

    own = [each for each in imports if each[1] == "mockserver" and len(each) > 2]
    assert [] == [each for each in own if each[2] not in ("contract", "probe", "trace", "version", "_json")]
    assert [] == [each for each in imports if each[1] in ("flask", "werkzeug", "requests", "httpx")]
