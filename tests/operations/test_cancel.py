"""Cancelling a campaign: what is interrupted, what may still be sent, and what has ended already."""

import json
from collections.abc import Callable

import pytest

from mockserver import Sandbox
from tests.harness.options import each_option, option_case
from tests.operations.campaigning import (
    NOON,
    cancel,
    counts,
    create,
    end,
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


@pytest.mark.clause("cancel.draft", "campaigns.status-values")
@each_option(("reply", "after"), "cancel-draft", {"canceled": (204, "canceled"), "unprocessable": (422, "draft")})
def test_a_draft_is_canceled_without_an_execution_or_remains_one(mockserver: Sandbox, reply: int, after: str) -> None:
    campaign_id = create(mockserver)

    assert reply == cancel(mockserver, campaign_id).status
    assert (after, []) == (read(mockserver, campaign_id)["status"], read(mockserver, campaign_id)["executions"])
    assert 204 == cancel(mockserver, run(mockserver, name="Running")[0]).status


REFUSED = (422, "UNPROCESSABLE_REQUEST")


def _cancel_and_expect(mockserver: Sandbox, campaign_id: str, expected: tuple[int, str] | None) -> None:
    """The cancel is refused like this, or answers 204; either way nothing changes."""
    before = json.dumps(mockserver.state())
    reply = cancel(mockserver, campaign_id)

    assert expected == (refused(reply) if reply.status != 204 else None)
    assert before == json.dumps(mockserver.state())


@pytest.mark.clause("cancel.final")
@each_option(
    "expected", "cancel-final", {"unprocessable": REFUSED, "no-op": None, "not-draft": (422, "CAMPAIGN_NOT_DRAFT")}
)
@pytest.mark.parametrize("how", ["completed", "failed"])
def test_cancelling_what_completed_or_failed_changes_nothing(
    mockserver: Sandbox, expected: tuple[int, str] | None, how: str
) -> None:
    campaign_id, _ = run(mockserver, cadence=4800)
    end(mockserver, campaign_id, how)

    _cancel_and_expect(mockserver, campaign_id, expected)


@pytest.mark.clause("cancel.final")
@each_option("expected", "repeat-cancel", {"unprocessable": REFUSED, "no-op": None})
@pytest.mark.parametrize("make", [create, lambda sandbox: run(sandbox)[0]], ids=["draft", "running"])
def test_cancelling_again_changes_nothing(
    mockserver: Sandbox, expected: tuple[int, str] | None, make: Callable[[Sandbox], str]
) -> None:
    campaign_id = make(mockserver)
    cancel(mockserver, campaign_id)

    _cancel_and_expect(mockserver, campaign_id, expected)


START = "2026-03-01T12:00:30.000000Z"  # half past a minute of the clock, so that the execution's minutes are other ones
LATE = [
    # option, seconds from the start to the cancel, seconds from the start to the last send
    option_case("late-sends-after-cancel", "none", 10, 10),
    option_case("late-sends-after-cancel", "none", 9.999999, 9),
    option_case("late-sends-after-cancel", "five-seconds", 10, 15),
    option_case("late-sends-after-cancel", "five-seconds", 9.999999, 14),
    option_case("late-sends-after-cancel", "current-minute", 10, 59),
    option_case("late-sends-after-cancel", "current-minute", 0, 59),
    option_case("late-sends-after-cancel", "current-minute", 59.999999, 59),
    option_case("late-sends-after-cancel", "current-minute", 60, 119),
]


@pytest.mark.clause("cancel.queued", "cancel.processing")
@pytest.mark.mockserver(now=START)
@pytest.mark.parametrize(("canceled_after", "last"), LATE)
def test_after_a_cancel_the_chosen_number_of_queued_messages_is_still_sent(
    mockserver: Sandbox, canceled_after: float, last: int
) -> None:
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
