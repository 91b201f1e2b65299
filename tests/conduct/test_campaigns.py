"""Conduct of campaigns and plain HTTP: a careless client is found with its exchanges, a careful one is not."""

from __future__ import annotations

import pytest

from mockserver.testing.sandbox import Sandbox
from tests.clients.driven import Client
from tests.conduct.provocation import GIVEN, NOON, Provocation
from tests.conduct.provocations_of_campaigns import PROVOCATIONS

pytestmark = pytest.mark.mockserver(given=GIVEN, now=NOON)
EACH = pytest.mark.parametrize("provocation", PROVOCATIONS, ids=lambda each: each.id)


@EACH
@pytest.mark.clause(
    "advice.poll-execution", "advice.read-before-restart", "advice.back-off", "advice.secret-server-side"
)
def test_a_careless_client_has_a_finding_with_its_exchanges(mockserver: Sandbox, provocation: Provocation) -> None:
    provocation.careless(Client(mockserver))

    assert [(provocation.rule, tuple(provocation.exchanges))] == [
        (each.rule, each.exchanges) for each in mockserver.conduct
    ]


@EACH
def test_a_careful_client_at_the_same_task_is_not(mockserver: Sandbox, provocation: Provocation) -> None:
    provocation.careful(Client(mockserver))

    assert [] == list(mockserver.conduct)
