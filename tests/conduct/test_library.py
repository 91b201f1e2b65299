"""The library's reference clients: the careful one is found nowhere, the naive one by what each scenario teaches."""

from __future__ import annotations

from contextlib import suppress

import pytest
import requests

from mockserver import MockServer
from tests.clients.calls import Refused
from tests.clients.naive import Failed, NeverEnds
from tests.harness.rows import each_row
from tests.scenario.scenario_runs import played
from tests.scenario.test_campaigns_played import ENDS, VALUES

# What the document itself causes is not the client's fault: the audience of this scenario crosses channels on purpose.
ON_PURPOSE = {"audience-crosses-channels": ["platform-used-as-audience"]}
TAUGHT = {
    "start-timeout-applied": "clone-after-conflict",
    "start-timeout-not-applied": "duplicate-start",
    "create-answer-lost": "blind-post-retry",
    "campaign-fails-midway": "poll-final-set-incomplete",
}


@each_row("name", ENDS)
def test_a_careful_client_has_no_finding(mockserver_server: MockServer, name: str) -> None:
    with played(mockserver_server, name) as run:
        client = run.careful()
        client.follow(*client.launch(run.plan(), VALUES))

        assert ON_PURPOSE.get(name, []) == [each.rule for each in run.sandbox.conduct]


@pytest.mark.parametrize("name", TAUGHT)
def test_a_naive_client_has_the_findings_that_the_scenario_names(mockserver_server: MockServer, name: str) -> None:
    with played(mockserver_server, name) as run:
        client = run.naive(patience=30)
        with suppress(Failed, NeverEnds, Refused, requests.RequestException):
            client.follow(*client.launch(run.plan().body()))

        assert TAUGHT[name] in {each.rule for each in run.sandbox.conduct}
        assert all(each.exchanges for each in run.sandbox.conduct)
