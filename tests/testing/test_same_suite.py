"""One suite, as a new user writes it, run in process and against a running server: the same outcomes, or a named skip."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from mockserver import MockServer
from mockserver.server.hosting.background import BackgroundWorker
from mockserver.testing.remote import RemoteServer
from tests.testing.conftest import Suite

SUITE = """
import asyncio
import time

import httpx
import pytest
import requests
from flask import Flask, request
from freezegun import freeze_time

from hypothesis import settings

from mockserver.testing.machine import GatewayMachine

SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"


def begin(sandbox):
    return sandbox.call("POST", SESSIONS, json={}).json()


def key(sandbox):
    return {"X-API-Key": sandbox.secret_key}


class TestReceivers:
    def test_a_function_gets_an_event_before_the_command_returns(self, mockserver):
        got = []
        receiver = mockserver.receive_webhooks(lambda request: got.append(request.json()) or 204)
        mockserver.complete_session(begin(mockserver)["sessionId"])
        assert ["entrypoints.chatapp.connected"] == [event["event"] for event in got]
        assert ["delivered"] == [row["status"] for row in receiver.deliveries]

    def test_an_event_is_sent_again_before_the_command_returns(self, mockserver):
        got = []
        mockserver.receive_webhooks(lambda request: got.append(request) or 204)
        mockserver.complete_session(begin(mockserver)["sessionId"])
        (event,) = mockserver.events
        again = mockserver.webhooks.redeliver(event["id"])
        assert (2, [204, 204]) == (len(got), [row["status"] for row in again["deliveries"][0]["attempts"]])

    @pytest.mark.mockserver(choices={"wh-no-endpoint": "stored"})
    def test_a_stored_event_is_sent_before_the_registration_returns(self, mockserver):
        got = []
        mockserver.complete_session(begin(mockserver)["sessionId"])
        mockserver.receive_webhooks(lambda request: got.append(request) or 204)
        assert 1 == len(got)

    def test_its_signature_is_made_with_the_secret(self, mockserver):
        from standardwebhooks import Webhook

        got = []
        receiver = mockserver.receive_webhooks(lambda request: got.append(request) or 204)
        mockserver.fail_session(begin(mockserver)["sessionId"])
        (one,) = got
        assert Webhook(receiver.secret).verify(one.body, one.headers)

    def test_a_refused_event_is_sent_again_as_time_passes(self, mockserver):
        answers = iter([500, (503, {"Retry-After": "120"}, b"busy"), 204])
        receiver = mockserver.receive_webhooks(lambda request: next(answers))
        mockserver.complete_session(begin(mockserver)["sessionId"])
        mockserver.advance(until="idle")
        (row,) = receiver.deliveries
        assert ("delivered", [500, 503, 204]) == (row["status"], [each["status"] for each in row["attempts"]])

    def test_a_receiver_that_raises_is_refused(self, mockserver):
        receiver = mockserver.receive_webhooks(lambda request: 1 / 0)
        mockserver.complete_session(begin(mockserver)["sessionId"])
        assert 500 == receiver.deliveries[0]["attempts"][0]["status"]

    def test_a_receiver_that_does_not_answer_gets_it_again(self, mockserver):
        calls = []

        def receive(request):
            calls.append(request)
            if len(calls) == 1:
                raise TimeoutError
            return 204

        receiver = mockserver.receive_webhooks(receive)
        mockserver.complete_session(begin(mockserver)["sessionId"])
        mockserver.advance(until="idle")
        assert "delivered" == receiver.deliveries[0]["status"]
        assert 2 == len(calls)

    def test_an_application_gets_it_at_its_path(self, mockserver):
        app, got = Flask("mine"), []

        @app.post("/hooks/crm")
        def receive():
            got.append(request.get_json())
            return "", 204

        receiver = mockserver.receive_webhooks(app, path="/hooks/crm")
        mockserver.complete_session(begin(mockserver)["sessionId"])
        assert 1 == len(got)
        assert receiver.url.endswith("/hooks/crm")

    def test_a_receiver_may_call_the_api(self, mockserver):
        seen = []

        def receive(request):
            session = request.json()["data"]["sessionId"]
            seen.append(mockserver.call("GET", f"{SESSIONS}/{session}").json()["status"])

        mockserver.receive_webhooks(receive)
        mockserver.complete_session(begin(mockserver)["sessionId"])
        assert ["completed"] == seen

    def test_a_coroutine_function_gets_it(self, mockserver):
        async def main():
            got = []

            async def receive(request):
                got.append(request.json()["event"])

            mockserver.receive_webhooks(receive)
            session = (await mockserver.aio.call("POST", SESSIONS, json={})).json()["sessionId"]
            await mockserver.aio.complete_session(session)
            return got

        assert ["entrypoints.chatapp.connected"] == asyncio.run(main())

    def test_two_receivers_each_get_it(self, mockserver):
        got = []
        for name in "ab":
            mockserver.receive_webhooks(lambda request, name=name: got.append(name))
        mockserver.complete_session(begin(mockserver)["sessionId"])
        assert ["a", "b"] == sorted(got)

    def test_an_unknown_kind_of_event_is_refused(self, mockserver):
        with pytest.raises(ValueError, match="expected some of"):
            mockserver.receive_webhooks(lambda request: 204, events=["entrypoint"])


