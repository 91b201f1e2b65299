"""The instants that the API returns are exact, also if the clock is between two milliseconds."""

from datetime import datetime, timedelta

import pytest

from mockserver import MockServer, Sandbox
from tests.operations import campaigning, session_calls

START = "2026-03-01T12:00:00.999654Z"
GIVEN = {"templates": [{"id": "template_plain"}], "chats": [{"id": f"chat_{place}"} for place in range(9)]}
pytestmark = pytest.mark.mockserver(now=START, given=GIVEN)


def _shown(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.option("expiry-driver", "timer")
@pytest.mark.clause("session.expires-at", "session.expired")
@pytest.mark.parametrize("driver", ["timer", "on-read"])
@pytest.mark.parametrize("format", ["milliseconds", "seconds", "microseconds", "offset"])
def test_a_session_is_expired_at_its_own_expires_at_in_every_format(
    mockserver: Sandbox, driver: str, format: str
) -> None:
    mockserver.choose({"datetime-spelling": format, "expiry-driver": driver})
    created = session_calls.create(mockserver)
    expires_at = _shown(created["expiresAt"])

    mockserver.advance(to=expires_at - timedelta(microseconds=1))
    assert "pending" == session_calls.read(mockserver, created["sessionId"])["status"]
    mockserver.advance(to=expires_at)
    assert "expired" == session_calls.read(mockserver, created["sessionId"])["status"]


@pytest.mark.clause("session.expires-at", "events.failed")
@pytest.mark.mockserver(choices={"wh-data-asymmetry": "same-keys"})
def test_the_event_of_an_expiry_occurred_at_the_expires_at(mockserver: Sandbox) -> None:
    expires_at = session_calls.create(mockserver)["expiresAt"]
    mockserver.advance(until="idle")

    assert expires_at == mockserver.events[0]["data"]["occurredAt"]


@pytest.mark.clause("session.url")
def test_the_link_is_valid_until_the_returned_expires_at(mockserver: Sandbox) -> None:
    created = session_calls.create(mockserver)
    user = mockserver.end_user(created["sessionId"])
    mockserver.advance(to=_shown(created["expiresAt"]) - timedelta(microseconds=1))
    assert 200 == user.open().status

    mockserver.advance(to=_shown(created["expiresAt"]))

    assert 410 == user.open().status


@pytest.mark.clause("send.message", "send.completed")
def test_a_run_of_one_message_starts_sends_and_completes_at_one_returned_instant(mockserver_server: MockServer) -> None:
    with mockserver_server.sandbox(now=START, given=GIVEN | {"chats": [{"id": "chat_only"}]}) as sandbox:
        ids = campaigning.run(sandbox)
        run = campaigning.entry(sandbox, ids[0])
        (message,) = campaigning.messages(sandbox, "chat_only")

    assert "completed" == run["status"]
    assert ["2026-03-01T12:00:00.999Z"] * 3 == [run["startedAt"], message["createdAt"], run["completedAt"]]


@pytest.mark.clause("messages.list")
def test_a_message_is_never_listed_below_one_that_was_there_before_its_campaign_started(mockserver: Sandbox) -> None:
    def add(text: str) -> None:
        message = {"chatId": "chat_0", "id": f"message_{text}", "text": text}
        mockserver.apply({"given": {"messages": [message]}})

    add("before")
    campaigning.run(mockserver, cadence=1)
    add("after")

    records = campaigning.messages(mockserver, "chat_0")
    assert ["after", "template_plain", "before"] == [record["text"] for record in records]


@pytest.mark.clause("start.size")
@pytest.mark.option("size-limit-base", "moving-day")
def test_a_message_returned_as_sent_a_day_ago_no_longer_counts(mockserver: Sandbox) -> None:
    mockserver.choose({"size-limit-values": {"chatapp": 9}, "size-limit-base": "moving-day"})
    ids = campaigning.run(mockserver, cadence=7)
    mockserver.advance(until="idle")
    ended = _shown(campaigning.entry(mockserver, ids[0])["completedAt"])
    again = campaigning.create(mockserver, name="Again")
    mockserver.advance(to=ended + timedelta(days=1) - timedelta(milliseconds=1))
    assert 422 == campaigning.start(mockserver, again).status

    mockserver.advance(to=ended + timedelta(days=1))

    assert 202 == campaigning.start(mockserver, again).status
