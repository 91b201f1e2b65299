"""Scenarios about unusual events, each played by a careful receiver that handles them."""

from __future__ import annotations

import pytest

from mockserver import MockServer
from tests.scenario.receivers import attempts, begin, careful_app, connect
from tests.scenario.scenario_runs import played

NOON = "2026-03-01T12:00:00Z"


@pytest.mark.parametrize("on_socket", [False, True])
@pytest.mark.option("event-before-202-read", "effect")
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


@pytest.mark.option("wh-latency", "effect")
def test_a_late_event_confirms_the_state_that_a_read_returned(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "hook-late", now=NOON) as run:
        app, receiver = careful_app(run)

        connect(run, app)
        early = (app.number, list(app.welcomed))
        assert [[]] == attempts(receiver)
        run.sandbox.advance("40m")
        app.work()

        assert [[("12:31:00", None, 204)]] == attempts(receiver)
        assert ("+551155500305", 1) == (early[0], len(early[1]))
        assert early == (app.number, app.welcomed)


def test_a_lost_event_is_noticed_only_by_a_client_that_reads(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "hook-lost") as run:
        app, receiver = careful_app(run)

        connect(run, app)
        run.sandbox.advance("2d")

        assert ["delivered", "lost by a script"] == [
            receiver.deliveries[0]["status"],
            receiver.deliveries[0]["attempts"][0]["error"],
        ]
        assert ("+551155500304", 1) == (app.number, len(app.welcomed))
