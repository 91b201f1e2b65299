"""Seed data and times: generated ones apply, and have the instants of transitions."""

from __future__ import annotations

import pytest
from hypothesis import given as drawn

from mockserver import MockServer
from mockserver._json import JSON
from mockserver.testing.strategies import (
    durations,
    given,
)
from tests.machine.steady import STEADY, generate_one

NOON = "2026-03-01T12:00:00Z"
PREVIEW = "/v1/campaigns/audience-preview"


@pytest.mark.deep
@STEADY
@drawn(world=given(max_tenants=2))
def test_a_generated_scenario_applies(mockserver_server: MockServer, world: JSON) -> None:
    with mockserver_server.sandbox(given=world) as sandbox:
        assert 1 + len(world.get("tenants", ())) == len(sandbox.state()["tenants"])
        assert len(world["chats"]) == sandbox.call("POST", PREVIEW, json={"filters": []}).json()["estimatedCount"]


@pytest.mark.parametrize("seconds", [1200, 1199.999999, 1200.000001, 0, 300, 6])
def test_instants_of_transitions_are_generated(seconds: float) -> None:
    assert seconds == generate_one(durations(cadence=10), lambda span: span == seconds)
