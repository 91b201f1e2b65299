"""Conduct of webhook receivers and around the hosted page, from deliveries and visits."""

from __future__ import annotations

import pytest

from mockserver.testing.sandbox import Sandbox
from tests.conduct.provocation import GIVEN, NOON
from tests.conduct.records import Watched

pytestmark = pytest.mark.mockserver(given=GIVEN, now=NOON)

SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"


def test_a_receiver_may_not_know_the_id_of_an_event_that_precedes_the_response(mockserver: Sandbox) -> None:
    mockserver.on("createConnectionSession").complete_session()
    mockserver.receive_webhooks(lambda webhook: 409)
    mockserver.call("POST", SESSIONS, json={})

    assert [] == list(mockserver.conduct)


def test_a_link_that_its_client_never_received_was_blocked_by_nobody(mockserver: Sandbox) -> None:
    mockserver.on("createConnectionSession").nth(1).drop("after")
    with pytest.raises(ConnectionError):
        mockserver.call("POST", SESSIONS, json={})
    session = mockserver.call("POST", SESSIONS, json={}).json()
    mockserver.end_user(session).connect("+5511999990000")
    mockserver.advance("30m")

    assert [] == [finding for finding in mockserver.conduct.findings if finding.rule == "popup-blocked"]


def test_the_visit_of_a_scanner_does_not_imply_users_with_a_popup(mockserver: Sandbox) -> None:
    client = Watched(mockserver)
    scanned, unopened = client.connect(), client.connect(funnelStepId="funnel_step_a")
    client.visit(scanned, agent="TelegramBot (like TwitterBot)")
    client.wait("20m")
    client.session(scanned)
    client.session(unopened)

    assert () == client.judged().findings
    assert ["no user visited a hosted page"] == [
        each.why for each in client.judged().not_assessed if each.rule == "popup-blocked"
    ]
