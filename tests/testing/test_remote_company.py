"""What a suite against a remote server shares with one in process in addition to its reports: sweeps, sandboxes kept open."""

from __future__ import annotations

from functools import partial

import pytest

from mockserver import MockServer, Sandbox, cli
from mockserver.testing.remote import RemoteServer
from tests.testing.conftest import Suite
from tests.testing.test_sweep import NAIVE, outcomes

NOW = "2026-03-01T12:00:00Z"


def test_the_document_of_a_run_over_sockets_is_sent_again_and_is_a_scenario_for_a_mark(
    suite: Suite, running: MockServer, capsys: pytest.CaptureFixture[str]
) -> None:
    remote = ("--mockserver-url", running.url)
    suite.run(
        """
        import pytest

        @pytest.mark.mockserver(scenario="demo", seed=7, clock="follow")
        def test_it(mockserver):
            key = {"X-API-Key": mockserver.secret_key}
            with mockserver.requests_session() as session:
                session.get(f"{mockserver.base_url}/v1/campaigns", headers=key)
                url = f"{mockserver.base_url}/v1/entrypoints/chatapp/connection-sessions"
                made = session.post(url, json={}, headers=key).json()
                session.get(made["url"])
            mockserver.fail_session(made["sessionId"])
            mockserver.advance("1m")
            mockserver.call("GET", f"/v1/entrypoints/chatapp/connection-sessions/{made['sessionId']}")
            assert 0
        """,
        *remote,
    )
    file = suite.file(".mockserver/failures/test_mine.py.test_it.yaml")
    capsys.readouterr()

    assert 0 == cli.main(["replay-calls", str(file)])

    assert capsys.readouterr().out.endswith("5 calls and commands, none with another outcome than recorded\n")
    result = suite.run(
        f"""
        import pytest

        @pytest.mark.mockserver(scenario={str(file)!r})
        def test_it(mockserver):
            assert 7 == mockserver.state()["seed"]
            assert mockserver.call("GET", "/v1/message-templates").json()["templates"]
        """,
        *remote,
    )
    result.assert_outcomes(passed=1)


def test_a_sweep_over_what_a_test_touches_runs_as_in_process(suite: Suite, running: MockServer) -> None:
    here = outcomes(suite.run(NAIVE.format(names='"all"'), "-v"))
    there = outcomes(suite.run(NAIVE.format(names='"all"'), "-v", "--mockserver-url", running.url))

    assert "FAILED" == there["dual-status=guide"]
    assert here == there


def test_a_closed_sandbox_returns_its_last_state_without_a_request(running: MockServer) -> None:
    with RemoteServer(running.url).sandbox(now=NOW, given={"chats": [{"id": "one"}]}) as sandbox:
        sandbox.on("listCampaigns").error("INTERNAL_ERROR")
        sandbox.call("GET", "/v1/campaigns")
        sandbox.advance("1m")

        def views() -> list[object]:
            counts = [sandbox.log.call_count, sandbox.clock.next_due, sandbox.now, sandbox.log.replay_document("mine")]
            views = [
                sandbox.state(),
                sandbox.log.journal,
                sandbox.events,
                sandbox.rules,
                sandbox.log.history,
                sandbox.log.exchanges,
            ]
            return [*counts, *views, str(sandbox.conduct), list(sandbox.ledger.executions)]

        before = views()

    assert before == views()
    sandbox.close()
    with pytest.raises(ValueError, match="closed"):
        sandbox.choose({"dual-status": "guide"})


def has_events(sandbox: Sandbox) -> bool:
    return bool(sandbox.events)


def test_a_wait_that_advances_the_clock_stops_at_the_call(running: MockServer) -> None:
    sandboxes = [server.sandbox(now=NOW) for server in (running, RemoteServer(running.url))]

    for sandbox in sandboxes:
        session = sandbox.call("POST", "/v1/entrypoints/chatapp/connection-sessions", json={}).json()["sessionId"]
        sandbox.calls._advance_until(partial(has_events, sandbox), within="1h")
        assert (
            "expired" == sandbox.call("GET", f"/v1/entrypoints/chatapp/connection-sessions/{session}").json()["status"]
        )

    assert "2026-03-01T12:20:00+00:00" == sandboxes[0].now.isoformat()
    assert sandboxes[0].now == sandboxes[1].now
