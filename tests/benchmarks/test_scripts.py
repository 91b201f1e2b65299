"""Figures of scripts: the cost of rules to a call, and of a checkpoint; taken like those of `test_speed`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mockserver import MockServer, Sandbox
from tests.benchmarks.worlds import draft, running

ERROR = {"error": "INTERNAL_ERROR"}
# 200 rules of one operation, none of which fires: by the number of the call, by a value of it, by a condition.
SCRIPTS: dict[str, list[dict[str, Any]]] = {
    "no rule": [],
    "one rule of another operation": [{"on": "createCampaign", "do": ERROR}],
    "200 by nth": [{"on": "readCampaign", "nth": 10**9 + number, "do": ERROR} for number in range(200)],
    "200 by value": [{"on": "readCampaign", "where": {"path.id": f"campaign_{n}"}, "do": ERROR} for n in range(200)],
}


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer() as running_server:
        yield running_server


@pytest.mark.benchmark(group="a call with rules, in process")
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_call_with_unrelated_rules(benchmark: Any, server: MockServer, script: str) -> None:
    sandbox, campaign_id = running(server, 100)
    sandbox.apply({"script": SCRIPTS[script]})
    assert benchmark(lambda: sandbox.call("GET", f"/v1/campaigns/{campaign_id}")).status == 200


@pytest.mark.benchmark(group="checkpoint and restore, 1,000 records")
@pytest.mark.parametrize("rules", [0, 200])
def test_a_checkpoint_and_its_restore(benchmark: Any, server: MockServer, rules: int) -> None:
    sandbox, _ = running(server, 800)
    for number in range(200):
        draft(sandbox, f"Campanha {number}")
    sandbox.apply({"script": SCRIPTS["200 by nth"][:rules]})

    def there_and_back(sandbox: Sandbox = sandbox) -> None:
        with sandbox.checkpoint():
            pass

    benchmark(there_and_back)
