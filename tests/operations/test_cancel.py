"""Cancelling a campaign: what is interrupted, what may still be sent, and what has ended already."""

import json

import pytest

from mockserver import Sandbox
from tests.operations.campaigning import (
    NOON,
    cancel,
    counts,
    create,
    entry,
    messages,
    progress,
    read,
    run,
    statuses,
)
from tests.operations.world import refused

pytestmark = pytest.mark.mockserver(now=NOON, given={"templates": [{"id": "template_plain"}], "chats": {"count": 200}})


@pytest.mark.clause("cancel.processing", "base.success")
def test_a_running_campaign_is_canceled_and_sends_no_more(mockserver: Sandbox) -> None:
    ids = run(mockserver, cadence=60)
    mockserver.advance(seconds=10)

    reply = cancel(mockserver, ids[0])

    assert (204, b"") == (reply.status, reply.body)
    assert "content-type" not in reply.headers
    assert ("canceled", "canceled") == statuses(mockserver, ids)
    assert (200, 11, 0) == counts(mockserver, ids)  # the send that was due at this very instant was sent
    mockserver.advance("1h")
    assert (200, 11, 0) == counts(mockserver, ids)
    assert "2026-03-01T12:00:10.000Z" == entry(mockserver, ids[0])["completedAt"]


@pytest.mark.clause("cancel.no-body")
@pytest.mark.parametrize("headers", [{}, {"content-type": "application/json"}, {"content-type": "text/plain"}])
def test_cancelling_needs_no_body_whatever_the_content_type(mockserver: Sandbox, headers: dict[str, str]) -> None:
    campaign_id, _ = run(mockserver)

    assert 204 == mockserver.call("POST", f"/v1/campaigns/{campaign_id}/cancel", headers=headers).status


@pytest.mark.clause("cancel.unknown", "base.tenant-scope")
def test_an_unknown_campaign_and_another_tenants_cannot_be_canceled(mockserver: Sandbox) -> None:
    key = mockserver.apply({"given": {"tenants": [{"id": "tenant_other"}]}})["tenants"][0]["secretKey"]
    campaign_id, _ = run(mockserver)
    before = mockserver.state()

    foreign = mockserver.call("POST", f"/v1/campaigns/{campaign_id}/cancel", key=key)
    assert (404, "CAMPAIGN_NOT_FOUND") == refused(foreign)
    assert (404, "CAMPAIGN_NOT_FOUND") == refused(cancel(mockserver, "campaign_nowhere"))
    assert before == mockserver.state()


@pytest.mark.clause("cancel.draft", "campaigns.status-values")
@pytest.mark.option("cancel-draft", "canceled")
def test_a_draft_is_canceled_and_has_no_execution(mockserver: Sandbox) -> None:
    campaign_id = create(mockserver)

    assert (204, b"") == cancel(mockserver, campaign_id)[::2]
    assert ("canceled", []) == (read(mockserver, campaign_id)["status"], read(mockserver, campaign_id)["executions"])


@pytest.mark.clause("cancel.draft")
@pytest.mark.option("cancel-draft", "unprocessable")
def test_a_draft_may_be_out_of_reach_of_cancel(mockserver: Sandbox) -> None:
    mockserver.choose({"cancel-draft": "unprocessable"})
    campaign_id = create(mockserver)

    assert (422, "UNPROCESSABLE_REQUEST") == refused(cancel(mockserver, campaign_id))
    assert "draft" == read(mockserver, campaign_id)["status"]
    ids = run(mockserver, name="Running")
    assert 204 == cancel(mockserver, ids[0]).status


def _end(mockserver: Sandbox, how: str) -> str:
    ids = run(mockserver, cadence=4800)
    if how == "canceled":
        cancel(mockserver, ids[0])
    elif how == "failed":
        mockserver.admin.fail_campaign(ids[0])
    else:
        mockserver.advance(until="idle")
    assert (how, how) == statuses(mockserver, ids)
    mockserver.advance(seconds=1)
    return ids[0]


REFUSED = (422, "UNPROCESSABLE_REQUEST")
NO_DRAFT = (422, "CAMPAIGN_NOT_DRAFT")
ENDED = [
    pytest.param("cancel-final", "unprocessable", REFUSED, marks=pytest.mark.option("cancel-final", "unprocessable")),
    pytest.param("cancel-final", "no-op", None, marks=pytest.mark.option("cancel-final", "no-op")),
    pytest.param("cancel-final", "not-draft", NO_DRAFT, marks=pytest.mark.option("cancel-final", "not-draft")),
]
REPEATED = [
    pytest.param("repeat-cancel", "unprocessable", REFUSED, marks=pytest.mark.option("repeat-cancel", "unprocessable")),
    pytest.param("repeat-cancel", "no-op", None, marks=pytest.mark.option("repeat-cancel", "no-op")),
]


def _cancel_and_expect(mockserver: Sandbox, campaign_id: str, expected: tuple[int, str] | None) -> None:
    """The cancel is refused like this, or answers 204; either way nothing changes."""
    before = json.dumps(mockserver.state())
    reply = cancel(mockserver, campaign_id)

    assert expected == (refused(reply) if reply.status != 204 else None)
    assert before == json.dumps(mockserver.state())