class TestTimeouts:
    def test_a_delay_beyond_the_timeout_takes_no_real_time_and_moves_the_clock(self, mockserver):
        mockserver.on("listCampaigns").delay("10m")
        before = mockserver.now
        with pytest.raises(TimeoutError):
            mockserver.call("GET", "/v1/campaigns", timeout=30)
        assert 30 == (mockserver.now - before).total_seconds()

    def test_of_requests(self, mockserver):
        mockserver.on("listCampaigns").delay("10m")
        before = mockserver.now
        with mockserver.requests_session() as session, pytest.raises(requests.ReadTimeout):
            session.get(mockserver.base_url + "/v1/campaigns", headers=key(mockserver), timeout=20)
        assert 20 == (mockserver.now - before).total_seconds()

    def test_of_httpx(self, mockserver):
        mockserver.on("listCampaigns").delay("10m")
        with mockserver.httpx_client() as client, pytest.raises(httpx.ReadTimeout):
            client.get("/v1/campaigns", headers=key(mockserver), timeout=20)

    def test_of_httpx_async(self, mockserver):
        mockserver.on("listCampaigns").delay("10m")

        async def main():
            async with mockserver.aio.httpx_client() as client:
                await client.get("/v1/campaigns", headers=key(mockserver), timeout=20)

        with pytest.raises(httpx.ReadTimeout):
            asyncio.run(main())

    def test_without_a_timeout_the_answer_arrives_when_it_is_due(self, mockserver):
        mockserver.on("listCampaigns").delay("10m")
        before = mockserver.now
        with mockserver.requests_session() as session:
            answer = session.get(mockserver.base_url + "/v1/campaigns", headers=key(mockserver))
        assert 200 == answer.status_code
        assert 600 == (mockserver.now - before).total_seconds()

    def test_a_slow_body_is_cut_by_the_timeout(self, mockserver):
        mockserver.on("listCampaigns").dribble(2, over="1h")
        with mockserver.httpx_client() as client, pytest.raises(httpx.ReadTimeout):
            client.get("/v1/campaigns", headers=key(mockserver), timeout=20)


