"""A scenario that is written from a recording, and the differences when the recording is played on it."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mockserver import MockServer, Sandbox, cli
from mockserver._json import JSON
from mockserver.core.instants import SECOND, parse
from mockserver.recordings.clocks import service_instants
from mockserver.recordings.playing import play
from mockserver.recordings.population import AudienceSize, population
from mockserver.recordings.reading import read_recording
from mockserver.recordings.report import report_on
from mockserver.recordings.worlds import World, world
from mockserver.scenario.documents import read_file
from mockserver.verify.histories.exchanges import Recording
from tests.recordings.hars import KEY, entry, write
from tests.recordings.lives import Life, random_profile, recorded
from tests.recordings.record import FILE


def written(recording: Recording) -> tuple[World, list[str]]:
    """Return the scenario of a recording, and the differences of its play."""
    report = report_on(recording)
    scenario = world(report.recording, report.choices)
    return scenario, [str(row) for row in play(scenario.document, report.recording, recording)]


def test_the_scenario_of_a_browser_plays_its_recording_without_a_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "world.yaml"
    cli.main(["recording", str(FILE), "--scenario-out", str(file)])
    assert f"written: {file} (0 comments on what could not be known)" in capsys.readouterr().out

    assert 0 == cli.main(["recording", str(FILE), "--play", str(file)])
    assert "29 calls played, no differences\n" == capsys.readouterr().out


def test_a_scenario_that_differs_is_reported_with_both_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "world.json"
    document = dict(written(read_recording(FILE))[0].document)
    document["choices"] = document["choices"] | {"next-cursor-end": "absent"}
    file.write_text(json.dumps(document), encoding="utf-8")

    assert 1 == cli.main(["recording", str(FILE), "--play", str(file), "--json"])
    (row,) = json.loads(capsys.readouterr().out)
    assert ("/nextCursor", "null", "") == (row["place"], row["recorded"], row["played"])


def test_nothing_private_is_written(tmp_path: Path) -> None:
    text = written(read_recording(FILE))[0].as_yaml()

    assert [] == [private for private in ("Clínica", "Revisão", "Sabiá", "+55 11", KEY) if private in text]


# Of the lives with these seeds nothing is different; of others, messages that runs sent, and lists in an unknown order.
@pytest.mark.parametrize("seed", [1, 3, 4, 6])
def test_the_scenario_of_a_life_under_a_random_profile_plays_it(
    mockserver_server: MockServer, tmp_path: Path, seed: int
) -> None:
    random = Random(seed)
    recording = recorded(
        mockserver_server, random_profile(random), tmp_path, lambda sandbox: Life(sandbox, random).run(35)
    )

    assert [] == written(recording)[1]


def test_the_document_is_one_that_a_server_takes(tmp_path: Path, mockserver_server: MockServer) -> None:
    file = tmp_path / "world.yaml"
    file.write_text(written(read_recording(FILE))[0].as_yaml(), encoding="utf-8")

    with mockserver_server.sandbox(str(file)) as sandbox:
        templates = sandbox.call("GET", "/v1/message-templates", key=sandbox.secret_key).json()["templates"]
    assert 6 == len(templates)
    assert "recording" == read_file(file)["scenario"]


def failed(call: str, second: int, status: int, code: str) -> JSON:
    return entry(
        call, status, {"statusCode": status, "code": code, "message": "x"}, at=f"2026-03-01T12:00:{second:02}Z"
    )


def test_an_error_that_the_state_does_not_explain_is_a_rule_and_a_comment(tmp_path: Path) -> None:
    rows = [
        failed("GET /v1/campaigns", n, *result)
        for n, result in enumerate(((500, "INTERNAL_ERROR"), (429, "RATE_LIMIT_EXCEEDED")))
    ]
    rows.append(entry("GET /v1/campaigns", 200, {"campaigns": []}, at="2026-03-01T12:00:09Z"))
    scenario, differences = written(read_recording(write(tmp_path, *rows)))

    assert [] == differences
    assert [{"error": "INTERNAL_ERROR"}, {"error": "RATE_LIMIT_EXCEEDED"}] == [
        rule["do"] for rule in scenario.document["script"]
    ]
    assert "why #1 (listCampaigns) was refused with INTERNAL_ERROR: a rule repeats it" in scenario.comments


SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"


@pytest.mark.parametrize("end", ["complete", "fail", "expire"])
def test_the_end_of_a_session_is_a_rule(mockserver: Sandbox, tmp_path: Path, end: str) -> None:
    session = mockserver.call("POST", SESSIONS, json={}, key=mockserver.secret_key).json()["sessionId"]
    mockserver.call("GET", f"{SESSIONS}/{session}", key=mockserver.secret_key)
    getattr(mockserver, f"{end}_session")(session)
    mockserver.call("GET", f"{SESSIONS}/{session}", key=mockserver.secret_key)
    (tmp_path / "s.har").write_text(json.dumps(mockserver.log.har()), encoding="utf-8")

    scenario, differences = written(read_recording(tmp_path / "s.har"))
    assert [] == differences
    assert [f"{end}-session"] == [next(iter(rule["do"])) for rule in scenario.document["script"]]


def test_a_campaign_that_failed_by_itself_is_a_rule(mockserver: Sandbox, tmp_path: Path) -> None:
    mockserver.apply({"given": {"templates": [{"id": "template_1"}], "chats": {"count": 100}}})
    body = {"name": "x", "platform": "chatapp", "templateId": "template_1", "cadence": 60}
    campaign = mockserver.call("POST", "/v1/campaigns", json=body, key=mockserver.secret_key).json()["campaignId"]
    for path, method in ((f"/v1/campaigns/{campaign}/start", "POST"), (f"/v1/campaigns/{campaign}", "GET")):
        mockserver.call(method, path, key=mockserver.secret_key)
    mockserver.advance(seconds=20)
    mockserver.admin.fail_campaign(campaign)
    mockserver.advance(seconds=20)
    mockserver.call("GET", f"/v1/campaigns/{campaign}", key=mockserver.secret_key)
    (tmp_path / "s.har").write_text(json.dumps(mockserver.log.har()), encoding="utf-8")

    scenario, differences = written(read_recording(tmp_path / "s.har"))
    assert [] == differences
    assert [{"at": "20.000s", "do": {"fail-campaign": {}}}] == scenario.document["script"]


def test_the_instants_of_the_service_are_within_what_it_shows(tmp_path: Path) -> None:
    """The recorder's clock is a day ahead, and its precision is a millisecond."""
    rows = [
        entry("GET /v1/campaigns", 200, {"campaigns": []}, at=f"2026-03-02T12:00:{second:02}.500Z") for second in (0, 4)
    ]
    for row, second in zip(rows, (10, 30), strict=True):
        row["response"]["headers"].append({"name": "Date", "value": f"Sun, 01 Mar 2026 12:00:{second} GMT"})
    instants = service_instants(read_recording(write(tmp_path, *rows)).exchanges)
    begin, _ = parse("2026-03-01T12:00:10Z") or (0, True)

    assert [begin, begin + 20 * SECOND] == [instants[1], instants[2]]


