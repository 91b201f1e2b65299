"""Campaign scenarios in which an answer is lost, late or cut: the careful client does a thing once, the naive one twice."""

from __future__ import annotations

import pytest

from mockserver import MockServer
from tests.clients.careful import Outcome
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
