"""`GET /_mock/report`: why a test in any language failed, as text or as JSON."""

from __future__ import annotations

import pytest

from mockserver._json import JSON
from tests.server.control_calls import Made

GIVEN = {
    "templates": [{"id": "t", "name": "T", "items": [{"type": "text", "text": "Oi"}], "variables": []}],
    "chats": [{"id": "one"}, {"id": "two"}],
}
NEW = {"name": "Uma", "platform": "chatapp", "templateId": "t", "cadence": 1}


@pytest.fixture
def recipe() -> JSON:
    return {"given": GIVEN}


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
        ("image/png", "text/plain"),
        ("application/json", "application/json"),
        ("text/plain;q=0.5, application/json", "application/json"),
    ],
)
def test_the_type_follows_accept(made: Made, accept: str, kind: str) -> None:
    assert kind == made.control("GET", "/report", headers={"Accept": accept}).headers["content-type"].partition(";")[0]


def test_a_report_changes_nothing(made: Made) -> None:
    started_twice(made)
    before = made.state(), made.control("GET", "/steps").content

    text(made)

    assert before == (made.state(), made.control("GET", "/steps").content)
