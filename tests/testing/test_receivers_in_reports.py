"""Receivers of webhooks in pytest's reports: what a receiver of the test has raised or returned."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from mockserver import MockServer
from mockserver.core.faults import injection
from tests.testing.conftest import Suite

CONNECT = """
def connect(mockserver):
    session = mockserver.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()
    mockserver.complete_session(session["sessionId"])
"""


ASSERTS = """
    {kind} receive(request):
        assert request.json()["event"] == "another"

    mockserver.receive_webhooks(receive)
"""
RAISES = """
    def receive(request):
        raise LookupError("the database is down")

    mockserver.receive_webhooks(receive)
"""
ASSERTS_OF_A_FORGED_ONE = """
    from standardwebhooks import Webhook, WebhookVerificationError

    def receive(request):
        try:
            Webhook(hook.secret).verify(request.body, dict(request.headers))
        except WebhookVerificationError:
            assert False, "forged"

    hook = mockserver.receive_webhooks(receive)
    mockserver.on("delivery").deliver(forge="wrong-secret")
"""


@pytest.mark.parametrize(
    ("receiver", "outcome"),
    [
        (ASSERTS.format(kind="def"), {"failed": 1}),
        (ASSERTS.format(kind="async def"), {"failed": 1}),
        (RAISES, {"passed": 1}),
        (ASSERTS_OF_A_FORGED_ONE, {"passed": 1}),
    ],
    ids=["assertion", "assertion-of-a-coroutine", "exception", "forged"],
)
def test_a_failed_assertion_in_a_receiver_alone_fails_its_test(
    suite: Suite, receiver: str, outcome: dict[str, int]
) -> None:
    result = suite.run(f"{CONNECT}\ndef test_connect(mockserver):{receiver}    connect(mockserver)\n")

    assert outcome == {name: count for name, count in result.parseoutcomes().items() if name in ("failed", "passed")}


def test_a_receiver_that_ends_the_test_fails_it_with_a_report_that_has_its_request(suite: Suite) -> None:
    test = """
@pytest.mark.parametrize("end", [lambda: pytest.fail('no such event'), lambda: sys.exit(3)])
def test_{kind}(mockserver, end):
    {declared} receive(request):
        end()

    mockserver.receive_webhooks(receive)
    connect(mockserver)
"""
    tests = test.format(kind="plain", declared="def"), test.format(kind="coroutine", declared="async def")
    result = suite.run("\n".join(["import pytest, sys", CONNECT, *tests]))

    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(["the receiver raised *(test_mine.py:*", "*  test: complete session *"] * 4)


@pytest.mark.parametrize("is_coroutine", [False, True])
@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit, GeneratorExit, pytest.fail.Exception])
def test_an_exit_of_a_receiver_is_its_answer_to_that_attempt(end: type[BaseException], is_coroutine: bool) -> None:
    requests = []

    def receive(request: object) -> int:
        requests.append(request)
        if len(requests) == 1:
            raise end("no more")
        return 204

    async def receive_later(request: object) -> int:
        return receive(request)

    with MockServer() as server, server.sandbox() as sandbox:
        sandbox.receive_webhooks(receive_later if is_coroutine else receive)
        sandbox.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={})
        with pytest.raises(end):
            sandbox.advance(minutes=20)
        assert ["advance"] == [each["do"] for each in sandbox.log.replay_document()["calls"] if "do" in each]

        sandbox.advance(seconds=5)

        assert [500, 204] == [each["status"] for each in sandbox.events[0]["deliveries"][0]["attempts"]]


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
            patched.setattr(injection, "handle_call", interrupted)
            sandbox.call("GET", "/v1/campaigns")

        assert 200 == other.submit(lambda: sandbox.call("GET", "/v1/campaigns").status).result(10)
