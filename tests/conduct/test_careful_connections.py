"""
Careful apps, in the styles of strangers, on connection sessions: lost creates, late events, pages, restarts of receivers.

Each client acts as the API document says, and none has a finding of severity 1 or 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import flask
import pytest
import requests
from standardwebhooks import Webhook as Verifier
from standardwebhooks import WebhookVerificationError

from mockserver import Sandbox
from mockserver.testing.receivers import Receiver
from tests.conduct import test_careful_apps as careful_apps
from tests.conduct.findings import severe

SESSIONS = "/entrypoints/chatapp/connection-sessions"
JSON = Mapping[str, Any]


class App(careful_apps.App):
    """A back end that verifies each event, and refuses one of a session that it does not know."""

    def __init__(self, sandbox: Sandbox, agent: str = "acme-app/1", unknown: int = 404) -> None:
        super().__init__(sandbox, agent)
        self.sandbox, self.unknown = sandbox, unknown
        self.known: set[str] = set()
        self.events: list[JSON] = []

    def connect(self, **body: object) -> JSON:
        session: JSON = self("POST", SESSIONS, body).json()
        self.known.add(session["sessionId"])
        return session

    def read(self, session: JSON) -> JSON:
        answer: JSON = self("GET", f"{SESSIONS}/{session['sessionId']}").json()
        return answer

    def entrypoint(self, entrypoint_id: str) -> requests.Response:
        return self("GET", f"/entrypoints/{entrypoint_id}")

    def receive(self) -> Receiver:
        def receiver(request: Any) -> int:
            try:
                event = Verifier(webhook.secret).verify(request.body.decode(), dict(request.headers))
            except WebhookVerificationError:
                return 401
            if event["data"]["sessionId"] not in self.known:
                return self.unknown
            self.events.append(event)
            return 204

        webhook = self.sandbox.receive_webhooks(receiver)
        return webhook


def seconds_left(sandbox: Sandbox, session: JSON) -> float:
    return (datetime.fromisoformat(session["expiresAt"]) - sandbox.now).total_seconds()


def test_polls_end_at_expires_at_though_the_session_completes_in_the_last_second(mockserver: Sandbox) -> None:
    app = App(mockserver)
    session = app.connect()
    mockserver.at("19m59s").complete_session(id=session["sessionId"])
    mockserver.sleep(2)
    while seconds_left(mockserver, session) > 0:  # "stopping at a final event or after expiresAt"
        assert app.read(session)["status"] == "pending"
        mockserver.sleep(5)  # "every 2-5 seconds and only while pending"
    mockserver.sleep(120)

    assert [] == severe(mockserver)


def test_an_event_that_comes_again_is_not_missed_yet(mockserver: Sandbox) -> None:
    app = App(mockserver)
    mockserver.receive_webhooks(lambda request: 503)  # it restarts; the event comes again 5 s later
    app.connect()
    mockserver.advance(minutes=20)

    assert [] == severe(mockserver)


def test_an_event_of_another_application_of_the_tenant_is_refused(mockserver: Sandbox) -> None:
    app, other = App(mockserver, "web/1"), App(mockserver, "partner/1")
    app.receive()
    session, foreign = app.connect(), other.connect()
    mockserver.sleep(30)
    mockserver.complete_session(session["sessionId"])
    mockserver.complete_session(foreign["sessionId"])
    assert len(app.events) == 1
    mockserver.advance(minutes=1)

    assert [] == severe(mockserver)


def test_an_event_is_on_its_way_and_no_read_is_due(mockserver: Sandbox) -> None:
    app = App(mockserver)
    app.receive()
    mockserver.on("delivery").nth(1).deliver(delay="90s")
    session = app.connect(returnUrl="https://app.example/back")
    mockserver.sleep(5)
    mockserver.complete_session(session["sessionId"])
    mockserver.advance(seconds=70)  # the event is on its way

    assert [] == severe(mockserver)


def test_an_event_comes_again_after_its_receiver_has_restarted_and_no_read_is_due(mockserver: Sandbox) -> None:
    app, answers = App(mockserver), [503, 503, 204]
    mockserver.receive_webhooks(lambda request: answers.pop(0))
    session = app.connect(returnUrl="https://app.example/back")
    mockserver.sleep(5)
    mockserver.complete_session(session["sessionId"])
    mockserver.advance(seconds=70)  # comes again after 5 minutes

    assert [] == severe(mockserver)


def test_polls_go_on_next_to_a_forged_event(mockserver: Sandbox) -> None:
    """The receiver acknowledges and drops what is not of its tenant; the genuine event comes late; the polls continue."""
    app, tenants = App(mockserver), list[str]()

    def receiver(request: Any) -> int:
        tenants.append(request.json()["data"]["tenantId"])
        return 503 if tenants[-1] == mockserver.tenant_id else 204  # it restarts while the genuine event comes

    mockserver.receive_webhooks(receiver)
    mockserver.on("delivery").nth(1).deliver(forge="other-tenant")
    session = app.connect()
    mockserver.sleep(5)
    assert app.read(session)["status"] == "pending"
    mockserver.complete_session(session["sessionId"])
    mockserver.sleep(5)
    assert app.read(session)["status"] == "completed"  # the next poll, in any case
    assert {*tenants} > {mockserver.tenant_id}

    assert [] == severe(mockserver)


def test_a_client_waits_for_an_event_until_expires_at(mockserver: Sandbox) -> None:
    app, answers = App(mockserver), [503, 503, 204]
    mockserver.receive_webhooks(lambda request: answers.pop(0))
    session = app.connect()
    mockserver.sleep(3)
    assert app.read(session)["status"] == "pending"  # the user looked at the page once
    mockserver.complete_session(session["sessionId"])
    mockserver.advance(seconds=90)  # the receiver was restarted; the event comes after 5 minutes, before expiresAt

    assert [] == severe(mockserver)


def test_a_poll_that_was_sent_before_the_event_arrives_after_it(mockserver: Sandbox) -> None:
    app = App(mockserver)
    app.receive()
    session = app.connect()
    mockserver.at("5s").complete_session(id=session["sessionId"])
    mockserver.on("readConnectionSession").nth(1).delay("150s")
    with pytest.raises(requests.Timeout):
        app.read(session)  # sent at once, and given up after 10 s; the event has reported everything after 5 s
    assert len(app.events) == 1
    mockserver.advance(minutes=5)

    assert [] == severe(mockserver)


def test_a_read_after_an_event_waits_for_its_retry_after(mockserver: Sandbox) -> None:
    app = App(mockserver)
    app.receive()
    session = app.connect()
    mockserver.sleep(5)
    mockserver.complete_session(session["sessionId"])
    mockserver.on("readConnectionSession").nth(1).error("RATE_LIMIT_EXCEEDED", retry_after=300)
    app.read(session)
    mockserver.sleep(120)

    assert [] == severe(mockserver)


@pytest.mark.parametrize(("reads", "wait"), [(0, 300), (1, 110)])
def test_the_next_poll_waits_for_its_retry_after(mockserver: Sandbox, reads: int, wait: int) -> None:
    app = App(mockserver)
    session = app.connect(returnUrl="https://app.example/back")
    for _ in range(reads):
        mockserver.sleep(4)
        assert app.read(session)["status"] == "pending"
    mockserver.sleep(4)
    mockserver.on("readConnectionSession").nth(1).error("RATE_LIMIT_EXCEEDED", retry_after=wait)
    app.read(session)
    mockserver.complete_session(session["sessionId"])
    mockserver.sleep(90)

    assert [] == severe(mockserver)


def test_a_client_that_is_refused_at_one_session_reads_none(mockserver: Sandbox) -> None:
    app = App(mockserver)
    one, other = app.connect(), app.connect()
    mockserver.sleep(4)
    assert app.read(one)["status"] == app.read(other)["status"] == "pending"
    mockserver.admin.set_tenant(subscription="suspended")
    mockserver.sleep(4)
    assert app.read(one)["statusCode"] == 403
    mockserver.complete_session(other["sessionId"])
    mockserver.advance(minutes=3)

    assert [] == severe(mockserver)


@pytest.mark.mockserver(now="2026-03-01T12:00:00Z")
def test_a_receiver_refuses_old_timestamps_with_a_page_of_its_framework(mockserver: Sandbox) -> None:
    app, web = App(mockserver), flask.Flask("receiver")

    @web.post("/")
    def receive() -> tuple[str, int]:
        age = mockserver.now.timestamp() - int(flask.request.headers["webhook-timestamp"])
        return flask.abort(401) if abs(age) > 300 else ("", 204)

    mockserver.receive_webhooks(web)
    session = app.connect()
    mockserver.sleep(5)
    assert app.read(session)["status"] == "pending"
    mockserver.complete_session(session["sessionId"])
    mockserver.sleep(5)
    assert app.read(session)["status"] == "completed"

    assert [] == severe(mockserver)


def lose_a_create(sandbox: Sandbox, app: App) -> str:
    """Have the answer to a create lost, and return the id of its session, which the client never receives."""
    sandbox.on("createConnectionSession").nth(1).drop("after")
    careful_apps.lost(app.connect)
    return str(sandbox.state()["tenants"][0]["sessions"][-1]["id"])


@pytest.mark.parametrize("unknown", [400, 403])
@pytest.mark.parametrize("event", ["the only one", "with an accent", "after a rotation"])
def test_an_event_of_a_session_whose_create_was_lost_is_refused_as_it_likes(
    mockserver: Sandbox, unknown: int, event: str
) -> None:
    app = App(mockserver, unknown=unknown)
    webhook = app.receive()
    if event != "the only one":
        known = app.connect()
        mockserver.complete_session(known["sessionId"])
    lost = lose_a_create(mockserver, app)
    mockserver.sleep(5)
    if event == "after a rotation":
        mockserver.webhooks.rotate(webhook.id, f"whsec_{'QUJD' * 8}")
    mockserver.complete_session(lost, name="Clínica São João")
    mockserver.advance(seconds=30)

    assert [] == severe(mockserver)


def test_an_event_waits_behind_that_of_an_unknown_session(mockserver: Sandbox) -> None:
    app = App(mockserver, unknown=503)
    app.receive()
    lost = lose_a_create(mockserver, app)
    mockserver.sleep(5)
    mockserver.fail_session(lost, reason="phone_in_use")
    session = app.connect(returnUrl="https://app.example/back")
    mockserver.sleep(5)
    mockserver.complete_session(session["sessionId"])
    mockserver.advance(seconds=70)

    assert [] == severe(mockserver)
