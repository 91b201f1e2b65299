"""What the pages put first: the problems, what is coming, what happened, the endpoints."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest

from mockserver import Sandbox
from tests.clients.operations import SESSIONS

TEMPLATE = "template_atualizacao_cadastro"
CAMPAIGN = {"platform": "chatapp", "templateId": TEMPLATE, "cadence": 10}
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


def problems(sandbox: Sandbox, query: str = "") -> list[str]:
    """The lines of the list of problems."""
    lines = re.findall(r'<a class="pick .*?</a>', page(sandbox, query), re.DOTALL)
    return [" ".join(re.sub(r"<[^>]+>", " ", line).split()) for line in lines]


def test_what_failed_is_first_and_what_comes_is_next(mockserver: Sandbox) -> None:
    for status in (204, 503, 400):
        mockserver.receive_webhooks(lambda request, status=status: status, path=f"/{status}")
    mockserver.on("startCampaign").may_fire().fail_sends(ratio=0.5)
    started = campaign(mockserver, "Março")
    for _ in range(3):
        mockserver.call("POST", f"/v1/campaigns/{started}/start", json={})
    for _ in range(2):
        mockserver.call("GET", f"/v1/campaigns?apiKey={mockserver.secret_key}")
    mockserver.complete_session(mockserver.call("POST", SESSIONS, json={}).json()["sessionId"])
    mockserver.advance(minutes=1)
    mockserver.on("listCampaigns").may_fire().revoke_key()
    for _ in range(2):
        mockserver.call("GET", "/v1/campaigns")
    text, lines = page(mockserver), problems(mockserver)
    clock = section(text, "clock")

    for status in (503, 400):
        assert any(
            re.fullmatch(rf"the receiver \S+/{status} answered {status} to \S+connected", line) for line in lines
        )
    assert any(re.search(r"fired: .*\b\d+ of 40 sends of Março fail", line) for line in lines), lines
    assert any("2 calls had a secret key in the query 2 calls, since #5" in line for line in lines), lines
    assert f"{len(lines)} problems in 9 calls; the worst at #" in section(text, "problems")
    assert re.search(r"in 2m 54s the last message of Março at 12:03:54.000 Advance to here", clock), clock
    assert re.search(r"the next attempt of entrypoints.chatapp.connected to \S+/503", clock)
    assert ["problems", "clock", "latest", "rules"] == re.findall(r'<h2[^>]* id="([a-z]+)"', text)


def test_a_call_that_a_rule_changed_shows_what_the_rule_does_in_words(mockserver: Sandbox) -> None:
    mockserver.on("listCampaigns").nth(1).drop("before")
    with suppress(ConnectionError):
        mockserver.call("GET", "/v1/campaigns")
    words = "rule_1: the operation does not run, and no answer arrives"
    calls = mockserver.call("GET", "/_mock/calls", headers={"Accept": "text/html"}).body.decode()
    one = mockserver.call("GET", "/_mock/calls/1", headers={"Accept": "text/html"}).body.decode()

    assert words in calls
    assert words in " ".join(re.sub(r"<[^>]+>", "", one).split())


def test_a_refused_call_before_a_hundred_good_ones_is_a_problem(mockserver: Sandbox) -> None:
    mockserver.call("POST", "/v1/campaigns", json={**CAMPAIGN, "name": "Março", "cadence": 0})
    for _ in range(120):
        mockserver.call("GET", "/v1/campaigns")
    text = page(mockserver)

    assert "> 1 problem in 121 calls; at #1: " in section(text, "problems")
    assert 'href="/sandboxes/' in text and '/_mock/calls/1">#1</a>' in text


def test_an_endpoint_that_fails_can_be_tried_again_from_its_problem(mockserver: Sandbox) -> None:
    for status in (503, 410):
        mockserver.receive_webhooks(lambda request, status=status: status, path=f"/{status}")
    mockserver.complete_session(mockserver.call("POST", SESSIONS, json={}).json()["sessionId"])
    chosen = [section(page(mockserver, f"?problem={number}"), "chosen") for number in (1, 2)]

    assert "1 attempt; of the deliveries 1 waiting" in chosen[0]
    assert "advance to the next attempt" in chosen[0]
    assert "resend to this one" not in chosen[0]
    assert "1 attempt; of the deliveries 1 abandoned" in chosen[1]
    assert "advance to the next attempt" not in chosen[1]
    assert "resend to this one" in chosen[1]


def test_the_page_of_an_event_has_a_line_for_each_attempt(mockserver: Sandbox) -> None:
    mockserver.receive_webhooks(lambda request: 503)
    mockserver.complete_session(mockserver.call("POST", SESSIONS, json={}).json()["sessionId"])
    mockserver.advance(minutes=1)
    event = mockserver.events[0]["id"]
    text = mockserver.call("GET", f"/_mock/events/{event}", headers={"Accept": "text/html"}).body.decode()
    lines = [
        " ".join(re.sub(r"<[^>]+>", " ", line).split()) for line in re.findall(r"<summary>(Attempt.*?)</summary>", text)
    ]

    assert ["Attempt 2", "Attempt 1"] == [line[:9] for line in lines]
    assert " 503 " in lines[0]