class TestFaults:
    @pytest.mark.parametrize("fault", ["drop", "reset"])
    def test_a_lost_answer_is_the_exception_of_the_library(self, mockserver, fault):
        getattr(mockserver.on("listCampaigns"), fault)("after")
        with mockserver.requests_session() as session, pytest.raises(requests.ConnectionError):
            session.get(mockserver.base_url + "/v1/campaigns", headers=key(mockserver))
        with mockserver.httpx_client() as client, pytest.raises(httpx.TransportError):
            client.get("/v1/campaigns", headers=key(mockserver))
        assert [None, None] == [call.status for call in mockserver.calls("listCampaigns")]

    def test_a_cut_body_is_the_exception_of_the_library(self, mockserver):
        mockserver.on("listCampaigns").truncate(5)
        with mockserver.httpx_client() as client, pytest.raises(httpx.RemoteProtocolError, match="received 5 bytes"):
            client.get("/v1/campaigns", headers=key(mockserver))

    def test_another_host_is_never_called(self, mockserver):
        with mockserver.requests_session() as session, pytest.raises(requests.ConnectionError):
            session.get("http://127.0.0.1:9/")

    def test_an_upload_arrives_whole(self, mockserver):
        with mockserver.requests_session() as session:
            files = {"files": ("a.txt", b"x" * 700_000, "text/plain")}
            sent = session.post(mockserver.base_url + "/v1/messaging/media", files=files, headers=key(mockserver))
            url = sent.json()["uploads"][0]["url"] if "uploads" in sent.json() else None
        assert sent.status_code in (200, 201), sent.text


class TestEndUser:
    def test_who_has_the_answer_connects(self, mockserver):
        session = begin(mockserver)
        assert 200 == mockserver.end_user(session).connect(phone="+5511999990000").status
        answer = mockserver.call("GET", f"{SESSIONS}/{session['sessionId']}").json()
        assert "completed" == answer["status"]


class TestTime:
    def test_a_clock_that_follows(self, mockserver_server):
        with mockserver_server.sandbox(clock="follow") as sandbox:
            first = sandbox.now
            assert sandbox.now >= first

    def test_a_follower_of_freezegun(self, mockserver_server):
        with freeze_time("2030-01-01T12:00:00Z") as frozen, mockserver_server.sandbox() as sandbox:
            frozen.tick(60)
            assert 2030 == sandbox.now.year

    def test_a_follower_that_freezegun_freezes_later(self, mockserver_server):
        with mockserver_server.sandbox(clock="follow") as sandbox, freeze_time("2040-01-01T12:00:00Z"):
            assert 2040 == sandbox.now.year


class Machine(GatewayMachine):
    def make_client(self):
        return None


class TestOthers:
    def test_the_machine(self, mockserver_server):
        Machine.check(mockserver_server, settings=settings(max_examples=1, stateful_step_count=1, deadline=None))

    def test_the_application(self, mockserver):
        assert 401 == mockserver.admin.app.test_client().get("/v1/campaigns").status_code

    def test_the_keys_of_a_tenant(self, mockserver):
        assert mockserver.admin.keys("tenant_default")

    def test_a_port_of_its_own(self, mockserver_server):
        with mockserver_server.sandbox(own_port=True) as sandbox:
            assert sandbox.base_url.count("/") == 2

    def test_conduct_and_the_ledger(self, mockserver):
        mockserver.call("GET", "/v1/campaigns")
        assert [] == list(mockserver.ledger.executions)
        assert "listCampaigns" == mockserver.calls("listCampaigns").one().operation
