"""Events on their way to endpoints: who gets them, when they are tried again, in which order, and with which id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from standardwebhooks import Webhook

from mockserver import Sandbox
from mockserver.server.webhooks.local_receivers import ReceivedWebhook
from tests.harness.options import each_option
from tests.operations.inbox import Inbox, attempts
from tests.operations.session_calls import FUNNELS, NOON, begin, read

CONNECTED = "entrypoints.chatapp.connected"
FAILED = "entrypoints.chatapp.connection_failed"

pytestmark = pytest.mark.mockserver(now=NOON)


@pytest.mark.mockserver(given=FUNNELS)
@pytest.mark.clause("events.subscribed")
def test_only_the_endpoints_that_are_registered_for_an_event_get_it(mockserver: Sandbox) -> None:
    everything, group, connected, failed, other = (Inbox() for _ in range(5))
    mockserver.receive_webhooks(everything)
    mockserver.receive_webhooks(group, ["entrypoints"])
    mockserver.receive_webhooks(connected, [CONNECTED])
    mockserver.receive_webhooks(failed, [FAILED])
    mockserver.receive_webhooks(other, tenant_id="tenant_other")

    session_id, theirs = begin(mockserver), begin(mockserver, key="sk_other")
    for each in (session_id, theirs):
        mockserver.complete_session(each)

    receivers = (everything, group, connected, failed, other)
    assert [[session_id]] * 3 + [[], [theirs]] == [inbox.sessions for inbox in receivers]
    assert ["tenant_default", "tenant_other"] == [each["data"]["tenantId"] for each in mockserver.events]


@each_option(
    ("at", "end"),
    "wh-retry",
    {
        "svix": (
            ["12:00:00", "12:00:05", "12:05:05", "12:35:05", "14:35:05", "19:35:05", "05:35:05", "15:35:05"],
            "2026-03-02T15:35:05",
        ),
        "two-short": (["12:00:00", "12:00:05", "12:00:35"], "2026-03-01T12:00:35"),
        "none": (["12:00:00"], "2026-03-01T12:00:00"),
        "three-days": (
            ["12:00:00", "12:01:00", "12:11:00", "13:11:00", "16:11:00", "22:11:00", *["10:11:00"] * 3],
            "2026-03-04T10:11:00",
        ),
    },
)
@pytest.mark.clause("events.nothing-lost")
def test_a_refused_delivery_is_retried_after_growing_waits_and_then_abandoned(
    mockserver: Sandbox, at: list[str], end: str
) -> None:
    receiver = mockserver.receive_webhooks(lambda _: 503)
    mockserver.complete_session(begin(mockserver))

    mockserver.advance(until="idle")

    assert [[(each, 503) for each in at]] == attempts(receiver)
    assert "abandoned" == receiver.deliveries[0]["status"]
    assert end == f"{mockserver.now:%Y-%m-%dT%H:%M:%S}"


@pytest.mark.parametrize(
    ("answer", "second"),
    [
        pytest.param((429, {}, b""), "12:01:00", id="too many: a minute at least"),
        pytest.param((503, {"Retry-After": "7"}, b""), "12:00:07", id="as asked"),
        pytest.param((503, {"Retry-After": "3600"}, b""), "12:00:10", id="twice the wait at most"),
        pytest.param((503, {"Retry-After": "1"}, b""), "12:00:05", id="never sooner"),
        pytest.param((503, {"Retry-After": "soon"}, b""), "12:00:05", id="unreadable"),
        pytest.param((429, {"Retry-After": "100"}, b""), "12:01:40", id="both"),
        pytest.param(TimeoutError(), "12:01:00", id="time limit: a minute at least"),
        pytest.param((302, {"Location": "http://127.0.0.1/"}, b""), "12:00:05", id="a redirect is a failure"),
        pytest.param(RuntimeError("broken"), "12:00:05", id="a receiver that breaks answers 500"),
    ],
)
@pytest.mark.clause("events.nothing-lost")
def test_the_wait_after_a_failure_is_the_retry_after_of_the_endpoint_within_bounds(
    mockserver: Sandbox, answer: Any, second: str
) -> None:
    receiver = mockserver.receive_webhooks(Inbox(answer))
    mockserver.complete_session(begin(mockserver))

    mockserver.advance("10m")

    first = {TimeoutError: "timeout", RuntimeError: 500}.get(type(answer)) or answer[0]
    assert [[("12:00:00", first), (second, 200)]] == attempts(receiver)


@pytest.mark.clause("events.subscribed")
def test_an_endpoint_that_answered_410_gets_no_delivery_until_it_is_recovered(mockserver: Sandbox) -> None:
    inbox = Inbox(503, 410)
    receiver = mockserver.receive_webhooks(inbox)
    sessions = [begin(mockserver) for _ in range(3)]
    mockserver.complete_session(sessions[0])
    mockserver.complete_session(sessions[1])
    mockserver.advance("1m")
    mockserver.complete_session(sessions[2])
    mockserver.advance("3d")

    assert [[("12:00:00", 503), ("12:00:05", 410)], [], []] == attempts(receiver)
    assert ["abandoned"] * 3 == [each["status"] for each in receiver.deliveries]

    again = mockserver.webhooks.recover(receiver.id)

    assert [each["id"] for each in mockserver.events] == again
    assert sessions == inbox.sessions[2:]


@each_option(
    ("option", "ids"),
    "wh-idempotency",
    {"same-per-event": ("same-per-event", 1), "new-per-try": ("new-per-try", 3), "none": ("none", 0)},
)
@pytest.mark.clause("events.subscribed")
def test_the_attempts_of_an_event_carry_its_id_or_ids_of_their_own_or_none(
    mockserver: Sandbox, option: str, ids: int
) -> None:
    one, two = Inbox(500), Inbox()
    receivers = [mockserver.receive_webhooks(one), mockserver.receive_webhooks(two)]
    mockserver.complete_session(begin(mockserver))
    mockserver.advance("1m")

    received = [(receivers[0], each) for each in one.webhooks] + [(receivers[1], each) for each in two.webhooks]
    sent = {each.headers["webhook-id"] for _, each in received if "webhook-id" in each.headers}
    assert (3, ids) == (len(received), len(sent))
    assert ({mockserver.events[0]["id"]} == sent) == (option == "same-per-event")
    for receiver, each in received if ids else ():
        Webhook(receiver.secret).verify(each.body, dict(each.headers))


@each_option("waits", "wh-no-endpoint", {"dropped": False, "stored": True})
@pytest.mark.clause("events.subscribed")
def test_an_event_without_a_registered_endpoint_is_never_sent_or_waits_for_one(
    mockserver: Sandbox, waits: bool
) -> None:
    failures, inbox, late = Inbox(), Inbox(), Inbox()
    sessions = [begin(mockserver), begin(mockserver)]
    for session_id in sessions:
        mockserver.complete_session(session_id)
    mockserver.receive_webhooks(failures, [FAILED])
    mockserver.receive_webhooks(inbox)
    mockserver.receive_webhooks(late)
    mockserver.advance("3d")

    assert [[], sessions if waits else [], []] == [each.sessions for each in (failures, inbox, late)]
    assert [int(waits)] * 2 == [len(each["deliveries"]) for each in mockserver.events]


@each_option("status", "state-vs-event-order", {"state-first": "completed", "event-first": "pending"})
@pytest.mark.clause("events.connected")
def test_an_event_is_sent_after_or_before_the_end_of_its_session_can_be_read(mockserver: Sandbox, status: str) -> None:
    seen, session_id = [], begin(mockserver)
    mockserver.receive_webhooks(lambda _: seen.append(read(mockserver, session_id)) or 500)

    entrypoint = mockserver.complete_session(session_id)["entrypoint"]

    shown = entrypoint if status == "completed" else None
    assert [{"sessionId": session_id, "status": status, "entrypoint": shown}] == seen
    assert "completed" == read(mockserver, session_id)["status"]


@pytest.mark.clause("events.once")
def test_events_that_a_receiver_causes_are_delivered_after_its_response(mockserver: Sandbox) -> None:
    inbox, second = Inbox(), begin(mockserver)
    depth: list[int] = []

    def receive(received: ReceivedWebhook) -> None:
        depth.append(len(depth))
        if not inbox.webhooks:
            inbox(received)
            mockserver.complete_session(second)
            assert 1 == len(depth)
            return
        inbox(received)

    mockserver.receive_webhooks(receive)
    first = begin(mockserver)
    mockserver.complete_session(first)

    assert [first, second] == inbox.sessions


@pytest.mark.clause("events.subscribed")
def test_an_event_is_sent_again_on_demand_also_to_a_later_endpoint(mockserver: Sandbox) -> None:
    first, later = Inbox(), Inbox()
    mockserver.receive_webhooks(first)
    mockserver.complete_session(begin(mockserver))
    mockserver.receive_webhooks(later)

    answer = mockserver.webhooks.redeliver(mockserver.events[0]["id"])

    body = first.webhooks[0].body
    assert [[body, body], [body]] == [[received.body for received in each.webhooks] for each in (first, later)]
    assert [[200, 200], [200]] == [[each["status"] for each in row["attempts"]] for row in answer["deliveries"]]


def test_a_pending_delivery_is_not_sent_again(mockserver: Sandbox) -> None:
    mockserver.receive_webhooks(lambda _: 500)
    mockserver.complete_session(begin(mockserver))
    before = mockserver.state()

    with pytest.raises(ValueError, match="its deliveries are waiting"):
        mockserver.webhooks.redeliver(mockserver.events[0]["id"])
    with pytest.raises(ValueError, match="event: got 'event_x'; expected event_"):
        mockserver.webhooks.redeliver("event_x")
    with pytest.raises(ValueError, match="webhook: got 'webhook_x'; expected webhook_"):
        mockserver.webhooks.recover("webhook_x")
    assert before == mockserver.state()


@pytest.mark.clause("events.nothing-lost")
def test_abandoned_deliveries_are_recovered_in_the_order_of_their_events(mockserver: Sandbox) -> None:
    inbox = Inbox(*[500] * 3)
    mockserver.choose({"wh-retry": "none"})
    receiver = mockserver.receive_webhooks(inbox)
    sessions = [begin(mockserver) for _ in range(3)]
    for session_id in sessions:
        mockserver.complete_session(session_id)
    kept = begin(mockserver)
    mockserver.complete_session(kept)

    receiver_events = mockserver.webhooks.recover(receiver.id)

    assert [each["id"] for each in mockserver.events[:3]] == receiver_events
    assert [*sessions, kept, *sessions] == inbox.sessions


def test_after_a_jump_of_the_clock_what_was_due_first_is_sent_first(mockserver: Sandbox) -> None:
    order: list[tuple[str, str]] = []

    def receiver(name: str, *answers: int) -> Callable[..., Any]:
        left = [*answers]

        def receive(received: ReceivedWebhook) -> int:
            order.append((name, received.json()["data"]["sessionId"]))
            return left.pop(0) if left else 200

        return receive

    expiring = begin(mockserver)
    mockserver.receive_webhooks(receiver("broken", 500))
    mockserver.receive_webhooks(receiver("sound"))
    mockserver.advance("19m58s")
    failing = begin(mockserver)
    mockserver.fail_session(failing)  # the broken receiver gets it again at 12:20:03
    order.clear()

    mockserver.freeze("2026-03-01T12:30:00Z")  # past 12:20:00, when the other session expired

    assert [("sound", expiring), ("broken", failing), ("broken", expiring)] == order
