"""Campaign scenarios in which an answer is lost, late or cut: the careful client does a thing once, the naive one twice."""

from __future__ import annotations

import pytest
import requests

from mockserver import MockServer
from tests.clients.careful import Outcome
from tests.clients.naive import Failed
from tests.scenario.staging import staged

DOORS = pytest.mark.parametrize("on_socket", [False, True], ids=["in process", "socket"])


@DOORS
def test_after_a_lost_start_a_careful_client_reads_and_sends_once(mockserver_server: MockServer, on_socket: bool):
    with staged(mockserver_server, "start-timeout-applied", on_socket=on_socket) as stage:
        client = stage.careful()

        ids = client.launch(stage.plan())

        assert Outcome("completed", 20, 20, 0) == client.follow(*ids)
        assert 1 == len(stage.calls("startCampaign"))
        assert (1, 0) == (len(stage.executions), stage.messaged_twice)


@DOORS
def test_after_a_lost_start_a_naive_client_clones_and_everyone_is_messaged_twice(
    mockserver_server: MockServer, on_socket: bool
):
    with staged(mockserver_server, "start-timeout-applied", on_socket=on_socket) as stage:
        stage.naive().launch(stage.plan().body())

        assert ["Promo", "Promo (2)"] == [each["name"] for each in stage.campaigns]
        assert (2, 20) == (len(stage.executions), stage.messaged_twice)


@DOORS
def test_after_a_lost_start_a_naive_client_that_does_not_clone_is_refused(
    mockserver_server: MockServer, on_socket: bool
):
    with staged(mockserver_server, "start-timeout-applied", on_socket=on_socket) as stage:
        with pytest.raises(Failed):
            stage.naive(clones=False).launch(stage.plan().body())

        assert [None, "CAMPAIGN_ALREADY_PROCESSING"] == stage.codes("startCampaign")
        assert 1 == len(stage.executions)


def test_a_start_that_never_arrived_is_sent_again_by_both(mockserver_server: MockServer):
    for make in ("careful", "naive"):
        with staged(mockserver_server, "start-timeout-not-applied") as stage:
            client = getattr(stage, make)()

            client.launch(stage.plan() if make == "careful" else stage.plan().body())

            assert [False, True] == [each["applied"] for each in stage.calls("startCampaign")]
            assert (1, 0) == (len(stage.executions), stage.messaged_twice)


@pytest.mark.parametrize("name", ["start-answer-late", "start-arrives-late"])
def test_a_late_answer_costs_its_time_and_no_second_start_takes_effect(mockserver_server: MockServer, name: str):
    """Neither an impatient client nor one that waits for ever sends twice, as long as it makes no clone."""
    with staged(mockserver_server, name) as stage:
        began = stage.sandbox.now

        stage.naive().launch(stage.plan().body())

        assert 60 <= (stage.sandbox.now - began).total_seconds()
        assert 1 == len(stage.executions)


@pytest.mark.parametrize("name", ["create-answer-lost"])
def test_after_a_lost_creation_a_naive_client_leaves_a_second_campaign(mockserver_server: MockServer, name: str):
    with staged(mockserver_server, name) as stage:
        stage.naive().launch(stage.plan().body())

        assert ["Promo", "Promo (2)"] == [each["name"] for each in stage.campaigns]
        assert ["draft", "processing"] == [each["status"] for each in stage.campaigns]


@pytest.mark.parametrize("name", ["create-answer-cut", "failed-after-commit"])
def test_half_an_answer_is_the_end_of_a_naive_client(mockserver_server: MockServer, name: str):
    with staged(mockserver_server, name, to_the_end=False) as stage:
        with pytest.raises(requests.RequestException):
            stage.naive().launch(stage.plan().body())

        assert ["draft"] == [each["status"] for each in stage.campaigns]


def test_a_naive_client_that_repeats_a_write_after_a_proxy_error_conflicts_with_its_own_write(
    mockserver_server: MockServer,
):
    with staged(mockserver_server, "gateway-html-after-commit", to_the_end=False) as stage:
        stage.naive().launch(stage.plan().body())

        assert [None, "CAMPAIGN_NAME_ALREADY_EXISTS"] == stage.codes("createCampaign")[:2]
        assert [None, "CAMPAIGN_ALREADY_PROCESSING"] == stage.codes("startCampaign")[:2]
        assert (3, 2) == (len(stage.campaigns), len(stage.executions))


def test_a_naive_client_gets_html_instead_of_json(mockserver_server: MockServer):
    with staged(mockserver_server, "gateway-html-502") as stage:
        client = stage.naive()
        ids = client.launch(stage.plan().body())  # blind repetition helps where the call never arrived

        client.follow(*ids)

        assert 2 == len(stage.calls("createCampaign"))
