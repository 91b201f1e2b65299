"""Careful clients whose call arrives after they have given it up, sooner or later in what they do next: no finding."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mockserver import Sandbox
from mockserver.contract.endpoints import OperationName
from mockserver.judge.client.judge import judge
from mockserver.trace.reading import read_recording
from tests.clients.driven import Client, body_of
from tests.conduct.provocation import GIVEN, NOON

pytestmark = pytest.mark.mockserver(given=GIVEN, now=NOON)
DELAYS = ("12s", "40s", "30m")
TIMEOUT_S, PAUSE_S = 10, 15
SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"


def polls(c: Client, path: str, *, until: tuple[str, ...]) -> None:
    """Read a campaign or session until its end."""
    for _ in range(200):
        answer = c.ask("GET", path, timeout=TIMEOUT_S)
        if answer is not None and body_of(answer)["status"] in until:
            return
        c.sandbox.advance(PAUSE_S)
    raise AssertionError(f"{path} has no end")


def campaign_is_followed(c: Client) -> None:
    campaign, _ = c.launch(cadence=1)
    polls(c, f"/v1/campaigns/{campaign}", until=("completed", "failed", "canceled"))


def session_is_followed(c: Client) -> None:
    session = body_of(c.ask("POST", SESSIONS, json={}))["sessionId"]
    polls(c, f"{SESSIONS}/{session}", until=("completed", "failed", "expired"))


def execution_is_followed_until_it_takes_too_long(c: Client) -> None:
    campaign, execution = c.launch(cadence=1)
    for _ in range(3):
        c.ask("GET", f"/v1/campaigns/{campaign}/executions/{execution}", timeout=TIMEOUT_S)
        c.sandbox.advance(PAUSE_S)
    assert 204 == c.sandbox.call("POST", f"/v1/campaigns/{campaign}/cancel").status


def campaign_is_canceled_until_it_is(c: Client) -> None:
    campaign, _ = c.launch(cadence=1)
    for _ in range(8):
        c.ask("POST", f"/v1/campaigns/{campaign}/cancel", timeout=TIMEOUT_S)
        if body_of(c.campaign(campaign))["status"] == "canceled":
            return
        c.sandbox.advance(PAUSE_S)


def limit_is_respected(c: Client) -> None:
    c.sandbox.on("listCampaigns").nth(2).error("RATE_LIMIT_EXCEEDED", retry_after=60)
    assert c.ask("GET", "/v1/campaigns", timeout=TIMEOUT_S) is None
    assert 429 == c.sandbox.call("GET", "/v1/campaigns").status
    c.sandbox.advance(61)
    assert 200 == c.sandbox.call("GET", "/v1/campaigns").status


def refusal_is_believed(c: Client) -> None:
    body = {"name": "", "platform": "chatapp", "templateId": "template_t", "cadence": 60}
    assert c.ask("POST", "/v1/campaigns", json=body, timeout=TIMEOUT_S) is None
    assert [] == body_of(c.ask("GET", "/v1/campaigns"))["campaigns"]
    assert 400 == c.sandbox.call("POST", "/v1/campaigns", json=body).status


def all_pages_are_read(c: Client) -> None:
    cursor = ""
    for _ in range(8):
        page = c.ask("GET", f"/v1/messaging/chats/chat_a?limit=2{cursor}", timeout=TIMEOUT_S)
        if page is None:
            c.sandbox.advance(PAUSE_S)
        elif following := body_of(page).get("nextCursor"):
            cursor = f"&cursor={following}"
        else:
            return


LIVES: dict[OperationName, tuple[Callable[[Client], None], tuple[int, ...]]] = {
    "readCampaign": (campaign_is_followed, (1, 2, 3)),
    "readExecution": (execution_is_followed_until_it_takes_too_long, (1, 2, 3)),
    "readConnectionSession": (session_is_followed, (1, 2, 3)),
    "cancelCampaign": (campaign_is_canceled_until_it_is, (1,)),
    "listCampaigns": (limit_is_respected, (1,)),
    "createCampaign": (refusal_is_believed, (1,)),
    "listMessages": (all_pages_are_read, (1, 2, 3)),
}


@pytest.mark.parametrize("delay", DELAYS)
@pytest.mark.parametrize(
    ("operation", "nth"), [(operation, nth) for operation, (_, numbers) in LIVES.items() for nth in numbers]
)
def test_a_careful_client_whose_call_arrives_late_has_no_finding(
    mockserver: Sandbox, tmp_path: Path, operation: OperationName, nth: int, delay: str
) -> None:
    mockserver.on(operation).nth(nth).delay(delay)
    LIVES[operation][0](Client(mockserver))
    mockserver.advance("90m")

    assert [] == [finding.message for finding in mockserver.conduct.findings]
    assert any("givenUp" in exchange for exchange in mockserver.log.journal["exchanges"])
    for number, recording in enumerate((mockserver.log.har(), mockserver.log.journal)):
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps(recording), encoding="utf-8")
        assert () == judge(read_recording(file)).findings


def test_a_retry_that_is_too_early_is_found_next_to_a_call_that_arrives_late(mockserver: Sandbox) -> None:
    c = Client(mockserver)
    mockserver.on("listCampaigns").nth(1).delay("40s")
    mockserver.on("listCampaigns").nth(2).error("RATE_LIMIT_EXCEEDED", retry_after=60)
    for _ in range(3):
        c.ask("GET", "/v1/campaigns", timeout=TIMEOUT_S)
        mockserver.advance(PAUSE_S)

    assert ["ignore-retry-after"] == [finding.rule for finding in mockserver.conduct.findings]
