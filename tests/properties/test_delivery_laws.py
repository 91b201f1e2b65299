"""Laws of deliveries: nothing within the schedule is lost, nothing is sent twice, and the order is that of the events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from mockserver.server.webhooks.local_receivers import ReceivedWebhook
from tests.operations.inbox import Inbox
from tests.operations.session_calls import NOON, begin

pytestmark = pytest.mark.clause("events.nothing-lost", "events.once")

# At most seven failures in a row to one event are within the default schedule of eight attempts.
FAILURES = st.sampled_from(
    [400, 404, 429, 500, 503, 302, TimeoutError(), RuntimeError(), (503, {"Retry-After": "9"}, b"")]
)
ENDS = st.lists(st.sampled_from(["complete", "fail", "expire", "wait", "pass"]), min_size=1, max_size=8)


def play(sandbox: Sandbox, ends: list[str]) -> list[str]:
    """Begin a session for each end and bring it about; `pass` lets three minutes pass before the next."""
    begun = []
    moves: dict[str, Callable[[str], object]] = {
        "complete": sandbox.complete_session,
        "fail": sandbox.fail_session,
        "expire": sandbox.expire_session,
    }
    for end in ends:
        if end == "pass":
            sandbox.advance("3m")
            continue
        begun.append(begin(sandbox))
        if end in moves:
            moves[end](begun[-1])
    return begun


@given(ends=ENDS, failures=st.lists(FAILURES, max_size=7))
def test_refusals_within_the_schedule_leave_each_final_session_delivered_once_and_in_order(
    mockserver_server: MockServer,
    ends: list[str],
    failures: list[int | tuple[int, JSON, bytes] | RuntimeError | TimeoutError],
) -> None:
    accepted: list[str] = []
    inbox = Inbox(*failures)

    def receive(webhook: ReceivedWebhook) -> Any:
        answered = inbox(webhook)
        if answered is None:
            accepted.append(webhook.json()["data"]["sessionId"])
        return answered

    with mockserver_server.sandbox(now=NOON) as sandbox:
        receiver = sandbox.receive_webhooks(receive)
        begun = play(sandbox, ends)
        sandbox.advance(until="idle")

        assert [each["data"]["sessionId"] for each in sandbox.events] == accepted
        assert sorted(begun) == sorted(accepted)
        assert {"delivered"} >= {each["status"] for each in receiver.deliveries}


@given(ends=ENDS, failures=st.lists(FAILURES, max_size=20), cuts=st.lists(st.integers(1, 40), max_size=6))
def test_many_small_waits_deliver_what_one_long_one_does(
    mockserver_server: MockServer,
    ends: list[str],
    failures: list[int | tuple[int, JSON, bytes] | RuntimeError | TimeoutError],
    cuts: list[int],
) -> None:
    def observed(waits: list[int]) -> tuple[Any, ...]:
        with mockserver_server.sandbox(now=NOON) as sandbox:
            inbox = Inbox(*failures)
            sandbox.receive_webhooks(inbox)
            play(sandbox, ends)
            for minutes in waits:
                sandbox.advance(minutes=minutes)
            return sandbox.state(), sandbox.log.journal["transitions"], [webhook.body for webhook in inbox.webhooks]

    assert observed([sum(cuts)]) == observed(cuts)


@given(ends=ENDS, failures=st.lists(FAILURES, max_size=10))
def test_a_restored_checkpoint_delivers_again_what_it_had_pending(
    mockserver_server: MockServer,
    ends: list[str],
    failures: list[int | tuple[int, JSON, bytes] | RuntimeError | TimeoutError],
) -> None:
    with mockserver_server.sandbox(now=NOON) as sandbox:
        inbox = Inbox(*failures)
        sandbox.receive_webhooks(inbox)
        play(sandbox, ends)
        inbox.answers.clear()
        inbox.webhooks.clear()
        before = sandbox.state()

        with sandbox.checkpoint():
            sandbox.advance("2d")
            first = [webhook.body for webhook in inbox.webhooks]
        assert before == sandbox.state()
        inbox.webhooks.clear()
        sandbox.advance("2d")

        assert first == [webhook.body for webhook in inbox.webhooks]
