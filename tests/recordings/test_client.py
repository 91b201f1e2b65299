"""Conduct of a client by its recording: the findings of a sandbox that the recording shows too, and no others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from mockserver import Sandbox
from mockserver._json import JSON
from mockserver.judge.client.judge import ConductResult, judge
from mockserver.trace.reading import read_recording
from mockserver.trace.trace import Trace
from tests.clients.driven import Client
from tests.conduct.provocation import GIVEN, NOON, Provocation
from tests.conduct.provocations_of_campaigns import PROVOCATIONS as OF_CAMPAIGNS
from tests.conduct.provocations_of_sessions import PROVOCATIONS as OF_SESSIONS
from tests.recordings.hars import entry, write

pytestmark = pytest.mark.mockserver(given=GIVEN, now=NOON)
# The HAR of a sandbox has no keys, and a recording neither preflights nor a life without a call.
WITHOUT_RECORDING = ("key-in-wrong-place", "secret-in-browser-preflight")
PROVOCATIONS = [each for each in (*OF_CAMPAIGNS, *OF_SESSIONS) if not each.id.startswith(WITHOUT_RECORDING)]
EACH = pytest.mark.parametrize("provocation", PROVOCATIONS, ids=lambda each: each.id)


def recording_of(sandbox: Sandbox, folder: Path) -> Trace:
    file = folder / "sandbox.har"
    file.write_text(json.dumps(sandbox.log.har()), encoding="utf-8")
    return read_recording(file)


def judged(sandbox: Sandbox, folder: Path) -> ConductResult:
    return judge(recording_of(sandbox, folder))


def proofs(result: ConductResult) -> list[tuple[str, Sequence[int]]]:
    return [(finding.rule, finding.exchanges) for finding in result.findings]


def slow(answer_ms: int, call: str) -> JSON:
    """Return an entry of a HAR that was answered after a time."""
    answer = {"executionId": "execution_1", "status": "processing"}
    return entry(call, 202, answer, time=answer_ms)


@EACH
@pytest.mark.parametrize("is_careful", [False, True], ids=["careless", "careful"])
def test_a_careless_client_has_the_finding_or_the_rule_is_not_assessed_and_a_careful_one_has_none_in_any_form(
    mockserver: Sandbox, provocation: Provocation, is_careful: bool, tmp_path: Path
) -> None:
    (provocation.careful if is_careful else provocation.careless)(Client(mockserver))
    if not mockserver.log.call_count:
        return
    file = tmp_path / "journal.json"
    file.write_text(json.dumps(mockserver.log.journal), encoding="utf-8")

    by_har, by_journal = judged(mockserver, tmp_path), judge(read_recording(file))
    rules = {finding.rule for finding in by_har.findings}
    assert rules <= (set() if is_careful else {provocation.rule})
    assert is_careful or provocation.rule in rules | {row.rule for row in by_har.not_assessed}
    assert proofs(by_har) == proofs(by_journal)


START = "POST /v1/campaigns/campaign_1/start"
LOST = [entry(START, 0, at="2026-03-01T12:00:00Z", time=10), entry(START, 202, {}, at="2026-03-01T12:00:05Z")]


def test_the_effect_of_a_call_without_an_answer_is_unknown(tmp_path: Path) -> None:
    (finding,) = judge(read_recording(write(tmp_path, *LOST))).findings

    assert "duplicate-start" == finding.rule
    assert "a start without an answer, which may have taken effect" in finding.message


def test_calls_that_overlap_prove_nothing(tmp_path: Path) -> None:
    canceled = entry("POST /v1/campaigns/campaign_1/cancel", 204, at="2026-03-01T12:00:00Z", time=3_000)
    refused = {"statusCode": 422, "code": "CAMPAIGN_NOT_DRAFT", "message": ""}
    early, late = (entry(START, 422, refused, at=f"2026-03-01T12:00:0{second}Z") for second in (1, 4))

    one, other = (judge(read_recording(write(tmp_path, canceled, start))) for start in (early, late))

    assert ([], ["restart-canceled"]) == ([f.rule for f in one.findings], [f.rule for f in other.findings])
    assert "the calls that would prove it overlap" == reason(one, "restart-canceled")


def reason(result: ConductResult, rule: str) -> str:
    return next(row.why for row in result.not_assessed if row.rule == rule)


def test_a_wait_of_two_minutes_for_an_answer_is_a_client_without_a_timeout(tmp_path: Path) -> None:
    (finding,) = judge(read_recording(write(tmp_path, slow(125_000, START)))).findings

    assert ("no-timeout", (1,)) == (finding.rule, finding.exchanges)


def test_a_call_without_an_answer_shows_no_wait_for_it(tmp_path: Path) -> None:
    result = judge(read_recording(write(tmp_path, entry(START, 0, time=125_000))))

    assert "no response was delayed by two minutes" == reason(result, "no-timeout")


def test_a_cassette_has_no_times_and_rules_of_time_are_not_assessed(tmp_path: Path) -> None:
    rows = [
        {"request": {"method": "GET", "uri": "https://crm.example/v1/campaigns/c/executions/e", "body": None, "headers": {}},
         "response": {"status": {"code": 200}, "headers": {}, "body": {"string": '{"id": "e", "status": "processing"}'}}}
    ] * 9  # fmt: skip
    (tmp_path / "cassette.json").write_text(json.dumps({"version": 1, "interactions": rows}), encoding="utf-8")
    result = judge(read_recording(tmp_path / "cassette.json"))

    assert () == result.findings
    assert "the recording has no times" == reason(result, "poll-too-fast") == reason(result, "ignore-retry-after")


def test_a_receiver_is_judged_by_its_time_alone(tmp_path: Path) -> None:
    event = {"event": "entrypoints.chatapp.connected", "data": {"tenantId": "t", "sessionId": "s"}}
    received = entry("POST /hooks", 500, sent=event, address="https://me.example", time=6_000)
    result = judge(read_recording(write(tmp_path, received, *LOST[1:])))

    assert ["slow-ack"] == [finding.rule for finding in result.findings]
    assert "a recording does not show whether a delivery was genuine" == reason(result, "secret-misread")


def test_a_date_in_retry_after_is_compared_with_the_clock_that_shows_the_shorter_wait(tmp_path: Path) -> None:
    """The service's clock is an hour ahead of the recorder's: a client may subtract the service's own from the date."""
    limited = entry("GET /v1/campaigns", 429, {"statusCode": 429, "code": "RATE_LIMIT_EXCEEDED", "message": ""})
    limited["response"]["headers"] += [
        {"name": "Date", "value": "Sun, 01 Mar 2026 13:00:00 GMT"}, {"name": "Retry-After", "value": "Sun, 01 Mar 2026 13:00:10 GMT"},
    ]  # fmt: skip
    for second, rules in ((9, []), (5, ["ignore-retry-after"])):
        again = entry("GET /v1/campaigns", 200, {"campaigns": []}, at=f"2026-03-01T12:00:0{second}.500Z")
        result = judge(read_recording(write(tmp_path, limited, again)))
        assert rules == [finding.rule for finding in result.findings]


