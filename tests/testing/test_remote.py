"""The same suite against a running server: sandboxes made and ended over HTTP, and words for what cannot be done there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest

from mockserver import MockServer, Sandbox
from mockserver.scenario.problems import ScenarioError
from mockserver.server.errors import ControlError
from mockserver.testing import remote
from mockserver.testing.calls import CallMismatch
from mockserver.testing.remote import RemoteServer
from tests.clients.operations import SESSIONS
from tests.testing.conftest import Suite

NOW = "2026-03-01T12:00:00Z"
TEMPLATE = {"id": "t", "name": "T", "items": [{"type": "text", "text": "Oi"}], "variables": []}
GIVEN = {"templates": [TEMPLATE], "chats": [{"id": "one"}]}
BODY = {"name": "Uma", "platform": "chatapp", "templateId": "t", "cadence": 1}


@pytest.fixture
def sandbox(running: MockServer) -> Iterator[Sandbox]:
    with RemoteServer(running.url).sandbox(given=GIVEN, now=NOW) as sandbox:
        yield sandbox


def test_a_suite_runs_against_a_running_server_and_leaves_nothing_there(suite: Suite, running: MockServer) -> None:
    before = set(running._host.sandboxes)
    result = suite.run(
        """
        import pytest

        @pytest.mark.mockserver(scenario="demo", now="2026-03-01T12:00:00Z", choices={"success-status": "all-200"})
        def test_passes(mockserver):
            assert 2026 == mockserver.now.year
            assert 200 == mockserver.call("GET", "/v1/message-templates").status
            assert "all-200" == mockserver.state()["choices"]["success-status"]
            mockserver.calls("listTemplates").one()

        def test_fails(mockserver):
            assert 200 == mockserver.call("GET", "/v1/campaigns/none").status
        """,
        "--mockserver-url",
        running.url,
        "--tb=short",
    )

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*#1 readCampaign*404 CAMPAIGN_NOT_FOUND",
            "to repeat its calls, without the client: mockserver replay-calls .mockserver/failures/test_mine.py.test_fails.yaml",
        ]
    )
    assert before == set(running._host.sandboxes)


def test_every_remote_command_works_as_in_this_process(sandbox: Sandbox) -> None:
    rule = sandbox.on("listCampaigns").times(1).error("INTERNAL_ERROR")
    assert 500 == sandbox.call("GET", "/v1/campaigns").status
    assert (1, 1) == (rule.matched, rule.fired)
    sandbox.admin.remove_rules()
    with sandbox.checkpoint():
        assert 201 == sandbox.call("POST", "/v1/campaigns", json=BODY).status
    assert [] == sandbox.call("GET", "/v1/campaigns").json()["campaigns"]
    session = sandbox.call("POST", SESSIONS, json={}).json()["sessionId"]
    assert "completed" == sandbox.complete_session(session, phone="+5511999990000")["status"]
    assert 1 == len(sandbox.events)
    sandbox.apply({"given": {"forms": [{"id": "f"}]}})
    sandbox.choose({"dual-status": "guide"})
    sandbox.admin.set_tenant(subscription="suspended")
    sandbox.freeze("2026-03-02T00:00:00Z")
    sandbox.advance(minutes=20)
    assert "2026-03-02T00:20:00+00:00" == sandbox.now.isoformat()
    assert [] == list(sandbox.ledger.executions)
    sandbox.calls.assert_order("listCampaigns", "createConnectionSession")
    assert sandbox.calls.wait_for("createConnectionSession", timeout=0.1).one().answer["sessionId"] == session
    with pytest.raises(CallMismatch, match="within 5m, got 0"):
        sandbox.calls.wait_for("startCampaign", within="5m")
    assert "2026-03-02T00:25:00+00:00" == sandbox.now.isoformat()
    sandbox.reset()
    assert [] == sandbox.log.exchanges


def test_refusals_are_those_of_this_process(running: MockServer, sandbox: Sandbox) -> None:
    with pytest.raises(ScenarioError, match="/given/chat: .*did you mean 'chats'"):
        RemoteServer(running.url).sandbox(given={"chat": []})
    with pytest.raises(ScenarioError, match="/given/chat"):
        sandbox.apply({"given": {"chat": []}})
    with pytest.raises(ValueError, match="did you mean 'dual-status'"):
        sandbox.choose({"dual-statu": "guide"})
    with pytest.raises(ValueError, match="time only moves forward"):
        sandbox.advance(to="2020-01-01T00:00:00Z")


def test_conduct_is_judged_over_the_control_plane_and_available_after_the_end(running: MockServer) -> None:
    with (
        RemoteServer(running.url).sandbox(given=GIVEN, now=NOW) as there,
        running.sandbox(given=GIVEN, now=NOW) as here,
    ):
        for each in (here, there):
            path = f"/v1/campaigns/{each.call('POST', '/v1/campaigns', json=BODY).json()['campaignId']}/start"
            assert [202, 422, 422, 422] == [each.call("POST", path).status for _ in range(4)]
        expected = [(each.rule, each.severity, each.exchanges, each.advice) for each in here.conduct]
        assert expected
        assert str(here.conduct).count("\n") == str(there.conduct).count("\n")
        assert expected == [(each.rule, each.severity, each.exchanges, each.advice) for each in there.conduct]

    assert expected == [(each.rule, each.severity, each.exchanges, each.advice) for each in there.conduct]


@pytest.mark.parametrize("need", [lambda each: each.admin.app, lambda each: each.admin.keys("tenant_default")])
def test_features_that_need_the_sandbox_in_this_process_fail_with_that_reason(sandbox: Sandbox, need: Any) -> None:
    with pytest.raises(
        ValueError, match="got a sandbox on http.*; expected one in this process: run without --mockserver-url"
    ):
        need(sandbox)


def test_a_missing_server_and_a_server_of_another_kind_are_reported(sandbox: Sandbox) -> None:
    with pytest.raises(ValueError, match="no mockserver answers at http://127.0.0.1:9: .*mockserver serve"):
        RemoteServer("http://127.0.0.1:9")
    with pytest.raises(ValueError, match="got status 404; expected a mockserver at this url"):
        RemoteServer(f"{sandbox.base_url}/v1")


def test_the_token_of_the_server_opens_its_control_plane() -> None:
    with MockServer() as server:
        server._host.token = "let-me-in"
        with pytest.raises(ValueError, match="Authorization: Bearer"):
            RemoteServer(server.url)
        with RemoteServer(server.url, token="let-me-in").sandbox() as sandbox:
            assert 200 == sandbox.call("GET", "/v1/campaigns").status


def refusing(count: int) -> Callable[[], Any]:
    """An admission that refuses this number of creations first, as a server that drains does."""
    refusals = iter(range(count))

    def admission() -> Any:
        if next(refusals, None) is not None:
            raise ControlError("MOCK_DRAINING", "got a new sandbox while this server is draining")
        return nullcontext()

    return admission


class TestAServerThatDrains:
    @pytest.fixture
    def pauses(self, monkeypatch: pytest.MonkeyPatch) -> list[float]:
        pauses: list[float] = []
        monkeypatch.setattr(remote, "_pause", pauses.append)
        return pauses

    def test_a_creation_that_is_refused_is_sent_again_a_second_later(self, pauses: list[float]) -> None:
        with MockServer() as server:
            server._host.admission = refusing(2)
            with RemoteServer(server.url).sandbox() as sandbox:
                assert 200 == sandbox.call("GET", "/v1/campaigns").status

        assert [1.0, 1.0] == pauses

    def test_a_creation_that_is_refused_for_longer_fails_with_the_reason(self, pauses: list[float]) -> None:
        with MockServer() as server:
            server._host.admission = refusing(1_000)
            with pytest.raises(ValueError, match="while this server is draining"):
                RemoteServer(server.url).sandbox()

        assert 9 == len(pauses)


def test_the_async_forms_work_remotely(sandbox: Sandbox) -> None:
    async def main() -> int:
        before = sandbox.now
        await sandbox.aio.sleep(30)
        sandbox.sleep(30)
        assert 200 == (await sandbox.aio.call("GET", "/v1/campaigns")).status
        return int((sandbox.now - before).total_seconds())

    assert 60 == asyncio.run(main())
    with pytest.raises(ValueError, match="sleep: got -1; expected a number of seconds"):
        sandbox.sleep(-1)
