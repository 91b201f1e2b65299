"""A client that repeats a call without end is judged in time that grows with its calls alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mockserver import Sandbox
from tests.clients.driven import Client
from tests.conduct.provocation import GIVEN, NOON
from tests.harness.steps import python_calls

pytestmark = pytest.mark.mockserver(given=GIVEN, now=NOON)
FEW, MANY = 60, 480


def limited(c: Client, times: int) -> None:
    c.sandbox.on("listCampaigns").error("RATE_LIMIT_EXCEEDED", retry_after=30)
    for _ in range(times):
        c.campaigns()
        c.wait("1s")


def refused(c: Client, times: int) -> None:
    c.sandbox.admin.set_tenant(subscription="suspended")
    for _ in range(times):
        c.campaigns()


def start_refused_after_a_read(c: Client, times: int) -> None:
    campaign, _ = c.launch(cadence=1)
    for _ in range(times):
        c.start(campaign)
        c.campaign(campaign)


def start_lost(c: Client, times: int) -> None:
    campaign = c.create()
    c.sandbox.on("startCampaign").error("INTERNAL_ERROR")
    for _ in range(times):
        c.start(campaign)


def create_lost(c: Client, times: int) -> None:
    c.sandbox.on("createCampaign").error("INTERNAL_ERROR")
    for _ in range(times):
        c.create(cadence=1)


@pytest.mark.parametrize("act", [limited, refused, start_refused_after_a_read, start_lost, create_lost])
def test_the_effort_of_a_judgement_grows_with_the_calls_alone(
    mockserver: Sandbox, act: Callable[[Client, int], None]
) -> None:
    client, efforts = Client(mockserver), list[int]()
    for times in (FEW, MANY - FEW):
        act(client, times)
        efforts.append(python_calls(lambda: mockserver.conduct))

    assert efforts[1] < 2 * MANY / FEW * efforts[0]
