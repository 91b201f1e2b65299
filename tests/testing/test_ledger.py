"""The ledger: each kind of side effect is listed with its ids and exchanges, and good behaviour leaves the lists empty."""

from __future__ import annotations

from typing import Any

import pytest

from mockserver.testing.sandbox import Sandbox

GIVEN = {"templates": [{"id": "template_t", "name": "T"}], "chats": [{"id": "chat_a"}, {"id": "chat_b"}]}
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"

pytestmark = pytest.mark.mockserver(given=GIVEN, now="2026-03-01T12:00:00Z")


def create(sandbox: Sandbox, name: str, **changes: Any) -> str:
    body = {"name": name, "platform": "chatapp", "templateId": "template_t", "cadence": 60} | changes
    return str(sandbox.call("POST", "/v1/campaigns", json=body).json()["campaignId"])


def start(sandbox: Sandbox, campaign_id: str) -> str:
    return str(sandbox.call("POST", f"/v1/campaigns/{campaign_id}/start").json()["executionId"])


def test_an_execution_is_listed_with_the_exchange_that_started_it(mockserver: Sandbox) -> None:
    campaign = create(mockserver, "Spring")
    execution = start(mockserver, campaign)
    mockserver.advance("5s")

    assert mockserver.ledger.executions == [
        {
            "tenantId": "tenant_default",
            "campaignId": campaign,
            "executionId": execution,
            "templateId": "template_t",
            "status": "completed",
            "targetCount": 2,
            "sentCount": 2,
            "failedCount": 0,
            "exchange": 2,
        }
    ]


def test_sent_messages_are_listed_by_chat_and_template_without_failures(mockserver: Sandbox) -> None:
    campaign = create(mockserver, "Spring")
    mockserver.on("startCampaign").fail_sends(chats=["chat_b"])
    execution = start(mockserver, campaign)
    mockserver.advance("5s")

    assert mockserver.ledger.sends == [
        {
            "tenantId": "tenant_default",
            "chatId": "chat_a",
            "templateId": "template_t",
            "values": {},
            "executionId": execution,
            "at": "2026-03-01T12:00:00.000Z",
        }
    ]


def test_two_campaigns_alike_within_a_day_send_twice(mockserver: Sandbox) -> None:
    campaigns = [create(mockserver, name) for name in ("Spring", "Spring (2)")]
    executions = [start(mockserver, campaign) for campaign in campaigns]
    mockserver.advance("5s")

    (duplicate,) = mockserver.ledger.duplicate_executions
    assert (duplicate["campaignIds"], duplicate["executionIds"], duplicate["exchanges"]) == (
        campaigns,
        executions,
        [3, 4],
    )
    assert [(row["chatId"], row["count"]) for row in mockserver.ledger.duplicate_sends] == [
        ("chat_a", 2),
        ("chat_b", 2),
    ]


def test_the_same_campaign_a_whole_day_later_is_not_a_duplicate(mockserver: Sandbox) -> None:
    today, tomorrow = create(mockserver, "Today"), create(mockserver, "Tomorrow")
    start(mockserver, today)
    mockserver.advance("1d")
    start(mockserver, tomorrow)
    mockserver.advance("5s")

    assert mockserver.ledger.duplicate_executions == []
    assert mockserver.ledger.duplicate_sends == []


def test_campaigns_of_the_seed_data_duplicate_nothing(mockserver: Sandbox) -> None:
    running = {"templateId": "template_t", "platform": "chatapp", "status": "processing"}
    mockserver.apply({"given": {"campaigns": [{**running, "name": name} for name in ("One", "Other")]}})
    mockserver.advance("5s")

    assert 2 == len(mockserver.ledger.executions)
    assert mockserver.ledger.duplicate_executions == []
    assert mockserver.ledger.duplicate_sends == []


