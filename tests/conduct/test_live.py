"""Conduct from what really was delivered and visited: receivers in process, and a person at the hosted page."""

from __future__ import annotations

from typing import Any

import pytest

from mockserver import MockServer
from mockserver.testing.differential import compare
from mockserver.testing.sandbox import Sandbox
from tests.clients.driven import Client
from tests.clients.operations import SESSIONS
from tests.conduct.provocation import GIVEN, NOON

pytestmark = pytest.mark.mockserver(given=GIVEN, now=NOON)
FORGED = {
    "wrong-secret": "no-verify",
    "changed-body": "no-verify",
    "changed-id": "no-verify",
    "no-signature": "missing-header-passes",
    "old-timestamp": "no-tolerance",
}


def finished(sandbox: Sandbox) -> str:
    """A session that completes a second after its creation and is read: exchanges 1 and 2."""
    client = Client(sandbox)
    session = client.connect()
    sandbox.advance("1s")
    sandbox.complete_session(session)
    sandbox.advance("1s")
    client.session(session)
    return session


@pytest.mark.parametrize("forge", FORGED)
def test_a_receiver_that_accepts_forged_requests_has_findings(mockserver: Sandbox, forge: str):
    mockserver.receive_webhooks(lambda webhook: 204)
    mockserver.on("delivery").do({"deliver": {"forge": forge}})
    finished(mockserver)

    assert [(FORGED[forge], (1,))] == [(each.rule, each.exchanges) for each in mockserver.conduct]


@pytest.mark.parametrize("forge", FORGED)
def test_a_receiver_that_refuses_what_is_forged_is_clean(mockserver: Sandbox, forge: str):
    seen: list[Any] = []

    def receive(webhook: Any) -> int:
        seen.append(webhook)
        return 400 if len(seen) == 1 else 204  # the forged request arrives first

    mockserver.receive_webhooks(receive)
    mockserver.on("delivery").do({"deliver": {"forge": forge}})
    finished(mockserver)

    assert 2 == len(seen)
    assert [] == list(mockserver.conduct)


def test_refusing_an_unknown_event_kind_is_a_finding(mockserver: Sandbox):
    mockserver.receive_webhooks(
        lambda webhook: 204 if webhook.json()["event"].startswith("entrypoints.chatapp.conn") else 422
    )
    mockserver.on("delivery").do({"deliver": {"unknown-kind": "campaigns.completed"}})
    finished(mockserver)

    assert [("refuses-unknown-kind", (1,))] == [(each.rule, each.exchanges) for each in mockserver.conduct]


def test_a_secret_that_is_misread_refuses_every_delivery(mockserver: Sandbox):
    mockserver.receive_webhooks(lambda webhook: 401)
    finished(mockserver)

    assert ["secret-misread"] == [each.rule for each in mockserver.conduct]


def test_the_report_of_a_correct_receiver_lists_only_what_was_not_tried(mockserver: Sandbox):
    mockserver.receive_webhooks(lambda webhook: 204)
    finished(mockserver)

    assert [] == list(mockserver.conduct)
    assert {"no-verify", "missing-header-passes"} <= {each.rule for each in mockserver.conduct.not_assessed}


def test_an_end_user_who_completes_the_flow_causes_no_finding(mockserver: Sandbox):
    client = Client(mockserver)
    session = client.connect()
    with mockserver.end_user(session) as person:
        person.connect()
    client.session(session)

    assert [] == list(mockserver.conduct)
    assert "iframe" not in {each.rule for each in mockserver.conduct.not_assessed}


def test_a_second_user_agent_on_the_link_is_a_finding(mockserver: Sandbox):
    client = Client(mockserver)
    session = client.connect()
    for agent in ("One/1.0", "Other/2.0"):
        mockserver.end_user(session, user_agent=agent).open()

    assert [("link-shared-or-cached", (1,))] == [(each.rule, each.exchanges) for each in mockserver.conduct]


def test_requiring_parameters_on_the_return_url_is_a_finding(mockserver_server: MockServer):
    def client(sandbox: Sandbox) -> None:
        session = sandbox.call("POST", SESSIONS, json={"returnUrl": "https://crm.example/back"}).json()["sessionId"]
        with sandbox.end_user(session) as person:
            back = person.connect().location or ""
        if "sessionId=" in back:
            sandbox.call("GET", f"{SESSIONS}/{session}")

    found = compare(mockserver_server, client, now=NOON)

    assert ["require-return-params"] == [each.rule for each in found.findings]
    assert "return-query=session-and-status: step 2 is GET" in found.findings[0].message
