"""Twenty tests that fail, each for the reason in its name: what their reports print and write is part of the proof of equality."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from mockserver import Sandbox

GIVEN: dict[str, Any] = {"templates": [{"id": "template_one"}], "chats": {"count": 3}}
BODY = {"name": "Promo", "platform": "chatapp", "templateId": "template_one", "cadence": 1}
SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
POLLS = 40
# requests draws a boundary at random.
PART = (
    b'--part\r\nContent-Disposition: form-data; name="files"; filename="notes.txt"\r\nContent-Type: text/x-unknown\r\n\r\n'
    b"text\r\n--part--\r\n"
)


@pytest.fixture
def api(mockserver: Sandbox) -> Sandbox:
    mockserver.apply(given=GIVEN)
    return mockserver


def created(api: Sandbox, **changes: Any) -> str:
    return str(api.call("POST", "/v1/campaigns", json=BODY | changes).json()["campaignId"])


def launched(api: Sandbox) -> tuple[str, str]:
    campaign = created(api)
    started = api.call("POST", f"/v1/campaigns/{campaign}/start").json()
    return campaign, started["executionId"]


def read(api: Sandbox, campaign: str) -> Any:
    return api.call("GET", f"/v1/campaigns/{campaign}").json()


def test_no_call_was_made(api: Sandbox) -> None:
    assert api.ledger.executions


def test_the_key_is_wrong(api: Sandbox) -> None:
    requests.get(f"{api.base_url}/v1/campaigns", headers={"X-API-Key": "sk_wrong"}).raise_for_status()


def test_the_key_is_in_another_header(api: Sandbox) -> None:
    headers = {"Authorization": f"Bearer {api.secret_key}"}
    assert requests.get(f"{api.base_url}/v1/campaigns", headers=headers).status_code == 200


def test_the_path_is_unknown(api: Sandbox) -> None:
    assert api.call("GET", "/v1/campaign").status == 200


def test_the_body_is_invalid(api: Sandbox) -> None:
    assert api.call("POST", "/v1/campaigns", json=BODY | {"cadence": 0}).status == 201


def test_the_template_is_unknown(api: Sandbox) -> None:
    created(api, templateId="template_none")


def test_the_campaign_is_started_twice(api: Sandbox) -> None:
    campaign, _ = launched(api)
    again = api.call("POST", f"/v1/campaigns/{campaign}/start")
    assert again.status == 200, again.json()


def test_the_clock_does_not_move(api: Sandbox) -> None:
    campaign, _ = launched(api)
    assert read(api, campaign)["status"] == "completed"


def test_the_client_polls_without_end(api: Sandbox) -> None:
    campaign, execution = launched(api)
    for _ in range(POLLS):
        api.call("GET", f"/v1/campaigns/{campaign}/executions/{execution}")
    raise TimeoutError("the execution did not end")


def test_the_campaign_was_canceled(api: Sandbox) -> None:
    campaign, _ = launched(api)
    api.call("POST", f"/v1/campaigns/{campaign}/cancel")
    assert read(api, campaign)["status"] == "completed"


def test_the_client_is_limited(api: Sandbox) -> None:
    api.on("listCampaigns").nth(2).error("RATE_LIMIT_EXCEEDED")
    statuses = [api.call("GET", "/v1/campaigns").status for _ in range(3)]
    assert statuses == [200, 200, 200]


def test_the_answer_of_a_create_is_lost(api: Sandbox) -> None:
    api.on("createCampaign").drop("after")
    api.requests_session().post(
        f"{api.base_url}/v1/campaigns", json=BODY, headers={"X-API-Key": api.secret_key}, timeout=5
    )


def test_a_second_campaign_was_created(api: Sandbox) -> None:
    created(api)
    created(api, name="Promo (2)")
    assert len(api.call("GET", "/v1/campaigns").json()["campaigns"]) == 1


def test_the_filter_selects_another_platform(api: Sandbox) -> None:
    statement = {"field": "chat.platform", "operator": "equals", "value": "photoapp"}
    filters = [{"combinator": "and", "statements": [statement]}]
    counted = api.call("POST", "/v1/campaigns/audience-preview", json={"filters": filters}).json()
    assert counted["estimatedCount"] == 3


def test_the_field_has_another_name(api: Sandbox) -> None:
    campaign = created(api)
    assert read(api, campaign)["executionCount"] == 0


def test_the_session_has_expired(api: Sandbox) -> None:
    session = api.call("POST", SESSIONS, json={}).json()["sessionId"]
    api.advance(hours=3)
    assert api.call("GET", f"{SESSIONS}/{session}").json()["status"] == "completed"


@pytest.mark.mockserver(choices={"wh-timestamp": "sandbox-clock"})
def test_the_receiver_refuses_an_event(api: Sandbox) -> None:
    seen: list[int] = []

    def refuse(event: Any) -> int:
        seen.append(1)
        return 500

    api.receive_webhooks(refuse)
    session = api.call("POST", SESSIONS, json={}).json()["sessionId"]
    api.complete_session(session)
    api.advance(minutes=1)
    assert seen == []


def test_the_file_has_a_refused_type(api: Sandbox) -> None:
    response = api.requests_session().post(
        f"{api.base_url}/v1/messaging/media",
        data=PART,
        headers={"X-API-Key": api.secret_key, "Content-Type": "multipart/form-data; boundary=part"},
    )
    assert response.status_code == 200, response.text


def test_the_client_raises_before_its_second_call(api: Sandbox) -> None:
    api.call("GET", "/v1/campaigns")
    raise ValueError("the client cannot read the answer")


@pytest.mark.mockserver(conduct="error")
def test_the_client_starts_without_reading_after_a_lost_answer(api: Sandbox) -> None:
    api.on("startCampaign").nth(1).drop("after")
    campaign = created(api)
    for _ in range(2):
        try:
            api.call("POST", f"/v1/campaigns/{campaign}/start")
        except OSError:
            continue
