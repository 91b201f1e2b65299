"""Receivers of webhooks in pytest's reports: what a receiver of the test has raised or returned."""

from __future__ import annotations

import pytest

from tests.testing.conftest import Suite

CONNECT = """
def connect(mockserver):
    session = mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()
    mockserver.complete_session(session["sessionId"])
"""


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_failed_assertion_in_a_receiver_fails_its_test(suite: Suite, kind: str):
    result = suite.run(
        CONNECT
        + f"""
def test_connect(mockserver):
    {kind} receive(request):
        assert request.json()["event"] == "another"

    mockserver.receive_webhooks(receive)
    connect(mockserver)
"""
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "an assertion in a webhook receiver failed:",
            "  the receiver raised AssertionError: assert * == 'another' (test_mine.py:*",
        ]
    )


def test_any_other_exception_of_a_receiver_is_only_a_500_to_the_service(suite: Suite):
    result = suite.run(
        CONNECT
        + """
def test_connect(mockserver):
    def receive(request):
        raise LookupError("the database is down")

    mockserver.receive_webhooks(receive)
    connect(mockserver)
"""
    )

    result.assert_outcomes(passed=1)


def test_a_forged_event_that_fails_an_assertion_fails_no_test(suite: Suite):
    result = suite.run(
        CONNECT
        + """
def test_connect(mockserver):
    from standardwebhooks import Webhook, WebhookVerificationError

    def receive(request):
        try:
            Webhook(hook.secret).verify(request.body, dict(request.headers))
        except WebhookVerificationError:
            assert False, "forged"

    hook = mockserver.receive_webhooks(receive)
    mockserver.on("delivery").deliver(forge="wrong-secret")
    connect(mockserver)
"""
    )

    result.assert_outcomes(passed=1)


def test_the_first_line_names_what_a_receiver_has_returned_instead_of_a_response(suite: Suite):
    result = suite.run(
        CONNECT
        + """
def test_connect(mockserver):
    hook = mockserver.receive_webhooks(lambda request: {"ok": True})
    connect(mockserver)
    assert hook.deliveries[0]["status"] == "delivered"
"""
    )

    result.stdout.fnmatch_lines(
        [
            "the receiver webhook_* answered 500 to entrypoints.chatapp.connected event_*: the receiver returned a dict; expected *",
        ]
    )
