"""Conduct from what really was delivered and visited: receivers in process, and a person at the hosted page."""

from __future__ import annotations

import time
from typing import Any

import pytest

from mockserver import MockServer
from mockserver.testing.sandbox import Sandbox
from tests.clients.driven import Client
from tests.conduct.provocation import GIVEN, NOON

pytestmark = pytest.mark.mockserver(given=GIVEN, now=NOON)
FORGED = {
    "wrong-secret": "no-verify",
    "changed-body": "no-verify",
    "changed-id": "no-verify",
    "junk-header": "no-verify",
    "no-signature": "missing-header-passes",
    "old-timestamp": "accepts-old-timestamps",
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
def test_a_receiver_that_accepts_forged_requests_has_findings(mockserver: Sandbox, forge: str) -> None:
    mockserver.receive_webhooks(lambda webhook: 204)
    mockserver.on("delivery").do({"deliver": {"forge": forge}})
    finished(mockserver)

    assert [(FORGED[forge], (1,))] == [(each.rule, each.exchanges) for each in mockserver.conduct]


@pytest.mark.parametrize("forge", FORGED)
def test_a_receiver_that_refuses_what_is_forged_is_clean(mockserver: Sandbox, forge: str) -> None:
    seen: list[Any] = []

    def receive(webhook: Any) -> int:
        seen.append(webhook)
        return 400 if len(seen) == 1 else 204  # the forged request arrives first

    mockserver.receive_webhooks(receive)
    mockserver.on("delivery").do({"deliver": {"forge": forge}})
    finished(mockserver)

    assert 2 == len(seen)
    assert [] == list(mockserver.conduct)


def test_refusing_an_unknown_event_kind_is_a_finding(mockserver: Sandbox) -> None:
    mockserver.receive_webhooks(
        lambda webhook: 204 if webhook.json()["event"].startswith("entrypoints.chatapp.conn") else 422
    )
    mockserver.on("delivery").do({"deliver": {"unknown-kind": "campaigns.completed"}})
    finished(mockserver)

    assert [("refuses-unknown-kind", (1,))] == [(each.rule, each.exchanges) for each in mockserver.conduct]


@pytest.mark.parametrize("settings", [{"now": None}, {"now": NOON, "choices": {"wh-timestamp": "sandbox-clock"}}])
def test_a_secret_that_is_misread_refuses_every_delivery(
    mockserver_server: MockServer, settings: dict[str, Any]
) -> None:
    with mockserver_server.sandbox(given=GIVEN, **settings) as sandbox:
        sandbox.receive_webhooks(lambda webhook: 401)
        finished(sandbox)

        assert ["secret-misread"] == [each.rule for each in sandbox.conduct]


@pytest.mark.mockserver(now=NOON, choices={"wh-timestamp": "sandbox-clock"})
def test_a_receiver_that_has_the_processs_clock_is_told_of_the_option_that_signs_by_it(mockserver: Sandbox) -> None:
    def receive(request: Any) -> int:
        return 204 if abs(time.time() - int(request.headers["webhook-timestamp"])) <= 300 else 401

    mockserver.receive_webhooks(receive)
    finished(mockserver)

    assert ["secret-misread"] == [each.rule for each in mockserver.conduct]
    assert "needs `wh-timestamp: process-clock`" in mockserver.conduct[0].message


@pytest.mark.mockserver(choices={"wh-signature": "hub-sha256"})
def test_a_receiver_that_verifies_another_scheme_is_told_of_the_one_that_is_chosen(mockserver: Sandbox) -> None:
    mockserver.receive_webhooks(lambda request: 204 if "webhook-signature" in request.headers else 401)
    finished(mockserver)

    (found,) = mockserver.conduct
    assert "secret-misread" == found.rule
    assert found.message.endswith("they are signed as `wh-signature: hub-sha256` says")


def has_age(sandbox: Sandbox, statuses: list[int]) -> Any:
    """A receiver that refuses a timestamp of more than five minutes from the sandbox's clock, and has no other fault."""

    def receive(request: Any) -> int:
        age = sandbox.now.timestamp() - int(request.headers["webhook-timestamp"])
        statuses.append(204 if abs(age) <= 300 else 401)
        return statuses[-1]

    return receive


def by_age(sandbox: Sandbox) -> set[str]:
    return {each.rule for each in sandbox.conduct.not_assessed if "choose `wh-timestamp: sandbox-clock`" in each.why}


def test_a_receiver_that_has_the_sandboxs_clock_refuses_every_delivery_by_its_age(mockserver: Sandbox) -> None:
    statuses: list[int] = []
    mockserver.receive_webhooks(has_age(mockserver, statuses))
    finished(mockserver)

    assert ([401], [], {"secret-misread"}) == (statuses, list(mockserver.conduct), by_age(mockserver))


@pytest.mark.mockserver(now=None)
def test_a_receiver_that_has_the_sandboxs_clock_takes_a_fresh_delivery_and_refuses_late_ones(
    mockserver: Sandbox,
) -> None:
    statuses: list[int] = []
    mockserver.receive_webhooks(has_age(mockserver, statuses))
    finished(mockserver)
    client = Client(mockserver)
    session = client.connect()
    mockserver.advance(minutes=20)
    client.session(session)
    assert [204, 401] == statuses

    assert [] == list(mockserver.conduct)
    assert "secret-misread" in by_age(mockserver)


@pytest.mark.mockserver(now=None)
def test_a_late_retry_may_be_refused_by_its_age(mockserver: Sandbox) -> None:
    statuses: list[int] = []
    receive = has_age(mockserver, statuses)
    mockserver.receive_webhooks(
        lambda request: 204 if request.json()["event"].endswith(".connected") else receive(request)
    )
    finished(mockserver)
    mockserver.on("delivery").nth(1).deliver(delay="10m")
    mockserver.fail_session(Client(mockserver).connect(), reason="phone_in_use")
    mockserver.advance(minutes=11)
    assert {401} == set(statuses)

    assert [] == list(mockserver.conduct)
    assert {"secret-misread"} == by_age(mockserver)
