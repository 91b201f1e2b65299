"""Seed data and times: generated ones apply, and have the instants of transitions."""

from __future__ import annotations

import pytest
from hypothesis import given

from mockserver import MockServer
from mockserver._json import JSON
from mockserver.testing.strategies import chats, durations, templates
from tests.machine.steady import STEADY, generate_one


@STEADY
@given(chats=chats(), templates=templates())
def test_generated_seed_data_applies(mockserver_server: MockServer, chats: list[JSON], templates: list[JSON]) -> None:
    with mockserver_server.sandbox(given={"chats": chats, "templates": templates}) as sandbox:
        (tenant,) = sandbox.state()["tenants"]

    assert len(chats) == tenant["chatCount"]
    assert [row["id"] for row in templates] == [row["id"] for row in tenant["templates"]]


@pytest.mark.parametrize("seconds", [1200, 1199.999999, 1200.000001, 0, 300, 6])
def test_instants_of_transitions_are_generated(seconds: float) -> None:
    assert seconds == generate_one(durations(cadence=10), lambda span: span == seconds)
