"""Scenarios about unusual events, each played by a careful receiver that handles them and a naive one that does damage."""

from __future__ import annotations

from threading import Event

import pytest

from mockserver import MockServer
from mockserver.server.webhooks.local_receivers import ReceivedWebhook
from tests.clients.receiving import WebhookRequest
from tests.clients.trusting import ForgettingReceiver, KnowingReceiver, NaiveReceiver, NarrowReceiver, SlowReceiver
from tests.scenario.receivers import attempts, begin, careful_app, connect, served
from tests.scenario.scenario_runs import played

NOON = "2026-03-01T12:00:00Z"


@pytest.mark.parametrize("on_socket", [False, True])
def test_an_event_before_the_answer_waits_until_its_session_is_known(
    mockserver_server: MockServer, on_socket: bool
) -> None:
    with played(mockserver_server, "connect-complete-before-202", now=NOON, on_socket=on_socket) as run:
        app, receiver = careful_app(run)
        statuses: list[int | str] = []

        def keep(session_id: str) -> None:
            statuses.extend(status for ((_, _, status),) in attempts(receiver))
            app.work()  # as it does all the time, also before the answer is there
            app.keep(session_id)

        run.careful().connect(keep, lambda url: None)

        assert [204] == statuses  # the event was there first
        assert ("+551155500203", 1) == (app.number, len(app.welcomed))


def test_an_event_before_the_answer_breaks_who_wants_the_session_known(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "connect-complete-before-202", now=NOON) as run:
        app = KnowingReceiver()
        receiver = run.sandbox.receive_webhooks(app)
        begin(run, 1, app)
        assert [[("12:00:00", None, 500)]] == attempts(receiver)

        run.sandbox.advance("1m")
        assert [[("12:00:00", None, 500), ("12:00:05", None, 200)]] == attempts(receiver)


def test_an_event_before_the_answer_is_lost_on_who_forgets_strangers(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "connect-complete-before-202", now=NOON) as run:
        app = ForgettingReceiver()
        receiver = run.sandbox.receive_webhooks(app)
        (session_id,) = begin(run, 1, app)
        run.sandbox.advance("1d")

        assert [[("12:00:00", None, 200)]] == attempts(receiver)
        assert {session_id: None} == app.known
        assert "completed" == run.tenant["sessions"][0]["status"]


@pytest.mark.parametrize(
    ("name", "phone"),
    [
        ("connect-second-session-then-late-failure", "+551155500213"),
        ("hook-out-of-order", "+551155500302"),
    ],
)
def test_a_late_failure_takes_no_newer_connection_back(mockserver_server: MockServer, name: str, phone: str) -> None:
    with played(mockserver_server, name) as run:
        arrived: list[str] = []
        app, receiver = careful_app(run, arrived)

        connect(run, app, attempts=2)
        run.sandbox.advance("15m")
        app.work()

        first, second = (each["id"] for each in run.tenant["sessions"])
        assert [second, first] == arrived
        assert ["delivered", "delivered"] == [each["status"] for each in receiver.deliveries]
        assert (phone, [second]) == (app.number, app.welcomed)
        (third,) = begin(run, 1, app)
        run.sandbox.fail_session(third)
        run.sandbox.advance("15m")
        app.work()
        assert (phone, [second]) == (app.number, app.welcomed)  # and no newer failure either


@pytest.mark.parametrize("name", ["connect-second-session-then-late-failure", "hook-out-of-order"])
def test_a_late_failure_overwrites_where_the_last_event_wins(mockserver_server: MockServer, name: str) -> None:
    with played(mockserver_server, name) as run:
        app = NaiveReceiver()
        run.sandbox.receive_webhooks(app)
        run.careful().connect(lambda made: None, lambda url: None, attempts=2)
        run.sandbox.advance("15m")

        assert ("failed", None) == (app.status, app.number)  # while its number is connected
        assert ["failed", "completed"] == [each["status"] for each in run.tenant["sessions"]]


def test_an_event_received_twice_is_recorded_once(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "hook-duplicate", now=NOON) as run:
        app, receiver = careful_app(run)
        made = begin(run, 1, app)
        run.sandbox.advance("1m")
        app.work()

        assert [[("12:01:00", None, 204), ("12:01:00", "duplicate", 204)]] == attempts(receiver)
        assert ("+551155500301", made) == (app.number, app.welcomed)
    with played(mockserver_server, "hook-duplicate", now=NOON) as run:
        naive = NaiveReceiver()
        run.sandbox.receive_webhooks(naive)
        made = begin(run)
        run.sandbox.advance("1m")

        assert made * 2 == naive.welcomed


def test_a_late_event_confirms_the_state_that_a_read_returned(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "hook-late", now=NOON) as run:
        app, receiver = careful_app(run)
        naive = NaiveReceiver()

        connect(run, app)
        early = (app.number, list(app.welcomed))
        assert [[]] == attempts(receiver)
        run.sandbox.advance("40m")
        app.work()

        assert [[("12:31:00", None, 204)]] == attempts(receiver)
        assert ("+551155500305", 1) == (early[0], len(early[1]))
        assert early == (app.number, app.welcomed)
    with played(mockserver_server, "hook-late", now=NOON) as run:
        run.sandbox.receive_webhooks(naive)
        begin(run)
        run.sandbox.advance("20m")  # when the end user sees that the link has expired

        assert ("completed", None) == (run.tenant["sessions"][0]["status"], naive.status)
        run.sandbox.advance("20m")
        assert "connected" == naive.status


