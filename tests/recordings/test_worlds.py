"""A scenario that is written from a recording, and the differences when the recording is played on it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mockserver import MockServer, Sandbox, cli
from mockserver._json import JSON
from mockserver.core.instants import SECOND, parse
from mockserver.recordings.clocks import service_instants, service_order
from mockserver.recordings.playing import play
from mockserver.recordings.population import AudienceSize, population
from mockserver.recordings.reading import read_recording
from mockserver.recordings.report import report_on
from mockserver.recordings.worlds import REASON, World, world
from mockserver.scenario.documents import read_file
from mockserver.verify.histories.exchanges import Recording
from tests.depth import at_depth
from tests.recordings import replayed
from tests.recordings.hars import KEY, entry, write
from tests.recordings.lives import Life, life_of, random_profile, recorded
from tests.recordings.random_lives import life_of_two
from tests.recordings.record import FILE


def written(recording: Recording) -> tuple[World, list[str]]:
    """Return the scenario of a recording, and the differences of its play."""
    report = report_on(recording)
    scenario = world(report.recording, report.choices)
    return scenario, [str(row) for row in play(scenario.document, report.recording, recording)]


@pytest.mark.deep
def test_the_scenario_of_a_browser_plays_its_recording_without_a_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "world.yaml"
    cli.main(["inspect-recording", str(FILE), "--scenario-out", str(file)])
    assert f"written: {file} (0 comments on what could not be known)" in capsys.readouterr().out

    assert 0 == cli.main(["inspect-recording", str(FILE), "--play", str(file)])
    assert "29 calls played, no differences\n" == capsys.readouterr().out


@pytest.mark.deep
def test_a_scenario_that_differs_is_reported_with_both_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "world.json"
    document = dict(written(read_recording(FILE))[0].document)
    document["choices"] = document["choices"] | {"next-cursor-end": "absent"}
    file.write_text(json.dumps(document), encoding="utf-8")

    assert 1 == cli.main(["inspect-recording", str(FILE), "--play", str(file), "--json"])
    (row,) = json.loads(capsys.readouterr().out)
    assert ("/nextCursor", "null", "") == (row["place"], row["recorded"], row["played"])


def test_a_call_whose_body_the_recorder_left_out_is_not_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    headers = {"Content-Type": "multipart/form-data; boundary=x", "Content-Length": "328"}
    upload = entry(
        "POST /v1/messaging/media",
        201,
        [{"success": True, "id": "media_1", "url": "https://x.example"}],
        headers=headers,
    )
    file, scenario = (
        write(tmp_path, upload, entry("GET /v1/campaigns", 200, {"campaigns": []})),
        tmp_path / "world.yaml",
    )
    cli.main(["inspect-recording", str(file), "--scenario-out", str(scenario)])
    capsys.readouterr()

    assert 0 == cli.main(["inspect-recording", str(file), "--play", str(scenario)])
    assert "1 call played (1 without the body of the request left out), no differences\n" == capsys.readouterr().out


def test_an_answer_that_needs_a_call_without_its_body_is_named_with_that_call(tmp_path: Path) -> None:
    create = created("c", "2026-03-01T12:00:00Z")
    del create["request"]["postData"]
    rows = [create, listed(campaign_row("c", "draft"), at="2026-03-01T12:00:01Z")]

    scenario, differences = written(read_recording(write(tmp_path, *rows)))
    assert 1 == len(differences)
    assert (
        "what leads to the answer of #2 (listCampaigns): #1 has no body of its request, so it cannot be played"
        == scenario.comments[-1]
    )


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


@pytest.mark.deep
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


def test_a_recording_without_its_keys_has_a_scenario_that_plays_it(tmp_path: Path) -> None:
    calls = ("API_KEY_MISSING", 401), ("API_KEY_INVALID", 401), ("API_KEY_WRONG_TYPE", 401), ("CAMPAIGN_NOT_FOUND", 404)
    rows = [entry("GET /v1/campaigns", 200, {"campaigns": []}, key=None)]
    rows += [
        failed("GET /v1/campaigns/campaign_1", place, status, code) for place, (code, status) in enumerate(calls, 1)
    ]
    for row in rows:
        row["request"]["headers"] = []

    assert [] == written(read_recording(write(tmp_path, *rows)))[1]


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

    assert ["which 3 chats a filter selects: in the scenario it selects 2"] == population(counts, {}, {}).comments


def test_chats_of_another_channel_are_where_sends_failed() -> None:
    chats, _ = population([AudienceSize([], 5, "chatapp", 4, frozenset({1, 3}))], {}, {})

    assert ["chatapp", "chatapp_lite", "chatapp", "chatapp_lite", "chatapp"] == [chat["platform"] for chat in chats]


def test_chats_are_on_a_platform_that_contains_the_text_of_a_filter() -> None:
    counts = [AudienceSize([], 4), AudienceSize(_statement("chat.platform", "contains", "photo"), 3)]
    chats, comments = population(counts, {}, {"platform-text-operators": "text"})

    assert (3, []) == (sum("photo" in chat.get("platform", "") for chat in chats), comments)


def test_a_filter_on_the_platform_that_chats_have_by_default_selects_no_more_than_recorded() -> None:
    """Neither does a campaign of another channel take the platform from them."""
    counts = [
        AudienceSize(_statement("chat.platform", "equals", "chatapp"), 3, "chatapp_lite", 2, frozenset({1})), AudienceSize([], 5),
    ]  # fmt: skip
    chats, comments = population(counts, {}, {})

    assert ({"chatapp": 3, "chatapp_lite": 2}, []) == (Counter(chat["platform"] for chat in chats), comments)


def test_a_campaign_whose_start_had_too_many_calls_before_it_is_no_seed_data(tmp_path: Path) -> None:
    rows = [
        failed("POST /v1/campaigns/c/start", 0, 429, "RATE_LIMIT_EXCEEDED"), listed(at="2026-03-01T12:00:01Z"),
    ]  # fmt: skip
    scenario, differences = written(read_recording(write(tmp_path, *rows)))

    assert [] == differences
    assert "given" not in scenario.document


JSON_TYPE = {"Content-Type": "application/json"}


def campaign_row(id: str, status: str) -> JSON:
    """Return a campaign as a list shows it."""
    return {
        "id": id, "name": id, "description": None, "status": status, "platform": "chatapp", "templateId": "t", "cadence": 5,
    }  # fmt: skip


def created(id: str, at: str, time: int = 5) -> JSON:
    body = {"name": id, "platform": "chatapp", "templateId": "t", "cadence": 5}
    return entry(
        "POST /v1/campaigns", 201, {"campaignId": id, "status": "draft"}, sent=body, at=at, time=time, headers=JSON_TYPE
    )


def listed(*campaigns: JSON, at: str, time: int = 5) -> JSON:
    return entry("GET /v1/campaigns", 200, {"campaigns": list(campaigns)}, at=at, time=time)


def order(folder: Path, *rows: JSON) -> list[str]:
    """Return the calls of overlapping entries in the order in which the service may have handled them."""
    exchanges = read_recording(write(folder, *rows)).exchanges
    return [f"{exchange.method} {exchange.path}" for exchange in service_order(exchanges)]


def test_a_call_that_sends_an_id_follows_the_call_that_assigned_it(tmp_path: Path) -> None:
    read = entry("GET /v1/campaigns/c", 200, {"id": "c"}, at="2026-03-01T12:00:00Z", time=4_000)

    assert ["POST /v1/campaigns", "GET /v1/campaigns/c"] == order(
        tmp_path, read, created("c", "2026-03-01T12:00:01Z", 4_000)
    )


def test_a_list_without_a_campaign_precedes_the_call_that_created_it(tmp_path: Path) -> None:
    rows = [created("c", "2026-03-01T12:00:00Z", 4_000), listed(at="2026-03-01T12:00:01Z", time=4_000)]

    assert ["GET /v1/campaigns", "POST /v1/campaigns"] == order(tmp_path, *rows)


def test_pages_that_overlap_follow_the_pages_with_their_cursors(tmp_path: Path) -> None:
    pages = [("two", None), ("", "one"), ("one", "two")]  # the cursor that is sent, and the one that is shown
    rows = [
        entry(f"GET /v1/messaging/chats/c?cursor={sent}" if sent else "GET /v1/messaging/chats/c", 200,
              {"records": [], "nextCursor": shown}, at=f"2026-03-01T12:00:0{n}Z", time=4_000)
        for n, (sent, shown) in enumerate(pages)
    ]  # fmt: skip

    assert ["c", "c?cursor=one", "c?cursor=two"] == [call.rpartition("/")[2] for call in order(tmp_path, *rows)]


def test_calls_that_do_not_overlap_keep_their_order(tmp_path: Path) -> None:
    rows = [listed(at="2026-03-01T12:00:00Z"), created("c", "2026-03-01T12:00:01Z"), listed(at="2026-03-01T12:00:02Z")]

    assert ["GET /v1/campaigns", "POST /v1/campaigns", "GET /v1/campaigns"] == order(tmp_path, *rows)


def test_an_option_under_which_the_seed_data_cannot_be_is_not_taken(tmp_path: Path) -> None:
    rows = [
        listed(campaign_row("d", "draft"), campaign_row("c", "completed"), at="2026-03-01T12:00:00Z"),
        failed("POST /v1/campaigns/d/start", 1, 422, "UNPROCESSABLE_REQUEST"),
    ]
    scenario, differences = written(read_recording(write(tmp_path, *rows)))

    assert [] == differences
    assert "why #2 (startCampaign) was refused with UNPROCESSABLE_REQUEST: a rule repeats it" in scenario.comments


def test_lists_with_new_campaigns_at_the_end_are_in_that_order(tmp_path: Path) -> None:
    old = campaign_row("old", "draft")
    rows = [
        listed(old, at="2026-03-01T12:00:00Z"), created("new", "2026-03-01T12:00:01Z"),
        listed(old, campaign_row("new", "draft"), at="2026-03-01T12:00:02Z"),
    ]  # fmt: skip

    assert [] == written(read_recording(write(tmp_path, *rows)))[1]


def test_a_lost_call_took_effect_if_the_answers_after_it_say_so(tmp_path: Path) -> None:
    rows = [
        listed(campaign_row("c", "draft"), at="2026-03-01T12:00:00Z"),
        entry("POST /v1/campaigns/c/cancel", 0, at="2026-03-01T12:00:01Z"),
        listed(campaign_row("c", "canceled"), at="2026-03-01T12:00:02Z"),
    ]
    scenario, differences = written(read_recording(write(tmp_path, *rows)))

    assert [] == differences
    assert [{"on": "cancelCampaign", "nth": 1, "do": {"drop": "after"}}] == scenario.document["script"]


def test_a_count_that_no_chats_explain_is_a_rule_and_a_comment(tmp_path: Path) -> None:
    rows = [
        entry("POST /v1/campaigns/audience-preview", 200, {"estimatedCount": count}, sent=sent, at=f"2026-03-01T12:00:0{count}Z")
        for count, sent in ((2, {}), (3, {"filters": _statement("chat.isAnswered", "equals", True)}))
    ]  # fmt: skip
    scenario, differences = written(read_recording(write(tmp_path, *rows)))

    assert [] == differences
    assert [{"reply": {"status": 200, "body": {"estimatedCount": 3}}}] == [
        rule["do"] for rule in scenario.document["script"]
    ]
    assert "which chats #2 (previewAudience) has counted: a rule repeats the number" == scenario.comments[-1]


def test_a_list_that_is_sorted_neither_by_newest_nor_by_oldest_is_in_the_order_of_a_seed(tmp_path: Path) -> None:
    scenario, differences = written(read_recording(write(tmp_path, *in_no_order("two", "three", "one"))))

    assert [] == differences
    assert "shuffled" == scenario.document["choices"]["list-order"]
    assert "what decides the order of lists: the scenario has a seed with the recorded one" in scenario.comments


@pytest.mark.parametrize("seed", [88, 142])
def test_the_lists_of_a_life_are_in_the_order_of_a_seed(
    mockserver_server: MockServer, tmp_path: Path, seed: int
) -> None:
    assert [] == written(life_of(mockserver_server, tmp_path, seed))[1]


def test_an_order_that_no_option_leads_to_is_named_with_its_call(tmp_path: Path) -> None:
    rows = [*in_no_order("two", "three", "one"), *in_no_order("one", "three", "two", second=4)[3:]]
    scenario, differences = written(read_recording(write(tmp_path, *rows)))

    assert ["#4", "#5"] == sorted({row.partition(" ")[0] for row in differences})
    reason = "its list is sorted neither by newest nor by oldest, and no answer shows what decides its order"
    assert scenario.comments[-1].endswith(f" (listCampaigns): {reason}")


def in_no_order(*ids: str, second: int = 3) -> list[JSON]:
    """Return the creations of campaigns in the order of their names as numbers, and then a list of them."""
    rows = [created(id, f"2026-03-01T12:00:0{place}Z") for place, id in enumerate(("one", "two", "three"))]
    return [*rows, listed(*(campaign_row(id, "draft") for id in ids), at=f"2026-03-01T12:00:0{second}Z")]


LIVES = at_depth(3, 40)  # of each kind


@pytest.mark.law
@pytest.mark.parametrize("kind", ["one tenant", "two tenants"])
def test_a_scenario_plays_its_life_but_for_the_answers_that_it_names(tmp_path: Path, kind: str) -> None:
    """Lives under random choices: every second has faults, others overlapping calls, or clocks that jump."""
    calls, named = 0, 0
    with MockServer() as server:
        for seed in range(LIVES):
            recording = life_of(server, tmp_path, seed) if kind == "one tenant" else life_of_two(server, tmp_path, seed)
            report = report_on(recording)
            scenario = world(report.recording, report.choices)
            differing = {row.n for row in play(scenario.document, report.recording, recording)}
            reasons = [row for row in scenario.comments if row.startswith(REASON)]
            assert (seed, differing) == (seed, {int(row.partition("#")[2].partition(" ")[0]) for row in reasons})
            assert (seed, []) == (
                seed,
                [row for row in reasons if row.endswith("no call of the recording leads to it")],
            )
            calls, named = calls + len(recording.exchanges), named + len(differing)
    assert named <= calls / 100


def test_the_measure_of_differences_has_a_line_for_each_kind_of_life(capsys: pytest.CaptureFixture[str]) -> None:
    replayed.main(["1", "1"])

    assert [
        "one tenant: 1 lives, 40 calls, 0 differ (0.00 in 1,000 calls)",
        "two tenants: 1 lives, 34 calls, 0 differ (0.00 in 1,000 calls)",
    ] == capsys.readouterr().out.splitlines()


@pytest.mark.deep
@pytest.mark.parametrize(
    ("seed", "reason"),
    [
        (1004, "#32 (listCampaigns): no answer shows how many chats #29 sends to, which decides when it ends"),
        (1039, "#23 (readEntrypoint): no earlier answer shows entrypoint_pyr7mynhhhwbfq4xoahy, so it may be the entrypoint of any session"),
    ],
)  # fmt: skip
def test_an_answer_that_differs_has_the_reason_that_the_recording_shows(
    mockserver_server: MockServer, tmp_path: Path, seed: int, reason: str
) -> None:
    scenario, differences = written(life_of(mockserver_server, tmp_path, seed))

    assert 1 == len(differences)
    assert f"{REASON}{reason}" == scenario.comments[-1]


@pytest.mark.deep
def test_a_session_that_ends_after_its_event_is_named_with_the_receiver(
    mockserver_server: MockServer, tmp_path: Path
) -> None:
    scenario, differences = written(life_of_two(mockserver_server, tmp_path, 1097))

    assert differences
    assert scenario.comments[-1].endswith(
        "the scenario has no receiver of webhooks, whose event may precede the end that a read shows"
    )


def read_before_its_session(sandbox: Sandbox, file: Path, sessions: int) -> tuple[World, list[str]]:
    """The scenario of a client that reads the entrypoint before the session that connected it, and its differences."""
    ids = [sandbox.call("POST", SESSIONS, json={}).json()["sessionId"] for _ in range(sessions)]
    sandbox.complete_session(ids[0], phone="+5511999990000")
    sandbox.call("GET", f"/v1/entrypoints/{sandbox.events[0]['data']['entrypoint']['id']}")
    for id in ids:
        sandbox.call("GET", f"{SESSIONS}/{id}")
    file.write_text(json.dumps(sandbox.log.har()), encoding="utf-8")
    return written(read_recording(file))


def test_a_session_whose_entrypoint_is_read_first_ends_before_that_read(mockserver: Sandbox, tmp_path: Path) -> None:
    scenario, differences = read_before_its_session(mockserver, tmp_path / "one.har", 1)

    assert [] == differences
    assert ["readEntrypoint"] == [rule["on"] for rule in scenario.document["script"]]


def test_a_session_whose_entrypoint_is_read_while_another_is_pending_ends_before(
    mockserver: Sandbox, tmp_path: Path
) -> None:
    """A rule on the entrypoint's read could end the other one."""
    scenario, differences = read_before_its_session(mockserver, tmp_path / "two.har", 2)

    assert [] == differences
    assert [("createConnectionSession", "after")] == [
        (rule["on"], rule["when"]) for rule in scenario.document["script"]
    ]


