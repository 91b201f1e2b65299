"""Seed data, filters, chats and times: generated ones apply, and the reference audience equals the gateway's."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from mockserver.testing.strategies import (
    audience,
    chats,
    durations,
    filters_with_audience,
    given,
    timelines,
)
from tests.machine.steady import STEADY, find, generate_one

NOON = "2026-03-01T12:00:00Z"
PREVIEW = "/v1/campaigns/audience-preview"


def preview(sandbox: Sandbox, groups: object) -> int:
    return int(sandbox.call("POST", PREVIEW, json={"filters": groups}).json()["estimatedCount"])


@pytest.mark.deep
@STEADY
@drawn(world=given(max_tenants=2))
def test_a_generated_scenario_applies(mockserver_server: MockServer, world: JSON) -> None:
    with mockserver_server.sandbox(given=world) as sandbox:
        assert 1 + len(world.get("tenants", ())) == len(sandbox.state()["tenants"])
        assert len(world["chats"]) == preview(sandbox, [])


@pytest.mark.deep
@STEADY
@drawn(data=st.data())
def test_the_second_opinion_on_an_audience_is_the_previews(mockserver_server: MockServer, data: st.DataObject) -> None:
    rows = data.draw(chats(max_size=4), "chats")
    with mockserver_server.sandbox(given={"chats": rows}, now=NOON) as sandbox:
        for _ in range(8):
            groups, selected = data.draw(filters_with_audience(rows, made_at=NOON), "filters")
            assert len(selected) == preview(sandbox, groups)


@STEADY
@drawn(data=st.data())
def test_the_audience_of_a_start_is_the_computed_one(mockserver_server: MockServer, data: st.DataObject) -> None:
    rows = data.draw(chats(min_size=1, max_size=4), "chats")
    groups, selected = data.draw(filters_with_audience(rows, made_at=NOON), "filters")
    world = {"chats": rows, "templates": [{"id": "template_t"}]}
    body = {"name": "C", "platform": "photoapp", "templateId": "template_t", "cadence": 60, "filters": groups}
    with mockserver_server.sandbox(given=world, now=NOON) as sandbox:
        sandbox.call(
            "POST", f"/v1/campaigns/{sandbox.call('POST', '/v1/campaigns', json=body).json()['campaignId']}/start"
        )
        (execution,) = sandbox.state()["tenants"][0]["executions"]

    assert [chat["id"] for chat in selected] == execution["targets"]


def test_a_filter_shrinks_to_one_statement() -> None:
    rows = [{"id": "chat_1"}, {"id": "chat_2", "platform": "photoapp"}]

    groups, _ = find(filters_with_audience(rows), lambda pair: [each["id"] for each in pair[1]] == ["chat_2"])

    assert [1] == [len(group["statements"]) for group in groups]


def test_without_creation_dates_of_chats_no_filter_uses_them() -> None:
    with pytest.raises(ValueError, match="expected made_at"):
        audience([{"id": "chat_1"}], [
            {"combinator": "and", "statements": [{"field": "chat.virtual.lastUpdateAt", "operator": "exists"}]}
        ])  # fmt: skip


@pytest.mark.parametrize("seconds", [1200, 1199.999999, 1200.000001, 0, 300, 6])
def test_instants_of_transitions_are_generated(seconds: float) -> None:
    assert seconds == generate_one(durations(cadence=10), lambda span: span == seconds)


@STEADY
@drawn(spans=timelines(cadence=7, at_most=60))
def test_a_timeline_respects_its_bounds_and_can_be_played(mockserver_server: MockServer, spans: list[float]) -> None:
    assert all(0 <= span <= 60 for span in spans)
    with mockserver_server.sandbox(now=NOON) as sandbox:
        began = sandbox.now
        for span in spans:
            sandbox.advance(span)
        assert sandbox.now == began + sum((timedelta(seconds=each) for each in spans), timedelta())