@pytest.mark.clause("cancel.final")
@pytest.mark.parametrize("how", ["completed", "failed"])
@pytest.mark.parametrize(("choice", "option", "expected"), ENDED)
def test_cancelling_what_completed_or_failed_changes_nothing(
    mockserver: Sandbox, choice: str, option: str, expected: tuple[int, str] | None, how: str
) -> None:
    mockserver.choose({choice: option})

    _cancel_and_expect(mockserver, _end(mockserver, how), expected)


@pytest.mark.clause("cancel.final")
@pytest.mark.parametrize("draft", [True, False])
@pytest.mark.parametrize(("choice", "option", "expected"), REPEATED)
def test_cancelling_again_changes_nothing(
    mockserver: Sandbox, choice: str, option: str, expected: tuple[int, str] | None, draft: bool
) -> None:
    mockserver.choose({choice: option})
    if draft:
        campaign_id = create(mockserver)
        cancel(mockserver, campaign_id)
    else:
        campaign_id = _end(mockserver, "canceled")

    _cancel_and_expect(mockserver, campaign_id, expected)


START = "2026-03-01T12:00:30.000000Z"  # half past a minute of the clock, so that the execution's minutes are other ones
LATE = [
    # option, seconds from the start to the cancel, seconds from the start to the last send
    pytest.param("none", 10, 10, marks=pytest.mark.option("late-sends-after-cancel", "none")),
    pytest.param("none", 9.999999, 9, marks=pytest.mark.option("late-sends-after-cancel", "none")),
    pytest.param("five-seconds", 10, 15, marks=pytest.mark.option("late-sends-after-cancel", "five-seconds")),
    pytest.param("five-seconds", 9.999999, 14, marks=pytest.mark.option("late-sends-after-cancel", "five-seconds")),
    pytest.param("current-minute", 10, 59, marks=pytest.mark.option("late-sends-after-cancel", "current-minute")),
    pytest.param("current-minute", 0, 59, marks=pytest.mark.option("late-sends-after-cancel", "current-minute")),
    pytest.param(
        "current-minute", 59.999999, 59, marks=pytest.mark.option("late-sends-after-cancel", "current-minute")
    ),
    pytest.param("current-minute", 60, 119, marks=pytest.mark.option("late-sends-after-cancel", "current-minute")),
]


@pytest.mark.clause("cancel.queued", "cancel.processing")
@pytest.mark.mockserver(now=START)
@pytest.mark.parametrize(("option", "canceled_after", "last"), LATE)
def test_after_a_cancel_the_chosen_number_of_queued_messages_is_still_sent(
    mockserver: Sandbox, option: str, canceled_after: float, last: int
) -> None:
    mockserver.choose({"late-sends-after-cancel": option})
    ids = run(mockserver, cadence=60)
    mockserver.advance(seconds=canceled_after)
    at_once = int(canceled_after) + 1

    assert 204 == cancel(mockserver, ids[0]).status
    assert ("canceled", "canceled") == statuses(mockserver, ids)
    assert (200, at_once, 0) == counts(mockserver, ids)
    if last >= at_once:
        mockserver.advance(seconds=last - canceled_after - 0.000001)
        assert (200, last, 0) == counts(mockserver, ids)
        mockserver.advance(0.000001)
    assert (200, last + 1, 0) == counts(mockserver, ids)
    mockserver.advance("1h")
    assert (200, last + 1, 0) == counts(mockserver, ids)
    assert ("canceled", "canceled") == statuses(mockserver, ids)


@pytest.mark.clause("cancel.queued", "send.counts")
@pytest.mark.parametrize("lag", ["none", "campaign-first"])
def test_an_advance_until_idle_reaches_the_last_queued_message(mockserver: Sandbox, lag: str) -> None:
    mockserver.choose({"late-sends-after-cancel": "current-minute", "execution-status-lag": lag})
    ids = run(mockserver, cadence=60)
    mockserver.advance(seconds=10)
    cancel(mockserver, ids[0])

    mockserver.advance(until="idle")

    assert (200, 60, 0) == counts(mockserver, ids)


@pytest.mark.clause("cancel.queued", "send.counts")
@pytest.mark.mockserver(given={"templates": [{"id": "template_plain"}], "chats": [{"id": "chat_a"}, {"id": "chat_b"}]})
@pytest.mark.parametrize("option", ["five-seconds", "current-minute"])
def test_late_sends_may_include_all_remaining_messages_and_the_campaign_remains_canceled(
    mockserver: Sandbox, option: str
) -> None:
    mockserver.choose({"late-sends-after-cancel": option})
    ids = run(mockserver, cadence=60)
    cancel(mockserver, ids[0])
    mockserver.advance("1h")

    assert (2, 2, 0) == counts(mockserver, ids)
    assert 100 == progress(mockserver, ids)["progress"]
    assert ("canceled", "canceled") == statuses(mockserver, ids)
    assert ["2026-03-01T12:00:01.000Z"] == [each["createdAt"] for each in messages(mockserver, "chat_b")]