def test_calls_that_overlap_are_in_the_order_of_the_instants_that_the_service_shows(tmp_path: Path) -> None:
    rows = [listed(at=f"2026-03-01T12:00:0{n}Z", time=4_000) for n in (0, 1)]
    rows[1]["request"]["url"] += "?page=2"
    for row, second in zip(rows, (30, 10), strict=True):
        row["response"]["headers"].append({"name": "Date", "value": f"Sun, 01 Mar 2026 12:00:{second} GMT"})

    assert ["GET /v1/campaigns?page=2", "GET /v1/campaigns"] == order(tmp_path, *rows)


@pytest.mark.parametrize(
    ("shown", "first"), [("canceled", "POST /v1/campaigns/c/cancel"), ("processing", "GET /v1/campaigns")]
)
def test_a_list_that_overlaps_with_a_cancel_follows_it_if_it_shows_it(tmp_path: Path, shown: str, first: str) -> None:
    canceled = entry("POST /v1/campaigns/c/cancel", 204, at="2026-03-01T12:00:01Z", time=4_000)
    shows = listed(campaign_row("c", shown), at="2026-03-01T12:00:00Z", time=4_000)

    assert first == order(tmp_path, shows, canceled)[0]


def test_a_start_that_overlaps_with_a_cancel_precedes_it(tmp_path: Path) -> None:
    canceled = entry("POST /v1/campaigns/c/cancel", 204, at="2026-03-01T12:00:00Z", time=4_000)
    started = entry("POST /v1/campaigns/c/start", 202, {"executionId": "e"}, at="2026-03-01T12:00:01Z", time=4_000)

    assert ["POST /v1/campaigns/c/start", "POST /v1/campaigns/c/cancel"] == order(tmp_path, canceled, started)


