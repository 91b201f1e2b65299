"""The scenario that is written from a recording: what it has of the records that were seen, and what a comment names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mockserver import MockServer
from mockserver._json import JSON
from mockserver.cli.seen_scenario import SeededScenario, seeded_scenario
from mockserver.report.recording import RecordingReport
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import SandboxHost
from mockserver.trace.reading import read_recording
from tests.depth import at_depth
from tests.recordings.hars import KEY, entry, write
from tests.recordings.random_lives import life_of_two
from tests.recordings.record import FILE

SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"


def written(file: Path) -> SeededScenario:
    """Return the scenario of a recording."""
    report = RecordingReport(read_recording(file))
    return seeded_scenario(report.recording, report.choices)


def given(folder: Path, *rows: JSON) -> Any:
    return written(write(folder, *rows)).document.get("given", {})


def campaign(id: str, status: str, **more: Any) -> JSON:
    """Return a campaign as a list shows it."""
    row = {"id": id, "name": id, "description": None, "status": status, "platform": "chatapp", "templateId": "t"}
    return row | {"cadence": 60} | more


def listed(*campaigns: JSON) -> JSON:
    return entry("GET /v1/campaigns", 200, {"campaigns": list(campaigns)})


def test_no_key_and_no_number_of_an_entrypoint_is_written() -> None:
    text = written(FILE).as_yaml()

    assert [] == [private for private in ("+55 11", KEY) if private in text]


def test_the_clock_is_frozen_at_the_first_date_of_the_service(tmp_path: Path) -> None:
    """The recorder's clock is a day ahead."""
    row = listed()
    row["startedDateTime"] = "2026-03-02T12:00:00.500Z"
    row["response"]["headers"].append({"name": "Date", "value": "Sun, 01 Mar 2026 12:00:10 GMT"})

    assert {"freeze": "2026-03-01T12:00:10.000Z"} == written(write(tmp_path, row)).document["clock"]


@pytest.mark.parametrize("status", ["draft", "processing", "completed", "failed", "canceled"])
def test_a_campaign_has_the_state_in_which_it_was_seen_first(tmp_path: Path, status: str) -> None:
    document = written(write(tmp_path, listed(campaign("c", status)))).document
    created = SandboxHost().create(SandboxConfig(document))

    assert status == created.tenant.campaigns["c"].status
    assert "t" == created.tenant.campaigns["c"].template_id


def test_a_campaign_has_the_run_that_was_read_and_all_chats_for_its_audience(tmp_path: Path) -> None:
    run = {
        "id": "e",
        "status": "processing",
        "startedAt": "2026-03-01T11:59:59.000Z",
        "completedAt": None,
        "targetCount": 90,
    }
    read = campaign("c", "processing", executions=[run], filters=[{"combinator": "and", "statements": []}])
    scenario = written(write(tmp_path, entry("GET /v1/campaigns/c", 200, read)))
    tenant = SandboxHost().create(SandboxConfig(scenario.document)).tenant

    assert ("processing", 2) == (tenant.executions["e"].status, len(tenant.chats))
    assert "the audience of campaign c, which has all chats" in scenario.comments


def test_what_no_answer_shows_is_a_comment(tmp_path: Path) -> None:
    started = entry("POST /v1/campaigns/d/start", 202, {"executionId": "e"}, at="2026-03-01T12:00:01Z")

    assert (
        "the execution of campaign c, which is listed as completed",
        "campaign d, which no answer shows",
        "template t, which no answer shows",
    ) == written(write(tmp_path, listed(campaign("c", "completed")), started)).comments


def test_a_session_that_was_only_read_is_a_comment_and_its_entrypoint_seed_data(tmp_path: Path) -> None:
    entrypoint = {
        "id": "e",
        "name": "E",
        "platform": "chatapp",
        "displayName": "E",
        "funnelStepId": "step",
        "funnelId": "f",
    }
    body = {"sessionId": "s", "status": "completed", "entrypoint": entrypoint}
    scenario = written(write(tmp_path, entry(f"GET {SESSIONS}/s", 200, body)))

    assert ("session s: a scenario has no sessions",) == scenario.comments
    assert ["e"] == [row["id"] for row in scenario.document["given"]["entrypoints"]]
    assert [{"id": "f", "steps": [{"id": "step"}]}] == scenario.document["given"]["funnels"]


def test_each_key_is_a_tenant_with_its_own_records(tmp_path: Path) -> None:
    rows = [
        entry(f"GET /v1/messaging/chats/chat_{name}", 200, {"records": []}, key=f"sk_{name}_of_a_tenant")
        for name in ("two", "one", "one")
    ]
    found = given(tmp_path, *rows)

    assert ["chat_one"] == [chat["id"] for chat in found["chats"]]
    assert [["chat_two"]] == [[chat["id"] for chat in tenant["chats"]] for tenant in found["tenants"]]


LIVES = at_depth(6, 80)


@pytest.mark.law
def test_the_scenario_of_a_life_is_valid_and_has_its_settled_choices(tmp_path: Path) -> None:
    with MockServer() as server:
        for seed in range(LIVES):
            report = RecordingReport(life_of_two(server, tmp_path, seed))
            document = seeded_scenario(report.recording, report.choices).document
            hosted = SandboxHost().create(SandboxConfig(document))
            settled = {row.id: row.options[0] for row in report.choices if row.state == "settled"}
            assert (seed, settled) == (seed, {id: hosted.sandbox.choices[id] for id in settled})
