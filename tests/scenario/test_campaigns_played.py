"""Campaign scenarios, each played by the careful client."""

from __future__ import annotations

import pytest

from mockserver import MockServer
from tests.clients.calls import Refused
from tests.clients.careful import Outcome
from tests.harness.rows import each_row
from tests.scenario.scenario_runs import played

# What a careful client has in the end, having launched one campaign: status, target, sent, failed.
# fmt: off
ENDS = {
    "happy-campaign":             ("completed", 12, 12,  0),
    "start-timeout-applied":      ("completed", 20, 20,  0),
    "start-timeout-not-applied":  ("completed", 20, 20,  0),
    "start-answer-late":          ("completed", 20, 20,  0),
    "start-arrives-late":         ("completed", 20, 20,  0),
    "stale-read-after-start":     ("completed", 20, 20,  0),
    "create-answer-lost":         ("completed",  8,  8,  0),
    "create-answer-cut":          ("completed",  8,  8,  0),
    "failed-after-commit":        ("completed",  6,  6,  0),
    "gateway-html-after-commit":  ("completed",  6,  6,  0),
    "gateway-html-502":           ("completed",  6,  6,  0),
    "poll-meets-500":             ("completed", 40, 40,  0),
    "rate-limit-tightens":        ("completed", 40, 40,  0),
    "all-sends-fail":             ("completed", 10,  0, 10),
    "half-fail-then-complete":    ("completed", 10,  5,  5),
    "campaign-fails-midway":      ("failed",    20,  5,  0),
    "empty-audience":             ("completed",  0,  0,  0),
    "audience-grows-after-start": ("completed", 10, 10,  0),
    "audience-crosses-channels":  ("completed",  9,  6,  3),
    "template-paused-midrun":     ("completed", 12,  5,  7),
    "template-gains-variable":    ("completed",  6,  6,  0),
    "stalled-run":                ("completed", 10, 10,  0),
    "slow-run":                   ("completed", 10, 10,  0),
    "progress-rounds-up":         ("completed", 200, 200, 0),
    "execution-status-lags":      ("completed", 10, 10,  0),
    "every-post-answers-200":     ("completed",  3,  3,  0),
    "every-post-answers-201":     ("completed",  3,  3,  0),
    "answers-gain-fields":        ("completed",  1,  1,  0),
}
# fmt: on
# What the document itself causes is not the client's fault: the audience of this scenario crosses channels on purpose.
ON_PURPOSE = {"audience-crosses-channels": ["platform-used-as-audience"]}
VALUES = {"var1": "SORRISO10", "var2": "31/03"}


@each_row("world", [None, "demo"])
@each_row("name", ENDS)
@pytest.mark.option("failed-trigger", "effect")
def test_a_careful_client_sends_once_and_learns_how_it_ended(
    mockserver_server: MockServer, name: str, world: str | None
) -> None:
    """Also in a sandbox with other records: filters and ids concern only the scenario's own."""
    with played(mockserver_server, name, joins=world) as run:
        client = run.careful()

        ids = client.launch(run.plan(), VALUES)

        assert Outcome(*ENDS[name]) == client.follow(*ids)
        assert (1, 1) == (len(run.campaigns), len(run.executions))
        assert ON_PURPOSE.get(name, []) == [each.rule for each in run.sandbox.conduct]


def test_a_delayed_start_conflicts_with_its_repetition(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "start-arrives-late") as run:
        client = run.careful()
        ids = client.launch(run.plan())
        run.sandbox.advance("2m")

        assert Outcome("completed", 20, 20, 0) == client.outcome(*ids)
        assert [True, False] == [each["applied"] for each in run.calls("startCampaign")]
        assert 1 == len(run.executions)


def test_an_audience_that_grows_after_the_start_is_not_sent_to(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "audience-grows-after-start") as run:
        client = run.careful()
        ids = client.launch(run.plan())

        outcome = client.follow(*ids)

        assert (14, 10) == (client.audience(run.plan().filters), outcome.target)


def test_a_careful_client_stops_where_a_colleague_cancels(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "campaign-canceled-by-another") as run:
        client = run.careful()
        ids = client.launch(run.plan())
        run.sandbox.advance("30s")
        run.sandbox.call("POST", f"/v1/campaigns/{ids[0]}/cancel")

        assert Outcome("canceled", 200, 31, 0) == client.follow(*ids)
        assert 1 == len(run.calls("readExecution"))


@pytest.mark.option("preview-vs-target", "effect")
def test_the_preview_is_not_the_target(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "audience-grows-after-preview") as run:
        plan, careful = run.plan(), run.careful()
        expected = careful.audience(plan.filters)

        outcome = careful.follow(*careful.launch(plan))

        assert (10, Outcome("completed", 14, 14, 0)) == (expected, outcome)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("audience-too-big", "CAMPAIGN_SIZE_LIMIT_EXCEEDED"),
        ("template-removed-before-start", "MESSAGE_TEMPLATE_NOT_FOUND"),
    ],
)
def test_a_start_without_hope_is_tried_once_and_leaves_a_draft(
    mockserver_server: MockServer, name: str, code: str
) -> None:
    with played(mockserver_server, name) as run:
        with pytest.raises(Refused) as refusal:
            run.careful().launch(run.plan())

        assert code == refusal.value.code
        assert ["draft"] == [each["status"] for each in run.campaigns]
        assert [] == run.executions


def test_a_canceled_draft_is_abandoned(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "draft-canceled") as run:
        client, plan = run.careful(), run.plan()
        campaign_id = client.create(plan)

        assert "canceled" == client.cancel(campaign_id)
        with pytest.raises(Refused) as refusal:
            client.start(campaign_id, plan.template_id, {})

        assert "CAMPAIGN_NOT_DRAFT" == refusal.value.code
        assert [] == run.executions
