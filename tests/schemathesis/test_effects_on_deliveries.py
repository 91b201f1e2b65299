"""Open points about events whose other answers are effects of a scenario on their delivery: each is reached."""

from __future__ import annotations

from typing import Any

import pytest
from standardwebhooks import Webhook

from mockserver.testing.sandbox import Sandbox
from tests.clients.operations import SESSIONS


class Inbox:
    """A receiver that accepts and records everything."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.received: list[tuple[dict[str, str], bytes]] = []
        self.events: list[str] = []
        self.sessions: list[str] = []
        self.ids: list[str] = []
        self.registered = sandbox.receive_webhooks(self._take)

    def _take(self, request: Any) -> int:
        body = request.json()
        self.received.append((dict(request.headers), request.body))
        self.events.append(body["event"])
        self.sessions.append(body["data"].get("sessionId", ""))
        self.ids.append(request.headers["webhook-id"])
        return 204


@pytest.fixture
def inbox(mockserver: Sandbox) -> Inbox:
    return Inbox(mockserver)


def create(sandbox: Sandbox) -> str:
    return str(sandbox.call("POST", SESSIONS).json()["sessionId"])


@pytest.mark.option("event-before-202-read", "effect")
def test_the_event_arrives_before_the_202(mockserver: Sandbox) -> None:
    seen: list[str] = []
    mockserver.receive_webhooks(lambda request: seen.append(f"event of {request.json()['data']['sessionId']}"))
    mockserver.on("createConnectionSession").complete_session()
    mockserver.on("delivery").deliver(before_answer=True)
    reply = mockserver.call("POST", SESSIONS)
    seen.append(f"answer {reply.status} of {reply.json()['sessionId']}")

    session = reply.json()["sessionId"]
    assert seen == [f"event of {session}", f"answer 202 of {session}"]
    assert reply.json()["status"] == "pending"


@pytest.mark.option("wh-duplicates", "effect")
def test_an_accepted_event_is_sent_again(mockserver: Sandbox, inbox: Inbox) -> None:
    mockserver.on("delivery").deliver(duplicate=2)
    mockserver.complete_session(create(mockserver))

    assert len(inbox.ids) == 3
    assert len(set(inbox.ids)) == 1


@pytest.mark.option("wh-order", "effect")
def test_an_event_arrives_after_its_successor(mockserver: Sandbox, inbox: Inbox) -> None:
    mockserver.on("delivery").times(1).deliver(reorder=True)
    first, second = create(mockserver), create(mockserver)
    mockserver.fail_session(first)
    mockserver.complete_session(second)

    assert inbox.sessions == [second, first]


@pytest.mark.option("wh-unknown-kind", "effect")
def test_an_event_of_another_kind_is_sent_to_the_same_url(mockserver: Sandbox, inbox: Inbox) -> None:
    mockserver.on("delivery").deliver(unknown_kind="entrypoints.photoapp.renamed")
    mockserver.complete_session(create(mockserver))

    assert sorted(inbox.events) == ["entrypoints.chatapp.connected", "entrypoints.photoapp.renamed"]


@pytest.mark.option("wh-latency", "effect")
def test_an_event_arrives_minutes_after_the_change(mockserver: Sandbox, inbox: Inbox) -> None:
    mockserver.on("delivery").times(1).deliver(delay="5m")
    session = create(mockserver)
    mockserver.complete_session(session)
    mockserver.advance("4m59s")
    assert inbox.sessions == []

    mockserver.advance("1s")
    assert inbox.sessions == [session]


def test_during_a_rotation_an_event_carries_two_signatures(mockserver: Sandbox, inbox: Inbox) -> None:
    mockserver.on("delivery").deliver(old_secret=True)
    mockserver.complete_session(create(mockserver))

    ((headers, body),) = inbox.received
    assert len(headers["webhook-signature"].split(" ")) == 2
    assert Webhook(inbox.registered.secret).verify(body.decode(), headers)["event"] == "entrypoints.chatapp.connected"
