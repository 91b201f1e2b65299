"""What the plays of the library rest on: a rule that does nothing fails its play."""

from __future__ import annotations

import pytest

from mockserver import MockServer
from tests.scenario.scenario_runs import played


def test_a_play_that_leaves_a_rule_silent_fails(mockserver_server: MockServer) -> None:
    with pytest.raises(AssertionError, match="startCampaign"), played(mockserver_server, "start-timeout-applied"):
        pass


def test_a_play_whose_rule_matches_nothing_fails(mockserver_server: MockServer) -> None:
    """The rule fires at its minute, and no session is there to complete."""
    with (
        pytest.raises(AssertionError, match="no session is pending"),
        played(mockserver_server, "hook-lost", has_endpoint=False) as run,
    ):
        run.sandbox.advance("2m")


def test_a_play_that_stops_early_or_has_no_receiver_need_not_reach_every_rule(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "start-timeout-applied", to_the_end=False) as run:
        assert ["startCampaign"] == [rule["on"] for rule in run.silent_rules]
    with played(mockserver_server, "hook-lost", has_endpoint=False) as run:
        run.sandbox.call("POST", "/v1/entrypoints/chatapp/connection-sessions")
        run.sandbox.advance("2m")
        assert ["delivery"] == [rule["on"] for rule in run.silent_rules]