def test_messages_beyond_a_page_that_was_asked_for_in_vain_are_more(tmp_path: Path) -> None:
    sender = {"id": "p", "name": "P", "isParticipant": True}
    message = {
        "id": "m",
        "type": "text",
        "status": "sent",
        "text": "x",
        "createdAt": "2026-01-01T00:00:00.000Z",
        "sender": sender,
    }
    rows = [
        entry("GET /v1/messaging/chats/c?limit=1", 200, {"records": [message], "nextCursor": "n"}),
        entry("GET /v1/messaging/chats/c?limit=1&cursor=n", 0, at="2026-03-01T12:00:01Z"),
    ]

    assert [] == written(read_recording(write(tmp_path, *rows)))[1]


def test_runs_that_no_answer_shows_have_ids_of_their_own(tmp_path: Path) -> None:
    rows = [listed(*(campaign_row(id, "completed") for id in ("one", "two")), at="2026-03-01T12:00:00Z")]
    scenario, differences = written(read_recording(write(tmp_path, *rows)))

    assert [] == differences
    assert ["execution_of_one", "execution_of_two"] == [
        row["executionId"] for row in scenario.document["given"]["campaigns"]
    ]


def test_a_step_is_of_the_funnel_that_any_answer_shows(tmp_path: Path) -> None:
    shown = {
        "id": "e",
        "name": "E",
        "platform": "chatapp",
        "displayName": "E",
        "isCoexistence": False,
        "funnelStepId": "step",
    }
    rows = [
        entry("GET /v1/entrypoints/e", 200, {"entrypoint": {**shown, **more}}, at=f"2026-03-01T12:00:0{second}Z")
        for second, more in enumerate(({}, {"funnelId": "funnel"}))
    ]
    scenario = written(read_recording(write(tmp_path, *rows)))[0]

    assert [{"id": "funnel", "steps": [{"id": "step"}]}] == scenario.document["given"]["funnels"]


def test_an_item_of_an_unlisted_type_keeps_its_file(tmp_path: Path) -> None:
    item = {"id": "i", "order": 0, "type": "hologram", "text": "x", "mediaId": "media_1"}
    detail = {"id": "t", "name": "T", "isOfficial": False, "items": [item], "commonVariables": []}

    assert [] == written(read_recording(write(tmp_path, entry("GET /v1/message-templates/t", 200, detail))))[1]
