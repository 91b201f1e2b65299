"""Scenarios about events that come oddly, each played by a careful receiver that comes through and a naive one that does damage."""

from __future__ import annotations

from threading import Event

import pytest

from mockserver import MockServer
from tests.clients.receiving import WebhookRequest
from tests.clients.trusting import ForgettingReceiver, KnowingReceiver, NaiveReceiver, NarrowReceiver, SlowReceiver
from tests.scenario.hearing import begin, careful_app, connect, said, served
from tests.scenario.staging import staged

NOON = "2026-03-01T12:00:00Z"


@pytest.mark.parametrize("on_socket", [False, True])
def test_an_event_before_the_answer_waits_until_its_session_is_known(mockserver_server: MockServer, on_socket: bool):
    with staged(mockserver_server, "connect-complete-before-202", now=NOON, on_socket=on_socket) as stage:
        app, receiver = careful_app(stage)
        heard: list[int] = []

        def keep(session_id: str) -> None:
            heard.extend(status for ((_, _, status),) in said(receiver))
            app.work()  # as it does all the time, also before the answer is there
            app.keep(session_id)

        stage.careful().connect(keep, lambda url: None)

        assert [204] == heard  # the event was there first
        assert ("+551155500203", 1) == (app.number, len(app.welcomed))


def test_an_event_before_the_answer_breaks_who_wants_the_session_known(mockserver_server: MockServer):
    with staged(mockserver_server, "connect-complete-before-202", now=NOON) as stage:
        app = KnowingReceiver()
        receiver = stage.sandbox.receive_webhooks(app)
        begin(stage, 1, app)
        assert [[("12:00:00", None, 500)]] == said(receiver)

        stage.sandbox.advance("1m")
        assert [[("12:00:00", None, 500), ("12:00:05", None, 200)]] == said(receiver)


def test_an_event_before_the_answer_is_lost_on_who_forgets_strangers(mockserver_server: MockServer):
    with staged(mockserver_server, "connect-complete-before-202", now=NOON) as stage:
        app = ForgettingReceiver()
        receiver = stage.sandbox.receive_webhooks(app)
        (session_id,) = begin(stage, 1, app)
        stage.sandbox.advance("1d")

        assert [[("12:00:00", None, 200)]] == said(receiver)
        assert {session_id: None} == app.known
        assert "completed" == stage.tenant["sessions"][0]["status"]


@pytest.mark.parametrize(
    ("name", "phone"),
    [
        ("connect-second-session-then-late-failure", "+551155500213"),
        ("hook-out-of-order", "+551155500302"),
    ],
)
def test_a_late_failure_takes_no_newer_connection_back(mockserver_server: MockServer, name: str, phone: str):
    with staged(mockserver_server, name) as stage:
        arrived: list[str] = []
        app, receiver = careful_app(stage, arrived)

        connect(stage, app, attempts=2)
        stage.sandbox.advance("15m")
        app.work()

        first, second = (each["id"] for each in stage.tenant["sessions"])
        assert [second, first] == arrived
        assert ["delivered", "delivered"] == [each["status"] for each in receiver.deliveries]
        assert (phone, [second]) == (app.number, app.welcomed)
        (third,) = begin(stage, 1, app)
        stage.sandbox.fail_session(third)
        stage.sandbox.advance("15m")
        app.work()
        assert (phone, [second]) == (app.number, app.welcomed)  # and no newer failure either


@pytest.mark.parametrize("name", ["connect-second-session-then-late-failure", "hook-out-of-order"])
def test_a_late_failure_overwrites_where_the_last_event_wins(mockserver_server: MockServer, name: str):
    with staged(mockserver_server, name) as stage:
        app = NaiveReceiver()
        stage.sandbox.receive_webhooks(app)
        stage.careful().connect(lambda made: None, lambda url: None, attempts=2)
        stage.sandbox.advance("15m")

        assert ("failed", None) == (app.status, app.number)  # while its number is connected
        assert ["failed", "completed"] == [each["status"] for each in stage.tenant["sessions"]]


def test_an_event_received_twice_is_recorded_once(mockserver_server: MockServer):
    with staged(mockserver_server, "hook-duplicate", now=NOON) as stage:
        app, receiver = careful_app(stage)
        made = begin(stage, 1, app)
        stage.sandbox.advance("1m")
        app.work()

        assert [[("12:01:00", None, 204), ("12:01:00", "duplicate", 204)]] == said(receiver)
        assert ("+551155500301", made) == (app.number, app.welcomed)
    with staged(mockserver_server, "hook-duplicate", now=NOON) as stage:
        naive = NaiveReceiver()
        stage.sandbox.receive_webhooks(naive)
        made = begin(stage)
        stage.sandbox.advance("1m")

        assert made * 2 == naive.welcomed


def test_a_late_event_confirms_the_state_that_a_read_returned(mockserver_server: MockServer):
    with staged(mockserver_server, "hook-late", now=NOON) as stage:
        app, receiver = careful_app(stage)
        naive = NaiveReceiver()

        connect(stage, app)
        told = (app.number, list(app.welcomed))
        assert [[]] == said(receiver)
        stage.sandbox.advance("40m")
        app.work()

        assert [[("12:31:00", None, 204)]] == said(receiver)
        assert ("+551155500305", 1) == (told[0], len(told[1]))
        assert told == (app.number, app.welcomed)
    with staged(mockserver_server, "hook-late", now=NOON) as stage:
        stage.sandbox.receive_webhooks(naive)
        begin(stage)
        stage.sandbox.advance("20m")  # when the end user is told that the link is over

        assert ("completed", None) == (stage.tenant["sessions"][0]["status"], naive.status)
        stage.sandbox.advance("20m")
        assert "connected" == naive.status


