"""What an execution shows where the document is silent: rounding, the end of progress, lag, completedAt, odd ends."""

from collections.abc import Callable
from typing import Any

import pytest

from mockserver import Sandbox
from tests.operations.campaigning import (
    EXACT_NOON,
    NOON,
    cancel,
    counts,
    create,
    entry,
    progress,
    read,
    run,
    start,
    statuses,
)
from tests.operations.world import refused

NOBODY = [{"combinator": "and", "statements": [{"field": "chat.status", "operator": "equals", "value": "none"}]}]
pytestmark = pytest.mark.mockserver(now=NOON, given={"templates": [{"id": "template_plain"}], "chats": {"count": 200}})

# option -> progress at these numbers of 200 processed
ROUNDED = {
    "floor": {1: 0, 2: 1, 3: 1, 99: 49, 101: 50, 198: 99, 199: 99, 200: 100},
    "half-up": {1: 1, 2: 1, 3: 2, 99: 50, 101: 51, 198: 99, 199: 100, 200: 100},
    "ceil": {1: 1, 2: 1, 3: 2, 99: 50, 101: 51, 198: 99, 199: 100, 200: 100},
}


@pytest.mark.clause("send.progress")
@pytest.mark.parametrize(
    "option",
    [
        pytest.param("floor", marks=pytest.mark.option("progress-rounding", "floor")),
        pytest.param("half-up", marks=pytest.mark.option("progress-rounding", "half-up")),
        pytest.param("ceil", marks=pytest.mark.option("progress-rounding", "ceil")),
    ],
)
def test_progress_is_rounded_as_chosen(mockserver: Sandbox, option: str) -> None:
    mockserver.choose({"progress-rounding": option})
    ids = run(mockserver, cadence=60)
    shown = {}
    for processed in range(1, 201):
        shown[processed] = progress(mockserver, ids)["progress"]
        mockserver.advance(seconds=1)

    assert ROUNDED[option] == {key: shown[key] for key in ROUNDED[option]}
    assert sorted(shown.values()) == list(shown.values())


@pytest.mark.clause("send.progress")
def test_failed_sends_count_in_progress_too(mockserver: Sandbox) -> None:
    mockserver.apply({"given": {"chats": {"count": 200, "each": {"platform": "photoapp"}}}})
    ids = run(mockserver, cadence=4800)
    mockserver.advance(seconds=3)

    assert (400, 200, 41) == counts(mockserver, ids)
    assert 60 == progress(mockserver, ids)["progress"]


@pytest.mark.clause("send.progress")
@pytest.mark.parametrize(
    ("option", "running"),
    [
        pytest.param("zero", 0, marks=pytest.mark.option("progress-zero-target", "zero")),
        pytest.param("hundred", 100, marks=pytest.mark.option("progress-zero-target", "hundred")),
    ],
)
def test_a_target_of_none_shows_the_chosen_progress_until_it_completes(
    mockserver: Sandbox, option: str, running: int
) -> None:
    mockserver.choose({"progress-zero-target": option, "execution-status-lag": "campaign-first"})
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
@pytest.mark.parametrize(
    ("option", "shown"),
    [
        pytest.param("partial", 50, marks=pytest.mark.option("progress-after-cancel", "partial")),
        pytest.param("hundred", 100, marks=pytest.mark.option("progress-after-cancel", "hundred")),
    ],
)
def test_a_canceled_execution_shows_the_chosen_progress(mockserver: Sandbox, option: str, shown: int) -> None:
    mockserver.choose({"progress-after-cancel": option})
    ids = run(mockserver, cadence=60)
    mockserver.advance(seconds=99)
    assert 50 == progress(mockserver, ids)["progress"]
    cancel(mockserver, ids[0])

    assert shown == progress(mockserver, ids)["progress"]
    mockserver.advance("1h")
    assert shown == progress(mockserver, ids)["progress"]
    assert (200, 100, 0) == counts(mockserver, ids)


@pytest.mark.clause("send.completed", "send.failures")
@pytest.mark.parametrize(
    ("option", "status"),
    [
        pytest.param("completed", "completed", marks=pytest.mark.option("all-sends-failed", "completed")),
        pytest.param("failed", "failed", marks=pytest.mark.option("all-sends-failed", "failed")),
    ],
)
@pytest.mark.mockserver(now=EXACT_NOON)
def test_a_campaign_whose_every_send_failed_ends_as_chosen(mockserver: Sandbox, option: str, status: str) -> None:
    mockserver.choose({"all-sends-failed": option})
    ids = run(mockserver, platform="photoapp", cadence=60)
    mockserver.advance(198.999999)
    assert ("processing", "processing") == statuses(mockserver, ids)
    mockserver.advance(0.000001)

    assert (status, status) == statuses(mockserver, ids)
    assert (200, 0, 200) == counts(mockserver, ids)
    assert 100 == progress(mockserver, ids)["progress"]


@pytest.mark.clause("send.completed")
def test_one_send_that_succeeds_is_enough_to_complete_under_either_option(mockserver: Sandbox) -> None:
    mockserver.choose({"all-sends-failed": "failed"})
    mockserver.apply({"given": {"chats": [{"platform": "photoapp"}]}})
    ids = run(mockserver, platform="photoapp", cadence=60)
    mockserver.advance(until="idle")

    assert (201, 1, 200) == counts(mockserver, ids)
    assert ("completed", "completed") == statuses(mockserver, ids)


