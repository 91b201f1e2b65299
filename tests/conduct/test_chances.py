"""Rules of conduct that had a chance to fail: in the situation of each rule, whichever client is in it, and in no other."""

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
def test_the_situation_of_a_rule_that_a_careless_client_broke_is_met(
    mockserver: Sandbox, provocation: Provocation
) -> None:
    provocation.careless(Watched(mockserver))

    judge = RULES[provocation.rule].judge
    assert judge is not None and MET in judge(trace(mockserver))
    assert provocation.rule in of(mockserver)


@EACH
def test_a_rule_that_a_careful_client_did_not_break_at_the_same_task_had_a_chance_too(
    mockserver: Sandbox, provocation: Provocation
) -> None:
    provocation.careful(Watched(mockserver))

    assert provocation.rule in of(mockserver)


def test_a_sandbox_without_a_call_gives_no_rule_a_chance(mockserver: Sandbox) -> None:
    assert set() == of(mockserver)


def test_only_the_chances_of_rules_that_are_asked_for_are_returned(mockserver: Sandbox) -> None:
    mockserver.call("GET", "/v1/message-templates")

    assert {"secret-in-browser"} == chances(trace(mockserver), {"secret-in-browser", "duplicate-start"})
