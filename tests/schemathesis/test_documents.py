"""
Schemathesis by its own command, with all its checks and all its phases, against both generated documents.

No failure is left but those of `EXPECTED`, each with the clause, or the page, that has the answer so.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mockserver import MockServer
from mockserver.contract.clauses import read as read_clauses
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import DEFAULT_ID
from tests.documents.reading import control, of_profile, operations
from tests.wheels import ROOT

MINUTES = 60
# Commands that take a scenario document, or the rules of one: each boundary of each of its fields would be hundreds of thousands of calls.
DOCUMENTS = ("addRules", "applyScenario", "createSandbox")


class Run(NamedTuple):
    """A run of Schemathesis: its plane, the examples of each operation, and what it leaves out."""

    plane: str
    examples: int
    options: tuple[str, ...] = ()


RUNS = {
    "the API": Run("public", 25),
    "commands": Run(
        "control",
        8,
        # A stream ends with its connection: its own tests read it.
        tuple(part for name in (*DOCUMENTS, "readStream") for part in ("--exclude-operation-id", name)),
    ),
    "commands with a document": Run(
        "control",
        20,
        ("--phases", "examples,fuzzing", *(part for name in DOCUMENTS for part in ("--include-operation-id", name))),
    ),
}
pytestmark = pytest.mark.deep


class Expected(NamedTuple):
    """
    A failure that stays: `kind` is the name that Schemathesis has for it, `operations` a pattern of `METHOD /path`.

    `source` is the clause of the API document that demands the answer, or a page for one of the control plane.
    """

    plane: str
    kind: str
    operations: str
    source: str
    why: str


# fmt: off
EXPECTED = (
    Expected("public", "UnsupportedMethodResponse", r"\w+ /v1/.*", "base.unknown-path", "another method of a path is 404 RESOURCE_NOT_FOUND"),
    Expected("public", "AllowHeaderMismatch", r"OPTIONS /v1/.*", "base.unknown-path", "a literal path is also one of {id}, whose methods Allow names too"),
    Expected("public", "RejectedPositiveData", "POST /v1/campaigns", "campaigns.name", "a name that is taken is refused with 400"),
    Expected("public", "RejectedPositiveData", "POST /v1/campaigns/{id}/(start|cancel)", "start.not-draft", "a state that does not permit it is refused with 422"),
    Expected("public", "RejectedPositiveData", "GET /v1/messaging/chats/{chatId}", "messages.list", "a cursor that no page has returned is refused"),
    Expected("public", "RejectedPositiveData", "POST /v1/messaging/media", "media.format", "content that is not of its type is refused"),
    Expected("public", "RejectedPositiveData", "POST /v1/campaigns/audience-preview", "filters.invalid", "lists that are short enough one by one may together be beyond json-body-bounds"),
    Expected("control", "RejectedPositiveData", "POST /_mock/journal/verify", "docs/control-plane.md", "atLeast is at most atMost, and times excludes both"),
    Expected("control", "RejectedPositiveData", "PUT /_mock/clock|POST /_mock/clock/advance", "docs/time.md", "an instant before now is refused: time only moves forward"),
    Expected("control", "RejectedPositiveData", "PATCH /_mock/choices", "docs/control-plane.md", "a period is a duration above 0, which a pattern cannot express"),
    Expected("control", "RejectedPositiveData", "POST /_mock/webhooks", "docs/control-plane.md", "an endpoint is of this machine, or of a host that the server allows"),
    Expected("control", "RejectedPositiveData", "GET /_mock/journal", "docs/control-plane.md", "limit and last exclude each other, which parameters cannot express"),
    Expected("control", "RejectedPositiveData", "DELETE /_mock/sandboxes/{id}", "docs/control-plane.md", "name and failure need failed=true, which parameters cannot express"),
    Expected("control", "RejectedPositiveData", "POST /_mock/(scenarios|sandboxes|rules)", "docs/scenarios.md", "a rule has one of on, at and after, records that name another one need it, and library scenarios have names"),
)
# fmt: on


@pytest.mark.parametrize("of", RUNS)
def test_no_check_fails_but_the_expected_ones(
    of: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    plane = RUNS[of].plane
    report, output = _run(RUNS[of], tmp_path / "report.json")
    cases = report["test_cases"]
    unexpected = [
        (failure["type"], operation)
        for failure in report["failures"]
        for operation in failure["operations"]
        if not any(_covers(row, plane, failure["type"], operation) for row in EXPECTED)
    ]
    figures = {"of": f"Schemathesis, all checks, {of}", "cases": cases["generated"]}
    expected = sum(failure["count"] for failure in report["failures"]) - len(unexpected)
    record_property("figures", {**figures, "expected failures": expected, "findings": len(unexpected)})

    assert [] == report["errors"], output
    assert [] == unexpected, output
    assert report["operations"]["selected"] == report["operations"]["tested"]


def _covers(row: Expected, plane: str, kind: str, operation: str) -> bool:
    return (row.plane, row.kind) == (plane, kind) and re.fullmatch(row.operations, operation) is not None


def _run(run: Run, report: Path) -> tuple[dict[str, Any], str]:
    """Run Schemathesis against a default sandbox, which no command closes; return its report and what it printed."""
    with MockServer() as server:
        hosted = server._host.create(SandboxConfig("demo", clock={"freeze": "2026-03-01T12:00:00Z"}), id=DEFAULT_ID)
        key = ["--header", f"X-API-Key: {hosted.tenant.secret_key}"] if run.plane == "public" else []
        done = subprocess.run(
            [
                sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/_mock/openapi.json?plane={run.plane}",
                *key, "--url", server.url, "--checks", "all", "--max-examples", str(run.examples), "--seed", "1",
                "--suppress-health-check", "too_slow",  # the pace of the machine
                "--request-timeout", str(MINUTES),  # in seconds: a document as YAML takes long where much else runs
                "--continue-on-failure", "--generation-database", "none", "--warnings", "off", "--no-color",
                "--report", "json", "--report-json-path", str(report), *run.options,
            ],
            capture_output=True,
            encoding="utf-8",
            timeout=20 * MINUTES,
            check=False,
        )  # fmt: skip
    return json.loads(report.read_text("utf-8")), done.stdout + done.stderr


def test_an_expected_failure_names_a_clause_and_an_operation() -> None:
    clauses = {clause.id for clause in read_clauses()}
    known = {f"{row.method} {row.path}" for row in operations(of_profile("literal")).values()}
    known |= {f"{row.method} {row.path}" for row in operations(control()).values()}
    for row in EXPECTED:
        assert row.source in clauses if row.plane == "public" else (ROOT / row.source).is_file(), row
        assert row.kind in ("UnsupportedMethodResponse", "AllowHeaderMismatch") or any(
            re.fullmatch(row.operations, operation) for operation in known
        ), row
