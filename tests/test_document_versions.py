"""Documents have a version: this one's is read, also without the member, and any other is refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mockserver import MockServer, Sandbox, ScenarioError, cli
from mockserver.report.recording import RecordingReport
from mockserver.testing.report import trace_page
from mockserver.trace.entries import RecordingError
from mockserver.trace.journals import replay_entries
from mockserver.trace.recorded import recorded_trace
from mockserver.version import VERSION

EXPECTED = f"expected 1, which mockserver {VERSION} reads"


def trace_file(folder: Path, version: str) -> Path:
    """A trace of an empty run, as far as it is read."""
    file = folder / "trace.html"
    data = {"trace": f'{{{version}"calls": [0]}}', "replay": "{}"}
    scripts = (f'<script type="application/json" id="{id}">{text}</script>' for id, text in data.items())
    file.write_text("".join(scripts), encoding="utf-8")
    return file


def list_campaigns(sandbox: Sandbox) -> None:
    sandbox.call("GET", "/v1/campaigns")


def test_a_scenario_of_this_version_is_applied(mockserver: Sandbox) -> None:
    mockserver.apply({"version": 1, "given": {"templates": [{"id": "template_hello"}]}})

    assert 200 == mockserver.call("GET", "/v1/message-templates/template_hello").status


@pytest.mark.parametrize("version", [0, 2, True, None])
def test_a_scenario_of_another_version_is_refused_for_its_version_alone(mockserver: Sandbox, version: Any) -> None:
    with pytest.raises(ScenarioError) as refusal:
        mockserver.apply({"version": version, "newMember": {}, "given": {"robots": []}})

    found = json.dumps(version)
    assert [f"/version: got {found}; {EXPECTED}"] == [str(problem) for problem in refusal.value.problems]


def test_a_replay_document_has_its_version_and_is_read_again(
    mockserver: Sandbox, mockserver_server: MockServer
) -> None:
    list_campaigns(mockserver)
    document = mockserver.log.replay_document()

    assert 1 == document["version"]
    assert mockserver_server.sandbox(document).secret_key


def test_a_replay_document_of_another_version_is_no_recording() -> None:
    with pytest.raises(RecordingError) as refusal:
        list(replay_entries({"version": 2, "calls": []}, Path("run.json")))

    assert f"run.json: got version 2 of a replay document; {EXPECTED}" == str(refusal.value)


@pytest.mark.parametrize("version", ["", '"version": 1, '])
def test_a_trace_of_this_version_is_read(tmp_path: Path, version: str) -> None:
    assert ({}, []) == trace_page.read_trace(trace_file(tmp_path, version).read_text(encoding="utf-8"))


def test_a_trace_of_another_version_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = trace_file(tmp_path, '"version": 2, ')

    assert 2 == cli.main(["open", str(file), "--port", "0"])
    assert f"mockserver: {file}: got version 2 of a trace; {EXPECTED}\n" == capsys.readouterr().err


@pytest.mark.parametrize(
    "report",
    [
        lambda server: server.explore(list_campaigns, faults=(), choices=()).as_json(),
        lambda server: server.interleave(clients={"a": list_campaigns, "b": list_campaigns}).json,
        lambda server: RecordingReport(recorded_trace([], prefix="", sources=(), left_out={})).as_json(),
        lambda server: json.loads(server.sandbox().call("GET", "/_mock/report", headers={"Accept": "application/json"}).body),
    ],
    ids=["explore", "interleave", "recording", "sandbox"],
)  # fmt: skip
def test_a_report_as_json_has_its_version(mockserver_server: MockServer, report: Callable[[MockServer], Any]) -> None:
    assert 1 == report(mockserver_server)["version"]
