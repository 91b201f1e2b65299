"""Conduct: a careless client is found with its exchanges, a careful one at the same task is not."""

from __future__ import annotations

import pytest

from mockserver.testing.sandbox import Sandbox
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


@EACH
def test_a_careful_client_at_the_same_task_has_none(mockserver: Sandbox, provocation: Provocation) -> None:
    client = Watched(mockserver)
    provocation.careful(client)

    assert () == client.judged().findings