def test_other_values_are_another_send(mockserver: Sandbox) -> None:
    mockserver.apply({"given": {"templates": [{"id": "template_v", "name": "V", "variables": [{"key": "var1"}]}]}})
    for value in ("A", "B"):
        campaign = create(mockserver, value, templateId="template_v")
        mockserver.call("POST", f"/v1/campaigns/{campaign}/start", json={"commonVariables": {"var1": value}})
    mockserver.advance("5s")

    assert mockserver.ledger.duplicate_sends == []
    assert mockserver.ledger.duplicate_executions == []


def test_a_campaign_made_again_after_a_lost_create_is_a_clone(mockserver: Sandbox) -> None:
    mockserver.on("createCampaign").times(1).drop("after")
    with pytest.raises(ConnectionError):
        create(mockserver, "Spring")
    mockserver.call(
        "POST",
        "/v1/campaigns",
        json={"name": "Spring", "platform": "chatapp", "templateId": "template_t", "cadence": 60},
    )
    clone = create(mockserver, "Spring (2)")

    (row,) = mockserver.ledger.cloned_campaigns
    assert (row["cloneId"], row["why"], row["exchanges"]) == (clone, "CAMPAIGN_NAME_ALREADY_EXISTS", [2, 3])


def test_a_campaign_under_another_name_is_not_a_clone_of_one_with_errors(mockserver: Sandbox) -> None:
    start(mockserver, create(mockserver, "Natal"))
    create_again = {"name": "Natal", "platform": "chatapp", "templateId": "template_t", "cadence": 60}
    assert mockserver.call("POST", "/v1/campaigns", json=create_again).json()["code"] == "CAMPAIGN_NAME_ALREADY_EXISTS"
    start(mockserver, create(mockserver, "Carnaval"))

    assert mockserver.ledger.cloned_campaigns == []
    assert not mockserver.conduct


@pytest.mark.parametrize(
    ("name", "is_clone"),
    [
        ("Week 1 (2)", True),
        ("week 1-retry", True),
        ("Copy of Week 1", True),
        ("Week 1_b", True),
        ("Week 12", False),
        ("Week 2", False),
        ("Midweek 1", False),
    ],
)
def test_a_clone_has_a_name_that_was_made_of_the_originals(mockserver: Sandbox, name: str, is_clone: bool) -> None:
    original = create(mockserver, "Week 1")
    start(mockserver, original)
    mockserver.call("POST", f"/v1/campaigns/{original}/start")
    create(mockserver, name)

    clones = [(row["originalId"], row["why"]) for row in mockserver.ledger.cloned_campaigns]
    assert clones == [(original, "CAMPAIGN_ALREADY_PROCESSING")] * is_clone


def test_a_session_that_is_never_read_again_is_abandoned(mockserver: Sandbox) -> None:
    sessions = [
        mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions").json()["sessionId"] for _ in range(2)
    ]
    mockserver.call("GET", f"/v1/entrypoints/chatapp/connection-sessions/{sessions[0]}")
    mockserver.advance("20m")

    assert mockserver.ledger.abandoned_sessions == [
        {"tenantId": "tenant_default", "sessionId": sessions[1], "status": "expired", "exchange": 2}
    ]


def test_an_unused_file_is_listed_with_its_upload(mockserver: Sandbox) -> None:
    files = {"files": ("a.png", PNG, "image/png")}
    url = f"{mockserver.base_url}/v1/messaging/media"
    uploaded = mockserver.requests_session().post(url, files=files, headers={"X-API-Key": mockserver.secret_key}).json()
    assert [{**row, "mediaId": ""} for row in mockserver.ledger.unused_media] == [
        {"tenantId": "tenant_default", "mediaId": "", "name": "a.png", "exchange": 1}
    ]

    item = {"type": "image", "text": "Oi", "mediaId": uploaded[0]["id"]}
    mockserver.apply({"given": {"templates": [{"id": "template_media", "name": "M", "items": [item]}]}})
    assert mockserver.ledger.unused_media == []