"""
# By test: the beginning of the reason for which a running server skips it.
SKIPPED = {
    "test_a_follower_of_freezegun": "a clock that follows freezegun or time-machine",
    "test_a_follower_that_freezegun_freezes_later": "a clock that follows freezegun or time-machine",
    "test_the_application": "sandbox.admin.app",
    "test_the_keys_of_a_tenant": "sandbox.admin.keys",
    "test_a_port_of_its_own": "own_port=True",
}


@pytest.fixture
def running() -> Iterator[MockServer]:
    with MockServer() as server:
        background = BackgroundWorker(server._host)  # as `mockserver serve` has it
        background.start()
        yield server
        background.stop()


def outcomes(suite: Suite, *arguments: str) -> tuple[dict[str, str], dict[str, str]]:
    """The outcome of each test, and the reasons of those that were skipped."""
    result = suite.run_apart(SUITE, "-v", "-rs", "-p", "no:randomly", *arguments)
    text = result.stdout.str()
    found = dict(re.findall(r"^test_mine\.py::(\S+) (PASSED|FAILED|SKIPPED|ERROR)", text, re.MULTILINE))
    reasons = dict(re.findall(r"^SKIPPED \[\d+\] test_mine\.py:(\d+): (.*)$", text, re.MULTILINE))
    return found, reasons


@pytest.mark.deep
def test_a_suite_has_the_same_outcomes_in_process_and_on_a_running_server(suite: Suite, running: MockServer) -> None:
    here, none = outcomes(suite)
    there, reasons = outcomes(suite, "--mockserver-url", running.url)

    assert {"PASSED"} == set(here.values())
    assert {} == none
    skipped = {name.rpartition("::")[2] for name, outcome in there.items() if outcome == "SKIPPED"}
    assert SKIPPED.keys() == skipped
    assert {name: "PASSED" for name in here if name.rpartition("::")[2] not in skipped} == {
        name: outcome for name, outcome in there.items() if outcome != "SKIPPED"
    }
    assert sorted(SKIPPED.values()) == sorted(
        next(reason for reason in SKIPPED.values() if words.startswith(reason)) for words in reasons.values()
    )
    assert [] == list(running._host.sandboxes)


def test_a_skip_names_what_it_needs_and_how_to_have_it(suite: Suite, running: MockServer) -> None:
    test = "def test_it(mockserver):\n    mockserver.admin.app\n"
    result = suite.run(test, "-rs", "--mockserver-url", running.url)

    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(
        [
            f"SKIPPED * test_mine.py:*: sandbox.admin.app: got a sandbox on {running.url}; expected one in this process: run without *"
        ]
    )


def test_without_the_option_such_a_test_fails(suite: Suite, running: MockServer) -> None:
    test = f"""
    from mockserver.testing.remote import RemoteServer

    def test_it():
        with RemoteServer({running.url!r}).sandbox() as sandbox:
            sandbox.admin.app
    """

    suite.run(test).assert_outcomes(failed=1)


def test_the_sandboxes_of_a_suite_have_its_labels(suite: Suite, running: MockServer) -> None:
    with RemoteServer(running.url, labels={"job": "4711"}).sandbox():
        (hosted,) = running._host.sandboxes.values()
        assert {"job": "4711"} == hosted.labels
    test = """
    import json
    import urllib.request

    def test_it(mockserver):
        url = mockserver.base_url.partition("/sandboxes/")[0] + "/_mock/sandboxes?label=job:4711,os:linux"
        with urllib.request.urlopen(url) as answer:
            assert [mockserver.id] == [row["sandboxId"] for row in json.load(answer)["sandboxes"]]
    """

    result = suite.run(test, "--mockserver-url", running.url, "--mockserver-sandbox-labels", "job:4711,os:linux")

    result.assert_outcomes(passed=1)


def test_a_server_beyond_this_machine_needs_the_name_of_this_machine_for_receivers() -> None:
    with MockServer(allow_webhook_hosts=["tests.example"]) as server:
        other = RemoteServer(server.url.replace("127.0.0.1", "localhost"), receiver_host="tests.example")
        with other.sandbox() as sandbox:
            receiver = sandbox.receive_webhooks(lambda request: 204, path="/hooks")

    assert re.fullmatch(r"http://tests\.example:\d+/hooks", receiver.url)


def test_with_a_token_a_suite_uses_those_of_its_sandboxes(suite: Suite, running: MockServer) -> None:
    running._host.token = "let-me-in"
    test = """
    def test_it(mockserver):
        mockserver.receive_webhooks(lambda request: 204)
        assert 200 == mockserver.call("GET", "/v1/campaigns").status
        assert 200 == mockserver.call("GET", "/_mock/clock").status
        assert mockserver._backend._client._token != "let-me-in"
    """

    suite.run(test, "--mockserver-url", running.url, "--mockserver-token", "let-me-in").assert_outcomes(passed=1)
    assert [] == list(running._host.sandboxes)
