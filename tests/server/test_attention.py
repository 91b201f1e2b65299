"""The first page of a sandbox: what needs a look, what is coming, and what happened, with names and folded."""

from __future__ import annotations

import re
from typing import Any

import pytest

from mockserver import Sandbox
from mockserver.server.dashboard import story

TEMPLATE = "template_atualizacao_cadastro"
CAMPAIGN = {"platform": "chatapp", "templateId": TEMPLATE, "cadence": 10}
SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
pytestmark = pytest.mark.mockserver(scenario="demo", now="2026-03-01T12:00:00Z")


def page(sandbox: Sandbox, query: str = "") -> str:
    return sandbox.call("GET", f"/_mock/now{query}", headers={"Accept": "text/html"}).body.decode()


def section(text: str, id: str) -> str:
    """The text of a section, without its tags."""
    part = text.partition(f'aria-labelledby="{id}"')[2].partition("</section>")[0]
    return " ".join(re.sub(r"<[^>]+>", " ", part).split())


def campaign(sandbox: Sandbox, name: str) -> str:
    created: str = sandbox.call("POST", "/v1/campaigns", json={**CAMPAIGN, "name": name}).json()["campaignId"]
    return created


def test_what_failed_is_first_and_what_comes_is_next(mockserver: Sandbox):
    for status in (204, 503, 400):
        mockserver.receive_webhooks(lambda request, status=status: status, path=f"/{status}")
    mockserver.on("startCampaign").may_fire().fail_sends(ratio=0.5)
    started = campaign(mockserver, "Março")
    for _ in range(3):
        mockserver.call("POST", f"/v1/campaigns/{started}/start", json={})
    mockserver.complete_session(mockserver.call("POST", SESSIONS, json={}).json()["sessionId"])
    mockserver.advance(minutes=1)
    mockserver.on("listCampaigns").may_fire().revoke_key()
    for _ in range(2):
        mockserver.call("GET", "/v1/campaigns")
    text = page(mockserver)
    look, coming = section(text, "look"), section(text, "coming")

    for status in (503, 400):
        assert re.search(rf"Endpoint failing: \S+/{status} answer {status} after 2 tries; 1 delivery waits", look), look
    assert re.search(r"Março \d+ of 40 sends failed", look)
    assert "startCampaign 422 CAMPAIGN_ALREADY_PROCESSING ×2 start.already" in look
    assert "listCampaigns 401 API_KEY_INVALID" in look
    assert re.search(r"in 2m 54s the last message of Março at 12:03:54.000 Advance to here", coming), coming
    assert re.search(r"next attempt: entrypoints.chatapp.connected to \S+/503", coming)
    assert ["look", "coming", "latest", "rules", "inventory"] == re.findall(r'<h2 id="([a-z]+)"', text)


def test_failing_endpoints_are_counted_in_the_title_and_beside_events(mockserver: Sandbox):
    mockserver.receive_webhooks(lambda request: 503)
    before = page(mockserver)
    mockserver.complete_session(mockserver.call("POST", SESSIONS, json={}).json()["sessionId"])
    after = page(mockserver)

    assert "<title>Now" in before
    assert "<title>(1) Now" in after
    assert 'Events <span class="badge refused">1<span class="hidden"> endpoint failing' in after


def test_an_endpoint_whose_next_attempt_is_accepted_no_longer_fails(mockserver: Sandbox):
    answers = iter((503,))
    receiver = mockserver.receive_webhooks(lambda request: next(answers, 204))
    mockserver.complete_session(mockserver.call("POST", SESSIONS, json={}).json()["sessionId"])
    failing = mockserver.call("GET", "/_mock/steps").json()["failing"]
    mockserver.advance(minutes=1)

    assert [receiver.id] == failing
    assert [] == mockserver.call("GET", "/_mock/steps").json()["failing"]


def test_nothing_needs_a_look_in_a_fresh_sandbox(mockserver: Sandbox):
    assert section(page(mockserver), "look").endswith("no finding has severity 1.")


def test_equal_calls_in_a_row_are_one_row_with_the_name_of_their_record(mockserver: Sandbox):
    created = campaign(mockserver, "Março")
    for _ in range(15):
        mockserver.call("GET", f"/v1/campaigns/{created}")
    mockserver.call("GET", "/v1/campaigns")
    latest = section(page(mockserver), "latest")

    assert "#16 readCampaign Março 200 ×15, since #2" in latest
    assert 1 == latest.count("readCampaign")


def test_the_history_has_filters_and_a_search(mockserver: Sandbox):
    created = campaign(mockserver, "Março")
    mockserver.call("GET", "/v1/campaigns/campaign_x")
    mockserver.advance(minutes=1)
    rows: dict[str, Any] = {
        query: re.findall(r'class="row (\w+)"', page(mockserver, query).partition('id="latest"')[2])
        for query in ("?show=calls", "?show=failures", "?show=mine", "?text=mar%C3%A7o", "?text=nowhere")
    }

    assert ["call", "call"] == rows["?show=calls"]
    assert ["call"] == rows["?show=failures"]
    assert ["step"] == rows["?show=mine"]
    assert ["change"] == rows["?text=mar%C3%A7o"]
    assert [] == rows["?text=nowhere"]
    assert created.startswith("campaign_")


def test_rows_that_differ_in_their_answer_are_not_folded():
    call = {"kind": "call", "n": 1, "method": "GET", "path": "/v1/x", "status": 200, "code": None, "fault": None}
    rows = story.folded([call, {**call, "n": 2}, {**call, "n": 3, "status": 429}, {**call, "n": 4}])

    assert [(2, 2, 1), (3, 1, 3), (4, 1, 4)] == [(row["n"], row["count"], row["first"]) for row in rows]