def _statement(field: str, operator: str, value: Any) -> list[JSON]:
    return [{"combinator": "and", "statements": [{"field": field, "operator": operator, "value": value}]}]


def test_a_cassette_without_times_has_a_scenario_that_plays_it(tmp_path: Path) -> None:
    row = {
        "id": "c",
        "name": "x",
        "description": None,
        "status": "completed",
        "platform": "chatapp",
        "templateId": "t",
        "cadence": 5,
    }
    interaction = {
        "request": {
            "method": "GET",
            "uri": "https://crm.example/v1/campaigns",
            "headers": {"x-api-key": KEY},
            "body": None,
        },
        "response": {"status": {"code": 200}, "headers": {}, "body": {"string": json.dumps({"campaigns": [row]})}},
    }
    (tmp_path / "cassette.json").write_text(json.dumps({"version": 1, "interactions": [interaction]}), encoding="utf-8")
    scenario, differences = written(read_recording(tmp_path / "cassette.json"))

    assert [] == differences
    assert (
        "the execution of campaign c, which is listed as completed",
        "template t, which no answer shows",
    ) == scenario.comments


def test_each_key_is_a_tenant_with_its_own_records(tmp_path: Path) -> None:
    rows = [
        entry(
            "GET /v1/forms/form_1/embed-frame-policy",
            200,
            {"iframeEmbedAllowedOrigins": [f"https://{name}.example"]},
            key=f"sk_{name}_key_of_a_tenant",
            at=at,
        )
        for name, at in (("one", "2026-03-01T12:00:00Z"), ("one", "2026-03-01T12:00:01Z"))
    ]
    rows.append(refused_form := failed("GET /v1/forms/form_1/embed-frame-policy", 2, 404, "FORM_NOT_FOUND"))
    refused_form["request"]["headers"][-1]["value"] = "sk_two_key_of_another_tenant"
    scenario, differences = written(read_recording(write(tmp_path, *rows)))

    assert [] == differences
    assert ["form_1"] == [form["id"] for form in scenario.document["given"]["forms"]]
    assert [{"id": "tenant_2"}] == scenario.document["given"]["tenants"]


def test_chats_are_selected_as_often_as_recorded() -> None:
    counts = [
        AudienceSize([], 10), AudienceSize(_statement("chat.isAnswered", "equals", True), 4),
        AudienceSize(_statement("chat.tagIds", "has-any", ["a"]), 6), AudienceSize(_statement("chat.monetization", "greater-than", 5), 6),
    ]  # fmt: skip
    chats, comments = population(counts, {}, {})

    assert (10, 4, 6, []) == (
        len(chats), sum(chat.get("isAnswered", False) for chat in chats), sum("a" in chat.get("tagIds", ()) for chat in chats), comments,
    )  # fmt: skip


def test_a_count_that_no_chats_explain_is_a_comment() -> None:
    counts = [AudienceSize([], 2), AudienceSize(_statement("chat.isAnswered", "equals", True), 3)]

    assert ["chats of which a filter selects 3: it selects 2"] == population(counts, {}, {}).comments


def test_chats_of_another_channel_are_where_sends_failed() -> None:
    chats, _ = population([AudienceSize([], 5, "chatapp", 4, frozenset({1, 3}))], {}, {})

    assert ["chatapp", "chatapp_lite", "chatapp", "chatapp_lite", "chatapp"] == [chat["platform"] for chat in chats]