def test_a_lost_event_is_noticed_only_by_a_client_that_reads(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "hook-lost") as run:
        app, receiver = careful_app(run)
        naive = NaiveReceiver()
        run.sandbox.receive_webhooks(naive)

        connect(run, app)
        run.sandbox.advance("2d")

        assert ["delivered", "lost by a script"] == [
            receiver.deliveries[0]["status"],
            receiver.deliveries[0]["attempts"][0]["error"],
        ]
        assert ("+551155500304", 1) == (app.number, len(app.welcomed))
        assert (None, []) == (naive.status, naive.welcomed)


def test_a_receiver_that_answers_immediately_gets_an_event_once(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "hook-slow-receiver", now=NOON) as run:
        app, receiver = careful_app(run)
        made = begin(run, 1, app)
        run.sandbox.advance("1h")

        assert [[("12:01:00", None, 204)]] == attempts(receiver)
        assert [] == app.welcomed  # the work is done when there is time for it
        app.work()
        assert ("+551155500307", made) == (app.number, app.welcomed)


def test_what_answers_too_late_gets_an_event_again_and_books_it_again(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "hook-slow-receiver", now=NOON) as run:
        app = SlowReceiver()
        receiver = run.sandbox.receive_webhooks(app)
        made = begin(run)
        run.sandbox.advance("1h")

        assert [[("12:01:00", None, "timeout"), ("12:02:00", None, 200)]] == attempts(receiver)
        assert made * 2 == app.welcomed


def test_a_receiver_on_a_socket_that_answers_too_late_is_not_waited_for() -> None:
    """The limit is made short here, since on a socket it is waited for in earnest."""
    hung_up = Event()

    def slow(webhook: WebhookRequest) -> int:
        status = naive(webhook)
        if len(naive.welcomed) == 1:
            hung_up.wait(20)
        return status

    naive = NaiveReceiver()
    with MockServer() as server:
        server._host.webhook_timeout_seconds = 0.2
        with played(server, "hook-slow-receiver", now=NOON) as run, served(slow, lambda: False) as url:
            receiver = run.sandbox.receive_webhooks(url)
            made = begin(run)
            run.sandbox.advance("1m")
            hung_up.set()
            run.sandbox.advance("1h")

            assert [[("12:01:00", None, "timeout"), ("12:02:00", None, 200)]] == attempts(receiver)
            assert made * 2 == naive.welcomed


def test_a_careful_app_whose_answer_was_late_books_an_event_once(mockserver_server: MockServer) -> None:
    """If the answer is late, the second webhook request has the same id."""
    with played(mockserver_server, "hook-slow-receiver", now=NOON) as run:
        app, _ = careful_app(run)
        statuses: list[int | str] = []

        def behind_a_slow_proxy(webhook: ReceivedWebhook) -> None:
            statuses.append(app(webhook))
            if len(statuses) == 1:
                raise TimeoutError

        app.secrets.append(run.sandbox.receive_webhooks(behind_a_slow_proxy).secret)
        made = begin(run, 1, app)
        run.sandbox.advance("1h")
        app.work()

        assert ([204, 204], made) == (statuses, app.welcomed)


def test_an_unknown_kind_is_accepted_and_ignored(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "hook-unknown-kind", now=NOON) as run:
        app, receiver = careful_app(run)
        made = begin(run, 1, app)
        run.sandbox.advance("1m")
        app.work()

        assert [[("12:01:00", "unknown-kind", 204), ("12:01:00", None, 204)]] == attempts(receiver)
        assert ("+551155500306", made, 0) == (app.number, app.welcomed, app.refused)


def test_a_receiver_of_two_kinds_refuses_an_unknown_kind_or_records_a_failure(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "hook-unknown-kind", now=NOON) as run:
        receiver = run.sandbox.receive_webhooks(NarrowReceiver())
        shown: list[str | None] = []
        naive = NaiveReceiver()
        run.sandbox.receive_webhooks(lambda webhook: naive(webhook) and shown.append(naive.status))
        begin(run)
        run.sandbox.advance("1m")

        assert [[("12:01:00", "unknown-kind", 400), ("12:01:00", None, 200)]] == attempts(receiver)
        assert ["failed", "connected"] == shown  # an alarm, and then none


# The scenario, and what each of several endpoints receives: times of day and the fault of each webhook request.
AT_SEVERAL = [
    ("hook-duplicate", [("12:01:00", None), ("12:01:00", "duplicate")]),
    ("hook-late", [("12:31:00", None)]),
    ("hook-unknown-kind", [("12:01:00", "unknown-kind"), ("12:01:00", None)]),
]


@pytest.mark.parametrize(("name", "seen"), AT_SEVERAL)
def test_a_scenario_is_the_same_to_each_of_several_endpoints(
    mockserver_server: MockServer, name: str, seen: list[tuple[str, str | None]]
) -> None:
    with played(mockserver_server, name, now=NOON) as run:
        _, one = careful_app(run)
        _, other = careful_app(run)
        begin(run)
        run.sandbox.advance("1h")

        assert [seen] == [[attempt[:2] for attempt in delivery] for delivery in attempts(one)]
        assert attempts(one) == attempts(other)
