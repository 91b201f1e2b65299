"""
Documents have a version: this one's is read, also without the member, and any other is refused by name.

The refusals of traces are in `golden/wrong_command_lines.txt`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from mockserver import MockServer, Sandbox, ScenarioError
from mockserver.report.recording import RecordingReport
from mockserver.report.trace_page import read_trace
from mockserver.trace.recorded import recorded_trace
from mockserver.version import VERSION

EXPECTED = f"expected 1, which mockserver {VERSION} reads"


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


def test_a_trace_of_this_version_is_read() -> None:
    data = '{"version": 2, "before": 0, "document": {}}'

    assert ({}, 0) == read_trace(f'<script type="application/json" id="trace">{data}</script>')


@pytest.mark.parametrize(
    "report",
    [
        lambda server: server.explore(list_campaigns, faults=(), choices=()).as_json(),
        lambda server: RecordingReport(recorded_trace([], prefix="", sources=(), left_out={})).as_json(),
        lambda server: json.loads(server.sandbox().call("GET", "/_mock/report", headers={"Accept": "application/json"}).body),
    ],
    ids=["explore", "recording", "sandbox"],
)  # fmt: skip
def test_a_report_as_json_has_its_version(mockserver_server: MockServer, report: Callable[[MockServer], Any]) -> None:
    assert 1 == report(mockserver_server)["version"]
