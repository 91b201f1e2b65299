"""Receivers of webhooks in pytest's reports: what a receiver of the test has raised or returned."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from mockserver import MockServer
from mockserver.core.faults import injection
from mockserver.server import exchange
from tests.testing.conftest import Suite

CONNECT = """
def connect(mockserver):
    session = mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()
    mockserver.complete_session(session["sessionId"])
"""


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_failed_assertion_in_a_receiver_fails_its_test(suite: Suite, kind: str) -> None:
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


def test_any_other_exception_of_a_receiver_is_only_a_500_to_the_service(suite: Suite) -> None:
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


def test_a_forged_event_that_fails_an_assertion_fails_no_test(suite: Suite) -> None:
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


def test_the_first_line_names_what_a_receiver_has_returned_instead_of_a_response(suite: Suite) -> None:
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


@pytest.mark.parametrize("trace", ["off", "always"])
@pytest.mark.parametrize("end", ["pytest.fail('no such event')", "sys.exit(3)"])
@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_receiver_that_ends_the_test_fails_it_with_a_report_that_has_its_request(
    suite: Suite, kind: str, end: str, trace: str
) -> None:
    result = suite.run(
        CONNECT
        + f"""
import pytest, sys

def test_connect(mockserver):
    {kind} receive(request):
        {end}

    mockserver.receive_webhooks(receive)
    connect(mockserver)
""",
        f"--mockserver-trace={trace}",
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["the receiver raised *(test_mine.py:*", "*  test: complete session *"])


def test_a_receiver_cannot_end_the_test_while_its_report_is_made(suite: Suite) -> None:
    result = suite.run(
        """
import pytest

def test_connect(mockserver):
    session = mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()
    mockserver.receive_webhooks(lambda request: pytest.fail("no such event"))
    mockserver.on("listCampaigns").complete_session(session["sessionId"])
    mockserver.call("GET", "/v1/campaigns")
    assert 1 == 2, "the test's own failure"
"""
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*the test's own failure*"])


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit, GeneratorExit, pytest.fail.Exception])
def test_an_exit_of_a_receiver_is_its_answer_to_that_attempt(end: type[BaseException]) -> None:
    requests = []

    def receive(request: object) -> int:
        requests.append(request)
        if len(requests) == 1:
            raise end("no more")
        return 204

    with MockServer() as server, server.sandbox() as sandbox:
        sandbox.receive_webhooks(receive)
        sandbox.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={})
        with pytest.raises(end):
            sandbox.advance(minutes=20)
        assert ["advance"] == [each["do"] for each in sandbox.log.replay_document()["calls"] if "do" in each]

        sandbox.advance(seconds=5)

        assert [500, 204] == [each["status"] for each in sandbox.events[0]["deliveries"][0]["attempts"]]


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit, pytest.fail.Exception])
def test_a_coroutine_that_exits_leaves_the_loop_to_the_next_request(end: type[BaseException]) -> None:
    requests = []

    async def receive(request: object) -> int:
        requests.append(request)
        if len(requests) == 1:
            raise end("no more")
        return 204

    with MockServer() as server, server.sandbox() as sandbox:
        sandbox.receive_webhooks(receive)
        sandbox.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={})
        with pytest.raises(end):
            sandbox.advance(minutes=20)
        sandbox.advance(seconds=5)

        assert "delivered" == sandbox.events[0]["deliveries"][0]["status"]


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("with_rule", [False, True], ids=["plain", "with-a-rule"])
def test_a_signal_within_a_call_leaves_no_lock(
    monkeypatch: pytest.MonkeyPatch, with_rule: bool, end: type[BaseException]
) -> None:
    def interrupted(*_: object) -> None:
        raise end

    with MockServer() as server, server.sandbox() as sandbox, ThreadPoolExecutor(1) as other:
        if with_rule:
            sandbox.on("listCampaigns").complete_session()
        with monkeypatch.context() as patched, pytest.raises(end):
            patched.setattr(exchange, "handle_call", interrupted)
            patched.setattr(injection, "handle_call", interrupted)
            sandbox.call("GET", "/v1/campaigns")

        assert 200 == other.submit(lambda: sandbox.call("GET", "/v1/campaigns").status).result(10)