def test_only_the_start_that_took_effect_is_compared_with_the_template_that_was_read_before_it(tmp_path: Path) -> None:
    created = entry("POST /v1/campaigns", 201, {"campaignId": "campaign_1"}, sent={"name": "A", "templateId": "t"})
    refused = {"statusCode": 400, "code": "VALIDATION_FAILED", "message": ""}
    read = entry("GET /v1/message-templates/t", 200, {"id": "t", "commonVariables": [{"key": "var1"}]})
    started = {"executionId": "execution_1", "status": "processing"}
    life = [created, entry(START, 400, refused, sent={"commonVariables": {"old": "X"}}), read]
    for key, rules in (("var1", []), ("old", ["wrong-variable-keys"])):
        rows = [*life, entry(START, 202, started, sent={"commonVariables": {key: "X"}})]
        for second, row in enumerate(rows):
            row["startedDateTime"] = f"2026-03-01T12:00:0{second}.000Z"
        result = judge(read_recording(write(tmp_path, *rows)))
        assert rules == [finding.rule for finding in result.findings]


@pytest.mark.parametrize("form", ["har", "journal"])
def test_two_programs_of_one_tenant_are_told_apart_in_each_form_of_recording(
    mockserver: Sandbox, form: str, tmp_path: Path
) -> None:
    one, other = ({"User-Agent": f"program/{number}"} for number in (1, 2))
    body = {"name": "Natal", "platform": "chatapp", "templateId": "template_t", "cadence": 60}
    created = mockserver.call("POST", "/v1/campaigns", json=body, headers=one).json()
    mockserver.on("startCampaign").nth(1).drop("after")
    for agent in (one, other):
        with suppress(OSError):
            mockserver.call("POST", f"/v1/campaigns/{created['campaignId']}/start", headers=agent)
        mockserver.advance("10s")
    file = tmp_path / f"{form}.json"
    document = mockserver.log.har() if form == "har" else mockserver.log.journal
    file.write_text(json.dumps(document), encoding="utf-8")

    assert [] == [finding.rule for finding in judge(read_recording(file)).findings]
