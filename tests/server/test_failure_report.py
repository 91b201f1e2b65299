"""`GET /_mock/report`: why a test in any language failed, as text or as JSON."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from mockserver.report.run.failure import in_words
from mockserver.report.run.text import report
from mockserver.testing.report.snapshots import snapshot
from tests.clients.operations import SESSIONS
from tests.server.control_calls import NOON, Made, make, refused

GIVEN = {
    "templates": [{"id": "t", "name": "T", "items": [{"type": "text", "text": "Oi"}], "variables": []}],
    "chats": [{"id": "one"}, {"id": "two"}],
}
NEW = {"name": "Uma", "platform": "chatapp", "templateId": "t", "cadence": 1}


@pytest.fixture
def made(mockserver_server: MockServer) -> Made:
    return make(mockserver_server.url, clock={"freeze": NOON}, given=GIVEN)


def started_twice(made: Made) -> str:
    campaign = made.api("POST", "/v1/campaigns", NEW).json()["campaignId"]
    for status in (202, 422):
        assert status == made.api("POST", f"/v1/campaigns/{campaign}/start").status_code
    return str(campaign)


def text(made: Made, query: str = "") -> list[str]:
    reply = made.control("GET", f"/report{query}")
    assert (200, "text/plain; charset=utf-8") == (reply.status_code, reply.headers["content-type"])
    return reply.text.splitlines()


def view(made: Made, query: str = "") -> JSON:
    body: JSON = made.control("GET", f"/report{query}", headers={"Accept": "application/json"}).json()
    return body


def test_the_first_line_names_the_last_refused_call_by_operation_status_and_code(made: Made) -> None:
    campaign = started_twice(made)

    assert [
        f"the last call that failed is #3 startCampaign POST /v1/campaigns/{campaign}/start -> 422 CAMPAIGN_ALREADY_PROCESSING",
        "  start.already at path.id: got a campaign that is processing; expected draft",
    ] == text(made)[:2]


def test_the_first_line_names_a_call_that_a_rule_changed_with_the_rule(made: Made) -> None:
    made.control("POST", "/scenarios", {"script": [{"on": "listCampaigns", "do": {"error": "RATE_LIMIT_EXCEEDED"}}]})
    made.api("GET", "/v1/campaigns")

    first, second, *_ = text(made)

    assert first.startswith(
        "the last call that failed is #1 listCampaigns GET /v1/campaigns -> 429 RATE_LIMIT_EXCEEDED"
    )
    assert "rule_1: error RATE_LIMIT_EXCEEDED" in first
    assert "  the operation did not take effect, and the client got 429" == second


def test_a_refused_call_is_named_although_successful_ones_follow_it(made: Made) -> None:
    campaign = started_twice(made)
    made.api("GET", f"/v1/campaigns/{campaign}")

    assert "-> 422 CAMPAIGN_ALREADY_PROCESSING" in text(made)[0]


def test_the_words_of_the_test_precede_the_likely_cause(made: Made) -> None:
    started_twice(made)

    lines = text(made, "?failure=expected%20202%2C%20got%20422%0Aat%20main.test.ts%3A7")

    assert "the test failed at main.test.ts:7: expected 202, got 422" == lines[0]
    assert any("422 CAMPAIGN_ALREADY_PROCESSING" in line for line in lines[1:3])


def test_the_words_of_the_test_precede_a_wait_on_a_frozen_clock(mockserver: Sandbox) -> None:
    mockserver.call("POST", SESSIONS, json={})
    unmoved = {"first": 1, "last": 1, "calls": 1, "seconds": 0.0, "idleSeconds": 5.0}
    seen = replace(snapshot(mockserver._backend, mockserver.settings), unmoved=unmoved)

    first, second, *_ = report(seen, in_words("test timed out after 5000ms")).summary

    assert "the test failed: test timed out after 5000ms" == first
    assert second.startswith(f"The clock of {mockserver.id} did not move: the test was stopped 5 s after its last call")


def test_without_a_report_neither_its_modules_nor_those_of_accept_are_loaded() -> None:
    code = "import sys, mockserver.testing.backend; print([name for name in sys.modules if name in sys.argv[1:]])"
    names = ("werkzeug.http", "mockserver.report.run.diagnosis")

    loaded = subprocess.run(
        [sys.executable, "-c", code, *names], capture_output=True, encoding="utf-8", check=True
    ).stdout

    assert "[]" == loaded.strip()


def test_it_has_settings_calls_and_the_rules_that_never_fired_and_how_to_repeat_the_run(made: Made) -> None:
    made.control("POST", "/scenarios", {"script": [{"on": "cancelCampaign", "do": {"drop": "after"}}]})
    started_twice(made)

    lines = text(made)

    assert f"{made.id}: clock at 2026-03-01T12:00:00.000Z" in "\n".join(lines)
    assert {"what happened:", "rules that never fired:"} <= set(lines)
    assert (
        f"to repeat its calls, while the sandbox is open: curl -s {made.base}/_mock/replay > run.json && mockserver replay-calls run.json"
        == lines[-1]
    )


def test_json_has_the_call_and_the_same_text(made: Made) -> None:
    started_twice(made)

    report = view(made)

    assert {
        "n": 3,
        "operation": "startCampaign",
        "status": 422,
        "code": "CAMPAIGN_ALREADY_PROCESSING",
        "reason": "start.already at path.id: got a campaign that is processing; expected draft",
        "fault": None,
    } == report["call"]
    assert (made.id, None) == (report["sandboxId"], report["failure"])
    assert text(made) == report["text"].splitlines()
    assert report["summary"] == report["text"].splitlines()[: len(report["summary"])]


def test_a_sandbox_without_calls_names_its_address(made: Made) -> None:
    assert [f"No call reached {made.id};", f"  its address is {made.base}: does the client send its calls there?"] == (
        view(made)["summary"]
    )
    assert view(made)["call"] is None


def test_its_advice_is_calls_of_the_control_plane(made: Made) -> None:
    session = made.session()
    made.api("GET", f"{SESSIONS}/{session}")

    whole = "\n".join(text(made))

    assert f"POST {made.base}/_mock/sessions/{session}/complete plays its user" in whole
    assert f'POST {made.base}/_mock/clock/advance {{"by": 1200}}' in whole
    assert "mockserver." not in whole


def test_no_key_is_in_it(made: Made) -> None:
    made.api("GET", f"/v1/campaigns/{made.secret_key}")

    reply = made.control("GET", "/report", params={"failure": f"with {made.secret_key}"})

    assert made.secret_key not in reply.text
    assert "/v1/campaigns/sk_" in reply.text


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("", "text/plain"),
        ("*/*", "text/plain"),
        ("text/html,*/*;q=0.8", "text/plain"),
        ("application/json", "application/json"),
        ("text/plain;q=0.5, application/json", "application/json"),
    ],
)
def test_the_type_follows_accept(made: Made, accept: str, kind: str) -> None:
    assert kind == made.control("GET", "/report", headers={"Accept": accept}).headers["content-type"].partition(";")[0]


@pytest.mark.parametrize("accept", ["application/jsn", "image/png", "text/plain;q=0"])
def test_another_accept_is_refused(made: Made, accept: str) -> None:
    assert (406, "MOCK_NOT_ACCEPTABLE") == refused(made.control("GET", "/report", headers={"Accept": accept}))


def test_a_refused_accept_has_the_nearest_type(made: Made) -> None:
    message = made.control("GET", "/report", headers={"Accept": "application/jsn"}).json()["message"]

    assert (
        "Accept: got 'application/jsn'; expected text/plain or application/json; did you mean 'application/json'?"
    ) == message


def test_another_query_is_refused_with_the_nearest_name(made: Made) -> None:
    reply = made.control("GET", "/report?failures=x")

    assert (400, "MOCK_BAD_QUERY") == refused(reply)
    assert "query: got 'failures'; expected failure; did you mean 'failure'?" == reply.json()["message"]


def test_a_report_changes_nothing(made: Made) -> None:
    started_twice(made)
    before = made.state(), made.control("GET", "/steps").content

    text(made)

    assert before == (made.state(), made.control("GET", "/steps").content)
