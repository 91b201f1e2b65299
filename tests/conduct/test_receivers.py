"""Conduct of webhook receivers and around the hosted page, from deliveries and visits."""

from __future__ import annotations

import pytest

from mockserver.testing.sandbox import Sandbox
from tests.conduct.provocation import GIVEN, NOON, Provocation
from tests.conduct.provocations_of_receivers import PAGE, RECEIVERS
from tests.conduct.records import Watched

pytestmark = pytest.mark.mockserver(given=GIVEN, now=NOON)
EACH = pytest.mark.parametrize("provocation", (*RECEIVERS, *PAGE), ids=lambda each: each.id)


@EACH
@pytest.mark.clause("advice.top-level", "advice.store-session")
def test_a_careless_client_is_found_with_the_exchanges_that_prove_it(mockserver: Sandbox, provocation: Provocation):
    client = Watched(mockserver)
    provocation.careless(client)

    assert [(provocation.rule, tuple(provocation.exchanges))] == [
        (each.rule, each.exchanges) for each in client.judged().findings
    ]


@EACH
def test_a_careful_client_at_the_same_task_is_not(mockserver: Sandbox, provocation: Provocation):
    client = Watched(mockserver)
    provocation.careful(client)

    assert () == client.judged().findings


def test_an_event_that_a_rule_sends_during_the_creation_came_before_the_answer(mockserver: Sandbox):
    mockserver.on("createConnectionSession").complete_session()
    mockserver.receive_webhooks(lambda letter: 500)
    mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={})

    (found,) = mockserver.conduct
    assert "event-before-answer" == found.rule
    assert "arrived before the create's response, got 500" in found.message


def test_a_receiver_that_breaks_in_the_instant_of_the_creation_is_not_told_to_have_been_too_early(mockserver: Sandbox):
    mockserver.receive_webhooks(lambda letter: 500)
    session = mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()["sessionId"]
    mockserver.complete_session(session)

    assert [] == list(mockserver.conduct)


def test_a_scanners_visit_is_no_sign_that_there_are_users_whose_popup_could_be_blocked(mockserver: Sandbox):
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
