"""Commands on a sandbox are recorded in order, without keys, and are dropped with the journal."""

from __future__ import annotations

from typing import Any

import pytest

from mockserver import MockServer, Sandbox


@pytest.fixture
def sandbox() -> Sandbox:
    return MockServer().sandbox(now="2026-03-01T12:00:00Z")


def kept(sandbox: Sandbox) -> list[tuple[str, dict[str, Any]]]:
    return [(step["command"], step["arguments"]) for step in sandbox.log.history["steps"]]


def test_commands_in_process_and_over_http_are_recorded_alike(sandbox: Sandbox) -> None:
    sandbox.advance("20m")
    sandbox.call("POST", "/_mock/clock/advance", json={"by": "20m"})

    assert [("advance", {"by": "20m"})] * 2 == kept(sandbox)


def test_reads_and_refused_commands_are_not_steps(sandbox: Sandbox) -> None:
    assert sandbox.log.journal and sandbox.state()
    sandbox.call("POST", "/_mock/journal/verify", json={"operation": "createCampaign", "times": 0})
    with pytest.raises(ValueError, match="dual-statu"):
        sandbox.choose({"dual-statu": "guide"})
    with pytest.raises(ValueError, match="/given/chat"):
        sandbox.apply({"given": {"chat": []}})

    assert [] == kept(sandbox)


def test_only_a_call_that_a_script_makes_wait_is_a_step_of_its_own(sandbox: Sandbox) -> None:
    sandbox.on("listCampaigns").nth(2).delay("5s")
    sandbox.call("GET", "/v1/campaigns")
    sandbox.call("GET", "/v1/campaigns", timeout=9)

    (waiting,) = (step for step in sandbox.log.history["steps"] if step["command"] == "call")
    assert 1 == waiting["exchanges"]
    assert {"method": "GET", "path": "/v1/campaigns", "waits": 9} == waiting["arguments"]
    assert sandbox.secret_key not in repr(sandbox._hosted.sandbox.journal.commands[-1])
