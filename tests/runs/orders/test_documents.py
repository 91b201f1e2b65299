"""What is written of a finding: a scenario document that repeats its calls, and a trace with the actor of each call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mockserver import MockServer
from mockserver.cli import main
from mockserver.testing.runs.orders import InterleaveReport
from tests.runs.orders.pairs import GIVEN, list_then_create


def written(server: MockServer, folder: Path) -> InterleaveReport:
    clients = {"worker": lambda s: list_then_create(s, "One"), "cron": lambda s: list_then_create(s, "Two")}
    return server.interleave(clients=clients, settings={"given": GIVEN}, bound=1, test="promotions", failures=folder)


def test_a_document_repeats_the_calls_of_the_shortest_order(
    server: MockServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = written(server, tmp_path)
    (finding,) = report.findings
    assert finding.path is not None

    assert 0 == main(["replay-calls", finding.path])
    assert tmp_path / "promotions-duplicate-executions.json" == Path(finding.path)
    assert f"calls repeated by {finding.path}" in report.text()


def test_a_trace_shows_the_lanes_and_the_actor_of_each_call(server: MockServer, tmp_path: Path) -> None:
    report = written(server, tmp_path)
    page = (tmp_path / "promotions-duplicate-executions.html").read_text("utf-8")
    (finding,) = report.findings

    for lane in finding.lanes():
        assert " ".join(lane.split()) in " ".join(page.split())
    assert page.index("worker #1 listCampaigns") < page.index("cron #2 listCampaigns")
    assert json.loads((tmp_path / "promotions-duplicate-executions.json").read_text("utf-8"))["summary"].endswith(
        "(schedule 'worker*2 cron')"
    )


def test_a_folder_that_cannot_be_written_is_a_note(server: MockServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    report = written(server, tmp_path / "file")

    assert "no replay document was written: " in report.text()