def _cancel(mockserver: Sandbox, ids: tuple[str, str]) -> str:
    cancel(mockserver, ids[0])
    return "canceled"


def _fail(mockserver: Sandbox, ids: tuple[str, str]) -> str:
    mockserver.admin.fail_campaign(ids[0])
    return "failed"


def _complete(mockserver: Sandbox, ids: tuple[str, str]) -> str:
    mockserver.advance("199s")  # exactly the instant of the last send
    return "completed"


@pytest.mark.clause("campaigns.detail-executions")
@pytest.mark.parametrize(
    ("option", "shown"),
    [
        pytest.param("set", "2026-03-01T12:00:01.500Z", marks=pytest.mark.option("completedAt-on-cancel-fail", "set")),
        pytest.param("null", None, marks=pytest.mark.option("completedAt-on-cancel-fail", "null")),
    ],
)
@pytest.mark.parametrize("end", [_cancel, _fail])
def test_a_canceled_or_failed_execution_has_a_completed_at_or_null(
    mockserver: Sandbox, option: str, shown: str | None, end: Callable[..., Any]
) -> None:
    mockserver.choose({"completedAt-on-cancel-fail": option})
    ids = run(mockserver, cadence=60)
    mockserver.advance(seconds=1.5)
    assert None is entry(mockserver, ids[0])["completedAt"]
    end(mockserver, ids)
    mockserver.advance("1h")

    assert shown == entry(mockserver, ids[0])["completedAt"]


@pytest.mark.clause("campaigns.detail-executions")
def test_a_completed_execution_has_its_completed_at_under_either_option(mockserver: Sandbox) -> None:
    mockserver.choose({"completedAt-on-cancel-fail": "null"})
    ids = run(mockserver, cadence=60)
    mockserver.advance(until="idle")

    assert "2026-03-01T12:03:19.000Z" == entry(mockserver, ids[0])["completedAt"]


@pytest.mark.clause("campaigns.status-values")
@pytest.mark.parametrize("end", [_cancel, _fail, _complete])
@pytest.mark.option("execution-status-lag", "none")
def test_campaign_and_execution_end_at_one_instant(mockserver: Sandbox, end: Callable[..., Any]) -> None:
    ids = run(mockserver, cadence=60)
    status = end(mockserver, ids)

    assert (status, status) == statuses(mockserver, ids)


@pytest.mark.clause("campaigns.status-values", "campaigns.detail-executions")
@pytest.mark.parametrize("end", [_cancel, _fail, _complete])
@pytest.mark.option("execution-status-lag", "campaign-first")
def test_the_execution_may_follow_its_campaign_later(mockserver: Sandbox, end: Callable[..., Any]) -> None:
    mockserver.choose({"execution-status-lag": "campaign-first"})
    ids = run(mockserver, cadence=60)
    status = end(mockserver, ids)
    processed = counts(mockserver, ids)

    assert (status, "processing") == statuses(mockserver, ids)
    assert None is entry(mockserver, ids[0])["completedAt"]
    assert "CAMPAIGN_NOT_DRAFT" == refused(start(mockserver, ids[0]))[1]
    mockserver.advance(until="idle")
    assert (status, status) == statuses(mockserver, ids)
    assert processed == counts(mockserver, ids)
    assert None is not entry(mockserver, ids[0])["completedAt"]


@pytest.mark.clause("execution.read")
@pytest.mark.parametrize(
    ("option", "code"),
    [
        pytest.param(
            "resource", "RESOURCE_NOT_FOUND", marks=pytest.mark.option("execution-not-found-code", "resource")
        ),
        pytest.param(
            "campaign", "CAMPAIGN_NOT_FOUND", marks=pytest.mark.option("execution-not-found-code", "campaign")
        ),
    ],
)
def test_an_unknown_execution_gets_the_chosen_code(mockserver: Sandbox, option: str, code: str) -> None:
    mockserver.choose({"execution-not-found-code": option})
    campaign_id, _ = run(mockserver, name="One")
    _, other = run(mockserver, name="Two")

    for wanted in ("execution_nowhere", other):
        reply = mockserver.call("GET", f"/v1/campaigns/{campaign_id}/executions/{wanted}")
        assert (404, code) == refused(reply)


@pytest.mark.clause("execution.read", "base.tenant-scope")
def test_the_execution_of_an_unknown_or_foreign_campaign_is_campaign_not_found(mockserver: Sandbox) -> None:
    key = mockserver.apply({"given": {"tenants": [{"id": "tenant_other"}]}})["tenants"][0]["secretKey"]
    campaign_id, execution_id = run(mockserver)

    unknown = mockserver.call("GET", f"/v1/campaigns/campaign_nowhere/executions/{execution_id}")
    foreign = mockserver.call("GET", f"/v1/campaigns/{campaign_id}/executions/{execution_id}", key=key)
    assert [(404, "CAMPAIGN_NOT_FOUND")] * 2 == [refused(unknown), refused(foreign)]


@pytest.mark.clause("campaigns.status-values", "execution.read")
def test_a_draft_has_no_execution_to_read(mockserver: Sandbox) -> None:
    campaign_id = create(mockserver)

    assert [] == read(mockserver, campaign_id)["executions"]
    reply = mockserver.call("GET", f"/v1/campaigns/{campaign_id}/executions/execution_1")
    assert (404, "RESOURCE_NOT_FOUND") == refused(reply)
