"""What an execution shows where the document is silent: rounding, the end of progress, lag, completedAt, odd ends."""

import pytest

from mockserver import Sandbox
from tests.harness.options import each_option, in_force
from tests.operations.campaigning import (
    EXACT_NOON,
    NOBODY,
    NOON,
    cancel,
    counts,
    end,
    entry,
    progress,
    run,
    start,
    statuses,
)
from tests.operations.world import refused

pytestmark = pytest.mark.mockserver(now=NOON, given={"templates": [{"id": "template_plain"}], "chats": {"count": 200}})

# option -> progress at these numbers of 200 processed
ROUNDED = {
    "floor": {1: 0, 2: 1, 3: 1, 99: 49, 101: 50, 198: 99, 199: 99, 200: 100},
    "half-up": {1: 1, 2: 1, 3: 2, 99: 50, 101: 51, 198: 99, 199: 100, 200: 100},
    "ceil": {1: 1, 2: 1, 3: 2, 99: 50, 101: 51, 198: 99, 199: 100, 200: 100},
}


@pytest.mark.clause("send.progress")
@each_option("option", "progress-rounding", {"floor": "floor", "half-up": "half-up", "ceil": "ceil"})
def test_progress_is_rounded_as_chosen(mockserver: Sandbox, option: str) -> None:
    ids = run(mockserver, cadence=60)
    shown = {}
    for processed in range(1, 201):
        shown[processed] = progress(mockserver, ids)["progress"]
        mockserver.advance(seconds=1)

    assert ROUNDED[option] == {key: shown[key] for key in ROUNDED[option]}
    assert sorted(shown.values()) == list(shown.values())


@pytest.mark.clause("send.progress")
@each_option("running", "progress-zero-target", {"zero": 0, "hundred": 100})
def test_a_target_of_none_shows_the_chosen_progress_until_it_completes(mockserver: Sandbox, running: int) -> None:
    mockserver.choose({"execution-status-lag": "campaign-first"})
    ids = run(mockserver, filters=NOBODY)

    assert ("completed", "processing") == statuses(mockserver, ids)
    assert running == progress(mockserver, ids)["progress"]
    mockserver.advance(until="idle")
    assert ("completed", "completed") == statuses(mockserver, ids)
    assert 100 == progress(mockserver, ids)["progress"]


@pytest.mark.clause("send.progress")
@pytest.mark.parametrize(("option", "shown"), [("zero", 0), ("hundred", 100)])
@pytest.mark.parametrize("end", ["failed", "canceled"])
def test_a_target_of_none_shows_the_chosen_progress_if_it_failed_or_was_canceled(
    mockserver: Sandbox, option: str, shown: int, end: str
) -> None:
    lag = {"execution-status-lag": "campaign-first"} if end == "canceled" else {}
    mockserver.choose({"progress-zero-target": option, "start-empty-audience": "failed", **lag})
    if end == "canceled":
        mockserver.on("startCampaign").cancel_campaign()
    ids = run(mockserver, filters=NOBODY)
    mockserver.advance(until="idle")

    assert (end, end) == statuses(mockserver, ids)
    assert shown == progress(mockserver, ids)["progress"]


@pytest.mark.clause("cancel.processing", "send.progress")
@each_option("shown", "progress-after-cancel", {"partial": 50, "hundred": 100})
def test_a_canceled_execution_shows_the_chosen_progress(mockserver: Sandbox, shown: int) -> None:
    ids = run(mockserver, cadence=60)
    mockserver.advance(seconds=99)
    assert 50 == progress(mockserver, ids)["progress"]
    cancel(mockserver, ids[0])

    assert shown == progress(mockserver, ids)["progress"]
    mockserver.advance("1h")
    assert shown == progress(mockserver, ids)["progress"]
    assert (200, 100, 0) == counts(mockserver, ids)


@pytest.mark.clause("send.completed", "send.failures")
@each_option("status", "all-sends-failed", {"completed": "completed", "failed": "failed"})
@pytest.mark.mockserver(now=EXACT_NOON)
def test_a_campaign_whose_every_send_failed_ends_as_chosen(mockserver: Sandbox, status: str) -> None:
    ids = run(mockserver, platform="photoapp", cadence=60)
    mockserver.advance(198.999999)
    assert ("processing", "processing") == statuses(mockserver, ids)
    mockserver.advance(0.000001)

    assert (status, status) == statuses(mockserver, ids)
    assert (200, 0, 200) == counts(mockserver, ids)
    assert 100 == progress(mockserver, ids)["progress"]


@pytest.mark.clause("campaigns.detail-executions")
@each_option("shown", "completedAt-on-cancel-fail", {"set": "2026-03-01T12:00:01.500Z", "null": None})
@pytest.mark.option("execution-status-lag", "none")
@pytest.mark.parametrize("how", ["canceled", "failed"])
def test_a_canceled_or_failed_execution_has_a_completed_at_or_null(
    mockserver: Sandbox, shown: str | None, how: str
) -> None:
    ids = run(mockserver, cadence=60)
    mockserver.advance(seconds=1.5)
    assert None is entry(mockserver, ids[0])["completedAt"]
    end(mockserver, ids[0], how)
    assert (how, how) == statuses(mockserver, ids)
    mockserver.advance("1h")

    assert shown == entry(mockserver, ids[0])["completedAt"]


@pytest.mark.clause("campaigns.status-values", "campaigns.detail-executions")
@pytest.mark.parametrize("how", ["canceled", "failed", "completed"])
@in_force("execution-status-lag", "campaign-first")
def test_the_execution_may_follow_its_campaign_later(mockserver: Sandbox, how: str) -> None:
    ids = run(mockserver, cadence=60)
    if how == "completed":
        mockserver.advance("199s")  # exactly the instant of the last send
    else:
        end(mockserver, ids[0], how)
    processed = counts(mockserver, ids)

    assert (how, "processing") == statuses(mockserver, ids)
    assert None is entry(mockserver, ids[0])["completedAt"]
    assert "CAMPAIGN_NOT_DRAFT" == refused(start(mockserver, ids[0]))[1]
    mockserver.advance(until="idle")
    assert (how, how) == statuses(mockserver, ids)
    assert processed == counts(mockserver, ids)
    assert None is not entry(mockserver, ids[0])["completedAt"]


@pytest.mark.clause("execution.read")
@each_option("code", "execution-not-found-code", {"resource": "RESOURCE_NOT_FOUND", "campaign": "CAMPAIGN_NOT_FOUND"})
def test_an_unknown_execution_gets_the_chosen_code(mockserver: Sandbox, code: str) -> None:
    campaign_id, _ = run(mockserver, name="One")
    _, other = run(mockserver, name="Two")

    for wanted in ("execution_nowhere", other):
        reply = mockserver.call("GET", f"/v1/campaigns/{campaign_id}/executions/{wanted}")
        assert (404, code) == refused(reply)
