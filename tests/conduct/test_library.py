"""The library's naive client has the findings that a scenario teaches; the careful one has none where it is played."""

from __future__ import annotations

from contextlib import suppress

import pytest
import requests

from mockserver import MockServer
from tests.clients.calls import Refused
from tests.clients.naive import Failed, NeverEnds
from tests.scenario.scenario_runs import played

TAUGHT = {
    "start-timeout-applied": "clone-after-conflict",
    "start-timeout-not-applied": "duplicate-start",
    "create-answer-lost": "blind-post-retry",
    "campaign-fails-midway": "poll-final-set-incomplete",
}


@pytest.mark.parametrize("name", TAUGHT)
def test_a_naive_client_has_the_findings_that_the_scenario_names(mockserver_server: MockServer, name: str) -> None:
    with played(mockserver_server, name) as run:
        client = run.naive(patience=30)
        with suppress(Failed, NeverEnds, Refused, requests.RequestException):
            client.follow(*client.launch(run.plan().body()))

        assert TAUGHT[name] in {each.rule for each in run.sandbox.conduct}
        assert all(each.exchanges for each in run.sandbox.conduct)
