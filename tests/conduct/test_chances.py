"""Conduct: a careless client is found with its exchanges, a careful one at the same task is not; each gives the rule a chance."""

from __future__ import annotations

import pytest

from mockserver.core.run import Run
from mockserver.judge.check import MET
from mockserver.judge.client.judge import chances
from mockserver.judge.client.rules import RULES
from mockserver.testing.sandbox import Sandbox
from mockserver.trace.of_sandbox import trace_of
from mockserver.trace.trace import Trace
from tests.conduct import provocations_of_campaigns, provocations_of_receivers, provocations_of_sessions
from tests.conduct.provocation import GIVEN, NOON, Provocation
from tests.conduct.records import Watched

PROVOCATIONS = (
    *provocations_of_campaigns.PROVOCATIONS,
    *provocations_of_sessions.PROVOCATIONS,
    *provocations_of_receivers.RECEIVERS,
    *provocations_of_receivers.PAGE,
)
EACH = pytest.mark.parametrize("provocation", PROVOCATIONS, ids=lambda each: each.id)
pytestmark = pytest.mark.mockserver(given=GIVEN, now=NOON)


def trace(sandbox: Sandbox) -> Trace:
    return trace_of(Run.of(sandbox._hosted.sandbox))


def of(sandbox: Sandbox) -> set[str]:
    return chances(trace(sandbox), RULES.keys())


@EACH
@pytest.mark.clause(
    "advice.poll-execution", "advice.read-before-restart", "advice.back-off", "advice.secret-server-side"
)
@pytest.mark.clause("advice.poll-session", "advice.top-level", "advice.store-session")
def test_a_careless_client_has_a_finding_with_its_exchanges(mockserver: Sandbox, provocation: Provocation) -> None:
    client = Watched(mockserver)
    provocation.careless(client)

    assert [(provocation.rule, tuple(provocation.exchanges))] == [
        (each.rule, each.exchanges) for each in client.judged().findings
    ]
    judge = RULES[provocation.rule].judge
    assert judge is not None and MET in judge(trace(mockserver))
    assert provocation.rule in of(mockserver)


@EACH
def test_a_careful_client_at_the_same_task_has_none_though_the_rule_had_a_chance(
    mockserver: Sandbox, provocation: Provocation
) -> None:
    client = Watched(mockserver)
    provocation.careful(client)

    assert () == client.judged().findings
    assert provocation.rule in of(mockserver)


def test_a_sandbox_without_a_call_gives_no_rule_a_chance(mockserver: Sandbox) -> None:
    assert set() == of(mockserver)


def test_only_the_chances_of_rules_that_are_asked_for_are_returned(mockserver: Sandbox) -> None:
    mockserver.call("GET", "/v1/message-templates")

    assert {"secret-in-browser"} == chances(trace(mockserver), {"secret-in-browser", "duplicate-start"})