def test_a_lost_event_is_noticed_only_by_a_client_that_reads(mockserver_server: MockServer):
    with staged(mockserver_server, "hook-lost") as stage:
        app, receiver = careful_app(stage)
        naive = NaiveReceiver()
        stage.sandbox.receive_webhooks(naive)

        connect(stage, app)
        stage.sandbox.advance("2d")

        assert ["delivered", "lost by a script"] == [
            receiver.deliveries[0]["status"],
            receiver.deliveries[0]["attempts"][0]["error"],
        ]
        assert ("+551155500304", 1) == (app.number, len(app.welcomed))
        assert (None, []) == (naive.status, naive.welcomed)


def test_a_receiver_that_answers_immediately_gets_an_event_once(mockserver_server: MockServer):
    with staged(mockserver_server, "hook-slow-receiver", now=NOON) as stage:
        app, receiver = careful_app(stage)
        made = begin(stage, 1, app)
        stage.sandbox.advance("1h")

        assert [[("12:01:00", None, 204)]] == said(receiver)
        assert [] == app.welcomed  # the work is done when there is time for it
        app.work()
        assert ("+551155500307", made) == (app.number, app.welcomed)


def test_what_answers_too_late_gets_an_event_again_and_books_it_again(mockserver_server: MockServer):
    with staged(mockserver_server, "hook-slow-receiver", now=NOON) as stage:
        app = SlowReceiver()
        receiver = stage.sandbox.receive_webhooks(app)
        made = begin(stage)
        stage.sandbox.advance("1h")

        assert [[("12:01:00", None, "timeout"), ("12:02:00", None, 200)]] == said(receiver)
        assert made * 2 == app.welcomed


def test_a_receiver_on_a_socket_that_answers_too_late_is_not_waited_for():
    """The limit is made short here, since on a socket it is waited for in earnest."""
    hung_up = Event()

    def slow(letter: WebhookRequest) -> int:
        status = naive(letter)
        if len(naive.welcomed) == 1:
            hung_up.wait(20)
        return status

    naive = NaiveReceiver()
    with MockServer() as server:
        server._host.webhook_timeout_seconds = 0.2
        with staged(server, "hook-slow-receiver", now=NOON) as stage, served(slow, lambda: False) as url:
            receiver = stage.sandbox.receive_webhooks(url)
            made = begin(stage)
            stage.sandbox.advance("1m")
            hung_up.set()
            stage.sandbox.advance("1h")

            assert [[("12:01:00", None, "timeout"), ("12:02:00", None, 200)]] == said(receiver)
            assert made * 2 == naive.welcomed


def test_a_careful_app_whose_answer_was_late_books_an_event_once(mockserver_server: MockServer):
    """Were the answer late all the same, the second letter has the same id."""
    with staged(mockserver_server, "hook-slow-receiver", now=NOON) as stage:
        app, _ = careful_app(stage)
        letters: list[int] = []

        def behind_a_slow_proxy(letter):
            letters.append(app(letter))
            if len(letters) == 1:
                raise TimeoutError

        app.secrets.append(stage.sandbox.receive_webhooks(behind_a_slow_proxy).secret)
        made = begin(stage, 1, app)
        stage.sandbox.advance("1h")
        app.work()

        assert ([204, 204], made) == (letters, app.welcomed)


def test_an_unknown_kind_is_accepted_and_ignored(mockserver_server: MockServer):
    with staged(mockserver_server, "hook-unknown-kind", now=NOON) as stage:
        app, receiver = careful_app(stage)
        made = begin(stage, 1, app)
        stage.sandbox.advance("1m")
        app.work()

        assert [[("12:01:00", "unknown-kind", 204), ("12:01:00", None, 204)]] == said(receiver)
        assert ("+551155500306", made, 0) == (app.number, app.welcomed, app.refused)


def test_a_receiver_of_two_kinds_refuses_an_unknown_kind_or_records_a_failure(mockserver_server: MockServer):
    with staged(mockserver_server, "hook-unknown-kind", now=NOON) as stage:
        receiver = stage.sandbox.receive_webhooks(NarrowReceiver())
        shown: list[str | None] = []
        naive = NaiveReceiver()
        stage.sandbox.receive_webhooks(lambda letter: naive(letter) and shown.append(naive.status))
        begin(stage)
        stage.sandbox.advance("1m")

        assert [[("12:01:00", "unknown-kind", 400), ("12:01:00", None, 200)]] == said(receiver)
        assert ["failed", "connected"] == shown  # an alarm, and then none


# The scenario, and what each of several endpoints sees of it: times of day and what a script made of each letter.
AT_SEVERAL = [
    ("hook-duplicate", [("12:01:00", None), ("12:01:00", "duplicate")]),
    ("hook-late", [("12:31:00", None)]),
    ("hook-unknown-kind", [("12:01:00", "unknown-kind"), ("12:01:00", None)]),
]


@pytest.mark.parametrize(("name", "seen"), AT_SEVERAL)
def test_a_scenario_is_the_same_to_each_of_several_endpoints(
    mockserver_server: MockServer, name: str, seen: list[tuple[str, str | None]]
):
    with staged(mockserver_server, name, now=NOON) as stage:
        _, one = careful_app(stage)
        _, other = careful_app(stage)
        begin(stage)
        stage.sandbox.advance("1h")

        assert [seen] == [[letter[:2] for letter in letters] for letters in said(one)]
        assert said(one) == said(other)
