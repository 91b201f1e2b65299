"""Campaign scenarios in which an answer is lost, late or cut: the careful client does a thing once, the naive one twice."""

from __future__ import annotations

import pytest
import requests

from mockserver import MockServer
from tests.clients.careful import Outcome
from tests.clients.naive import Failed
from tests.scenario.scenario_runs import played

DOORS = pytest.mark.parametrize("on_socket", [False, True], ids=["in process", "socket"])


@DOORS
def test_after_a_lost_start_a_careful_client_reads_and_sends_once(
    mockserver_server: MockServer, on_socket: bool
) -> None:
    with played(mockserver_server, "start-timeout-applied", on_socket=on_socket) as run:
        client = run.careful()

        ids = client.launch(run.plan())

        assert Outcome("completed", 20, 20, 0) == client.follow(*ids)
        assert 1 == len(run.calls("startCampaign"))
        assert (1, 0) == (len(run.executions), run.messaged_twice)


@DOORS
def test_after_a_lost_start_a_naive_client_clones_and_everyone_is_messaged_twice(
    mockserver_server: MockServer, on_socket: bool
) -> None:
    with played(mockserver_server, "start-timeout-applied", on_socket=on_socket) as run:
        run.naive().launch(run.plan().body())

        assert ["Promo", "Promo (2)"] == [each["name"] for each in run.campaigns]
        assert (2, 20) == (len(run.executions), run.messaged_twice)


@DOORS
def test_after_a_lost_start_a_naive_client_that_does_not_clone_is_refused(
    mockserver_server: MockServer, on_socket: bool
) -> None:
    with played(mockserver_server, "start-timeout-applied", on_socket=on_socket) as run:
        with pytest.raises(Failed):
            run.naive(clones=False).launch(run.plan().body())

        assert [None, "CAMPAIGN_ALREADY_PROCESSING"] == run.codes("startCampaign")
        assert 1 == len(run.executions)


def test_a_start_that_never_arrived_is_sent_again_by_both(mockserver_server: MockServer) -> None:
    for make in ("careful", "naive"):
        with played(mockserver_server, "start-timeout-not-applied") as run:
            client = getattr(run, make)()

            client.launch(run.plan() if make == "careful" else run.plan().body())

            assert [False, True] == [each["applied"] for each in run.calls("startCampaign")]
            assert (1, 0) == (len(run.executions), run.messaged_twice)


@pytest.mark.parametrize("name", ["start-answer-late", "start-arrives-late"])
def test_a_late_answer_costs_its_time_and_no_second_start_takes_effect(
    mockserver_server: MockServer, name: str
) -> None:
    """Neither an impatient client nor one that waits for ever sends twice, as long as it makes no clone."""
    with played(mockserver_server, name) as run:
        began = run.sandbox.now

        run.naive().launch(run.plan().body())

        assert 60 <= (run.sandbox.now - began).total_seconds()
        assert 1 == len(run.executions)


@pytest.mark.parametrize("name", ["create-answer-lost"])
def test_after_a_lost_creation_a_naive_client_leaves_a_second_campaign(
    mockserver_server: MockServer, name: str
) -> None:
    with played(mockserver_server, name) as run:
        run.naive().launch(run.plan().body())

        assert ["Promo", "Promo (2)"] == [each["name"] for each in run.campaigns]
        assert ["draft", "processing"] == [each["status"] for each in run.campaigns]


@pytest.mark.parametrize("name", ["create-answer-cut", "failed-after-commit"])
def test_half_an_answer_is_the_end_of_a_naive_client(mockserver_server: MockServer, name: str) -> None:
    with played(mockserver_server, name, to_the_end=False) as run:
        with pytest.raises(requests.RequestException):
            run.naive().launch(run.plan().body())

        assert ["draft"] == [each["status"] for each in run.campaigns]


def test_a_naive_client_that_repeats_a_write_after_a_proxy_error_conflicts_with_its_own_write(
    mockserver_server: MockServer,
) -> None:
    with played(mockserver_server, "gateway-html-after-commit", to_the_end=False) as run:
        run.naive().launch(run.plan().body())

        assert [None, "CAMPAIGN_NAME_ALREADY_EXISTS"] == run.codes("createCampaign")[:2]
        assert [None, "CAMPAIGN_ALREADY_PROCESSING"] == run.codes("startCampaign")[:2]
        assert (3, 2) == (len(run.campaigns), len(run.executions))


def test_a_naive_client_gets_html_instead_of_json(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "gateway-html-502") as run:
        client = run.naive()
        ids = client.launch(run.plan().body())  # blind repetition helps where the call never arrived

        client.follow(*ids)

        assert 2 == len(run.calls("createCampaign"))
