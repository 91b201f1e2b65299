"""The trace of a sandbox: its calls as their clients received them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from mockserver import Sandbox
from mockserver.core.run import Run
from mockserver.trace.facts import OF_A_SANDBOX
from mockserver.trace.of_sandbox import trace_of
from mockserver.trace.trace import Trace


def traced(sandbox: Sandbox) -> Trace:
    return trace_of(Run.of(sandbox.local("a test").sandbox))


def test_a_call_and_its_answer_are_those_of_the_journal(mockserver: Sandbox) -> None:
    mockserver.call("GET", "/v1/campaigns?page=2&name=S%C3%A3o")
    (exchange,) = traced(mockserver).exchanges

    assert (1, "listCampaigns", 200, None, True, (("page", "2"), ("name", "São"))) == (
        exchange.number, exchange.operation, exchange.status, exchange.trouble, exchange.applied, exchange.query,
    )  # fmt: skip
    assert exchange.response_json == {"campaigns": []}


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        ({"drop": "after"}, ("no-answer", None, True)),
        ({"drop": "before"}, ("no-answer", None, False)),
        ({"garble": True}, ("broken-body", 200, True)),
        ({"error": "RATE_LIMIT_EXCEEDED"}, (None, 429, False)),
        ({"delay": "3m"}, (None, 200, True)),
    ],
)
def test_a_fault_is_what_the_client_received(
    mockserver: Sandbox, fault: dict[str, Any], seen: tuple[str | None, int | None, bool]
) -> None:
    mockserver.on("listCampaigns").do(fault)
    with suppress(OSError):  # of a client whose answer is lost
        mockserver.call("GET", "/v1/campaigns")
    (exchange,) = traced(mockserver).exchanges

    assert seen == (exchange.trouble, exchange.status, exchange.applied)
    assert (exchange.was_received, exchange.delay) == (seen[0] is None, 180_000_000 if "delay" in fault else 0)


def test_calls_of_no_operation_are_exchanges_and_not_calls(mockserver: Sandbox) -> None:
    for method, path in (("GET", "/v1/nothing"), ("HEAD", "/v1/campaigns"), ("OPTIONS", "/v1/campaigns")):
        mockserver.call(method, path)
    trace = traced(mockserver)

    assert ([None] * 3, []) == ([each.operation for each in trace.exchanges], list(trace.calls))


def test_a_sandbox_knows_everything_but_what_has_not_happened(mockserver: Sandbox) -> None:
    assert OF_A_SANDBOX - {"deliveries", "visits"} == traced(mockserver).knows


def test_what_is_made_of_a_trace_is_made_once(mockserver: Sandbox) -> None:
    made: list[Trace] = []

    def make(trace: Trace) -> int:
        made.append(trace)
        return len(made)

    trace = traced(mockserver)

    assert ([1, 1], [trace]) == ([trace.once(make), trace.once(make)], made)
