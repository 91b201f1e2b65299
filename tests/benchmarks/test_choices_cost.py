"""
What the choices cost a call under their defaults: compared with the same call with each default hard-coded.

The bare way reads no choice where it writes the answer; both answer the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mockserver import MockServer
from mockserver.core.instants import format_milliseconds
from mockserver.core.operations import sending
from mockserver.core.operations.campaigns import CampaignDetail
from mockserver.core.state.records import Execution
from mockserver.wire import formats, serializers
from tests.benchmarks.worlds import running


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer() as running_server:
        yield running_server


def bare_detail(view: formats.SerializationContext, shown: CampaignDetail) -> dict[str, Any]:
    body = serializers._campaign_entry(shown.campaign)
    del body["description"]
    body["executions"] = [bare_entry(view, each) for each in shown.executions]
    return body


def bare_entry(view: formats.SerializationContext, execution: Execution) -> dict[str, Any]:
    return {
        **serializers._counted(execution, sending.counts(execution.schedule, view.now)),
        "startedAt": format_milliseconds(execution.started_at),
        "completedAt": None
        if execution.ended_at is None
        else format_milliseconds(serializers._displayed_end(execution)),
    }


@pytest.mark.benchmark(group="a GET of a campaign, its defaults")
@pytest.mark.parametrize("way", ["by choice", "written straight"])
def test_a_get_under_the_defaults(
    benchmark: Any, server: MockServer, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    sandbox, campaign_id = running(server, 100)
    by_choice = sandbox.call("GET", f"/v1/campaigns/{campaign_id}").body
    if way == "written straight":
        monkeypatch.setattr(serializers, "SERIALIZERS", {"readCampaign": bare_detail})
        monkeypatch.setattr(formats, "success_status", lambda choices, endpoint: 200)
    answer = benchmark.pedantic(
        lambda: sandbox.call("GET", f"/v1/campaigns/{campaign_id}"), rounds=300, iterations=50, warmup_rounds=5
    )
    assert answer.body == by_choice
