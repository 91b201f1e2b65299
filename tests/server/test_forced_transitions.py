"""Transitions forced through the control plane, and the events that follow from them."""

from collections.abc import Iterator

import pytest
import requests

from mockserver import MockServer
from mockserver._json import JSON
from tests.clients.operations import SESSIONS
from tests.server.control_calls import NOON, Made, make, refused

CAMPAIGN = {"name": "c", "platform": "chatapp", "templateId": "template_a", "cadence": 60}
GIVEN = {"templates": [{"id": "template_a"}], "chats": {"count": 100}}


@pytest.fixture
def made(mockserver_server: MockServer) -> Iterator[Made]:
    """A sandbox made over HTTP, frozen at noon."""
    fresh = make(mockserver_server.url, clock={"freeze": NOON}, given=GIVEN)
    yield fresh
    requests.delete(f"{fresh.server}/_mock/sandboxes/{fresh.id}", timeout=60)


class TestForcedMoves:
    def test_a_session_is_completed_as_its_public_read_shows_it(self, made: Made) -> None:
        session_id = made.session()

        reply = made.control("POST", f"/sessions/{session_id}/complete", {"phone": "+55 11 99999-0000", "name": "R"})

        assert (200, "completed", "+5511999990000") == (
            reply.status_code,
            reply.json()["status"],
            reply.json()["entrypoint"]["displayPhone"],
        )
        assert made.api("GET", f"{SESSIONS}/{session_id}").json() == reply.json()
        again = made.control("POST", f"/sessions/{made.session()}/complete", {"phone": "5511999990000"})
        assert (200, "failed", "phone_in_use") == (again.status_code, again.json()["status"], again.json()["reason"])

    @pytest.mark.parametrize(
        ("path", "body", "status"),
        [
            ("/sessions/unknown/complete", {}, 404),
            ("/sessions/unknown/fail", {"reason": "phone_in_use"}, 404),
            ("/sessions/unknown/expire", None, 404),
            ("/campaigns/unknown/fail", None, 404),
            ("/sessions/{}/fail", {}, 400),
            ("/sessions/{}/fail", {"reason": "phone_in_us"}, 400),
            ("/sessions/{}/fail", {"reason": "expired"}, 400),
            ("/sessions/{}/complete", {"phne": "+5511999990000"}, 400),
            ("/sessions/{}/complete", {"phone": "123"}, 400),
            ("/sessions/{}/complete", {"phone": None}, 400),
            ("/sessions/{}/complete", {"name": ""}, 400),
        ],
        ids=str,
    )
    def test_a_wrong_call_moves_nothing(self, made: Made, path: str, body: JSON | None, status: int) -> None:
        session_id = made.session()
        before = made.state()

        assert status == refused(made.control("POST", path.format(session_id), body))[0]
        assert before == made.state()

    def test_a_running_campaign_is_failed_and_a_draft_is_not(self, made: Made) -> None:
        campaign_id = made.api("POST", "/v1/campaigns", CAMPAIGN).json()["campaignId"]
        draft = made.control("POST", f"/campaigns/{campaign_id}/fail")
        made.api("POST", f"/v1/campaigns/{campaign_id}/start")

        reply = made.control("POST", f"/campaigns/{campaign_id}/fail")

        assert (409, "MOCK_ILLEGAL_MOVE") == refused(draft)
        assert "draft" in draft.json()["message"] and "processing" in draft.json()["message"]
        assert (200, "failed") == (reply.status_code, reply.json()["status"])
        assert made.api("GET", f"/v1/campaigns/{campaign_id}").json() == reply.json()
