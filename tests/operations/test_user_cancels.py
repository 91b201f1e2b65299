"""What becomes of a session whose end user cancels the flow."""

import pytest

from mockserver import Sandbox
from mockserver._json import JSON
from tests.clients.operations import SESSIONS


def read(mockserver: Sandbox, session_id: str) -> JSON:
    body: JSON = mockserver.call("GET", f"{SESSIONS}/{session_id}").json()
    return body


@pytest.fixture
def session_id(mockserver: Sandbox) -> str:
    return str(mockserver.call("POST", SESSIONS, json={}).json()["sessionId"])


@pytest.mark.clause("session.user-cancels", "session.failed")
@pytest.mark.option("user-cancels", "failed")
def test_a_cancellation_is_a_failed_token_exchange(mockserver: Sandbox, session_id: str) -> None:
    mockserver.cancel_session(session_id)

    assert ("failed", "token_exchange_failed") == (
        read(mockserver, session_id)["status"],
        read(mockserver, session_id)["reason"],
    )
    assert ["entrypoints.chatapp.connection_failed"] == [event["event"] for event in mockserver.events]


@pytest.mark.clause("session.user-cancels")
@pytest.mark.option("user-cancels", "pending")
@pytest.mark.mockserver(choices={"user-cancels": "pending"})
def test_a_cancellation_may_be_noticed_only_at_the_deadline(mockserver: Sandbox, session_id: str) -> None:
    mockserver.cancel_session(session_id)
    assert "pending" == read(mockserver, session_id)["status"]

    mockserver.advance(minutes=20)

    assert ("expired", "expired") == (
        read(mockserver, session_id)["status"],
        read(mockserver, session_id)["reason"],
    )


@pytest.mark.clause("session.final")
def test_a_session_that_has_ended_cannot_be_canceled(mockserver: Sandbox, session_id: str) -> None:
    mockserver.complete_session(session_id)

    with pytest.raises(ValueError, match="in the state completed; expected pending"):
        mockserver.cancel_session(session_id)
