"""Campaign scenarios about cancels, and about responses whose meaning only the code shows."""

from __future__ import annotations

import pytest

from mockserver import MockServer
from mockserver.contract.errors import ERRORS
from tests.clients.calls import Refused
from tests.clients.careful import Outcome
from tests.scenario.scenario_runs import played

# After ten seconds of sending: the final status, and the counts once nothing is under way.
# fmt: off
CANCELS = {
    "cancel-while-sending-with-stragglers": ("canceled",  60, 16, 0),
    "cancel-answer-500":                    ("canceled",  60, 12, 0),
    "cancel-answer-lost":                   ("canceled",  60, 11, 0),
}
# fmt: on


@pytest.mark.parametrize("name", CANCELS)
def test_a_careful_client_cancels_until_the_campaign_has_ended(mockserver_server: MockServer, name: str) -> None:
    with played(mockserver_server, name) as run:
        client = run.careful()
        ids = client.launch(run.plan())
        run.sandbox.advance("10s")

        assert "canceled" == client.cancel(ids[0])
        at_once = client.outcome(*ids)
        settled = client.settled(*ids)

        assert Outcome(*CANCELS[name]) == settled
        assert (settled.sent > at_once.sent) == (name == "cancel-while-sending-with-stragglers")


def test_a_late_cancel_is_refused_because_the_campaign_is_completed(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "cancel-races-completion") as run:
        client = run.careful()
        ids = client.launch(run.plan())
        run.sandbox.advance("1s")

        assert "completed" == client.cancel(ids[0])
        assert Outcome("completed", 4, 4, 0) == client.outcome(*ids)
        assert ["UNPROCESSABLE_REQUEST"] == run.codes("cancelCampaign")


def test_a_campaign_may_have_ended_before_its_execution_reports_it(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "execution-status-lags") as run:
        client = run.careful()
        ids = client.launch(run.plan())
        run.sandbox.advance("10s")

        assert ("completed", "processing") == (client.campaign(ids[0])["status"], client.outcome(*ids).status)
        assert "completed" == client.follow(*ids).status


def test_a_lost_channel_fails_the_remaining_messages(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "channel-lost-midrun") as run:
        client = run.careful()

        outcome = client.follow(*client.launch(run.plan(platform="photoapp")))

        assert Outcome("completed", 12, 5, 7) == outcome


@pytest.mark.parametrize("name", ["contradicting-catalogue-catalog", "contradicting-catalogue-guide"])
def test_a_client_that_branches_on_the_code_does_the_same_under_both_statuses(
    mockserver_server: MockServer, name: str
) -> None:
    with played(mockserver_server, name) as run:
        client, plan = run.careful(), run.plan()
        client.create(plan)

        with pytest.raises(Refused) as refusal:
            client.launch(plan, {})  # finds its draft by name, and lacks a variable

        assert "CAMPAIGN_MISSING_COMMON_VARIABLES" == refusal.value.code
        assert (1, 0) == (len(run.campaigns), len(run.executions))


def test_a_client_that_reads_codes_finds_its_draft_where_messages_are_reworded(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "messages-reworded") as run:
        careful, plan = run.careful(), run.plan()

        assert careful.create(plan) == careful.create(plan)
        assert 1 == len(run.campaigns)
        refusal = run.calls("createCampaign")[-1]["response"]["body"]
        assert ERRORS["CAMPAIGN_NAME_ALREADY_EXISTS"].reworded == refusal["message"]
