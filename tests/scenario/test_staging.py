"""What the plays of the library rest on: a rule that does nothing fails its play."""

from __future__ import annotations

import pytest

from mockserver import MockServer
from tests.scenario.staging import staged


def test_a_play_that_leaves_a_rule_silent_fails(mockserver_server: MockServer):
    with pytest.raises(AssertionError, match="startCampaign"), staged(mockserver_server, "start-timeout-applied"):
        pass


def test_a_play_whose_rule_matches_nothing_fails(mockserver_server: MockServer):
    """The rule fires at its minute, and no session is there to complete."""
    with (
        pytest.raises(AssertionError, match="no session is pending"),
        staged(mockserver_server, "hook-lost", is_heard=False) as stage,
    ):
        stage.sandbox.advance("2m")


def test_a_play_that_stops_early_or_has_no_receiver_need_not_reach_every_rule(mockserver_server: MockServer):
    with staged(mockserver_server, "start-timeout-applied", to_the_end=False) as stage:
        assert ["startCampaign"] == [rule["on"] for rule in stage.silent_rules]
    with staged(mockserver_server, "hook-lost", is_heard=False) as stage:
        stage.sandbox.call("POST", "/v1/entrypoints/chatapp/connection-sessions")
        stage.sandbox.advance("2m")
        assert ["delivery"] == [rule["on"] for rule in stage.silent_rules]
