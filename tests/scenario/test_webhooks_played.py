"""Scenarios about genuine and forged webhook requests, and about a receiver that is down: formats, rotations, retries."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from mockserver import MockServer
from mockserver.contract.effects import FORGERIES
from tests.clients.receiving import CarefulReceiver
from tests.clients.trusting import (
    NaiveReceiver,
    OneSignatureReceiver,
    ReceiverBehindAPage,
    RespellingReceiver,
    UndatedReceiver,
)
from tests.scenario.receivers import attempts, begin, careful_app, served
from tests.scenario.scenario_runs import played

NOON = "2026-03-01T12:00:00Z"
SECRET = "whsec_Y2hvc2VuLWJ5LXRoZS1yZWNlaXZlcg=="


def test_no_forged_request_is_accepted_and_every_genuine_one_is(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "hook-forged") as run:
        app, receiver = careful_app(run)
        made = begin(run, 7, app)
        run.sandbox.advance("1m")
        app.work()

        answers = [(fault, status) for delivery in attempts(receiver) for _, fault, status in delivery]
        refusals = [(forgery, 403 if forgery == "other-tenant" else 401) for forgery in FORGERIES]
        assert [each for refusal in refusals for each in (refusal, (None, 204))] == answers
        assert (made, 7) == (app.welcomed, app.refused)
        assert run.tenant["entrypoints"][-1]["displayPhone"] == app.number


def test_a_receiver_without_checks_accepts_each_forged_request(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "hook-forged") as run:
        app = NaiveReceiver()
        receiver = run.sandbox.receive_webhooks(app)
        made = begin(run, 7)
        run.sandbox.advance("1m")

        assert [2] * 7 == [len(delivery) for delivery in attempts(receiver)]
        assert 14 == len(app.welcomed)
        assert 1 == len(set(app.welcomed) - set(made))  # a welcome for a session that does not exist


def test_a_receiver_that_ignores_date_and_tenant_accepts_two_forged_requests(mockserver_server: MockServer) -> None:
    """An old webhook request may be a recorded one; one about another tenant has a valid signature."""
    with played(mockserver_server, "hook-forged") as run:
        app = UndatedReceiver(SECRET)
        receiver = run.sandbox.receive_webhooks(app, secret=SECRET)
        made = begin(run, 7)
        run.sandbox.advance("1m")

        accepted = {
            fault for delivery in attempts(receiver) for _, fault, status in delivery if fault and status == 200
        }
        assert {"old-timestamp", "other-tenant"} == accepted
        assert 9 == len(app.welcomed)
        assert set(made) == set(app.welcomed)


def test_a_signature_is_valid_for_the_exact_bytes(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "hook-unicode-body", now=NOON) as run:
        app, receiver = careful_app(run)
        made = begin(run, 3, app)
        run.sandbox.advance("1m")
        app.work()

        assert [[("12:01:00", None, 204)]] * 3 == attempts(receiver)
        assert made == app.welcomed
        assert app.connection is not None and app.connection.entrypoint is not None
        assert "São João ☕/Filial" == app.connection.entrypoint["name"]


def test_who_verifies_what_it_wrote_itself_refuses_true_events(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "hook-unicode-body", now=NOON) as run:
        app = RespellingReceiver(SECRET)
        receiver = run.sandbox.receive_webhooks(app, secret=SECRET)
        begin(run, 3)
        run.sandbox.advance("1h")

        assert [[401, 200]] * 3 == [[status for _, _, status in delivery] for delivery in attempts(receiver)]
        late = [delivery[-1][0] for delivery in attempts(receiver)]
        assert ["12:01:05", "12:01:10", "12:01:15"] == late  # each refusal delays what follows


def test_a_request_with_two_signatures_is_valid_if_one_is(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "hook-secret-rotation", now=NOON) as run:
        app, receiver = careful_app(run)
        made = begin(run, 2, app)
        run.sandbox.advance("1m")
        app.work()

        assert [[("12:01:00", None, 204)]] * 2 == attempts(receiver)
        assert (made, 0) == (app.welcomed, app.refused)


def test_an_application_with_the_former_secret_tolerates_a_rotation(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "hook-secret-rotation", now=NOON) as run:
        app, receiver = careful_app(run)
        made = begin(run, 2, app)
        run.sandbox.webhooks.rotate(receiver.id, "whsec_dGhlLXNlY3JldC1hZnRlci10aGlzLW9uZQ==")
        run.sandbox.advance("1m")
        app.work()

        assert (made, 0) == (app.welcomed, app.refused)


def test_a_receiver_that_checks_one_signature_refuses_a_genuine_event_during_a_rotation(
    mockserver_server: MockServer,
) -> None:
    with played(mockserver_server, "hook-secret-rotation", now=NOON) as run:
        receiver = run.sandbox.receive_webhooks(OneSignatureReceiver(SECRET), secret=SECRET)
        begin(run, 2)
        run.sandbox.advance("1m")

        assert [[("12:01:00", None, 401)], []] == attempts(receiver)  # and what follows it waits too
        run.sandbox.advance("5s")
        assert [[401, 200], [200]] == [[status for _, _, status in delivery] for delivery in attempts(receiver)]


@pytest.mark.parametrize("on_socket", [False, True])
def test_a_receiver_that_was_down_gets_its_event_when_it_is_back(
    mockserver_server: MockServer, on_socket: bool
) -> None:
    with played(mockserver_server, "hook-receiver-down-30-min", now=NOON) as run, ExitStack() as stack:
        app = CarefulReceiver([], run.sandbox.tenant_id)
        back_at = run.sandbox.now.replace(minute=31)

        def is_down() -> bool:
            return run.sandbox.now < back_at

        url = stack.enter_context(served(app, is_down)) if on_socket else None
        receiver = run.sandbox.receive_webhooks(url or (lambda webhook: 503 if is_down() else app(webhook)))
        app.secrets.append(receiver.secret)
        ended = run.careful().connect(app.keep, lambda url: None)
        app.learn(ended)  # a read shows immediately what the event reports after half an hour
        known = (app.number, list(app.welcomed))
        run.sandbox.advance("1h")
        app.work()

        tries = [("12:01:00", None, 503), ("12:01:05", None, 503), ("12:06:05", None, 503), ("12:36:05", None, 204)]
        assert [tries] == attempts(receiver)
        assert "delivered" == receiver.deliveries[0]["status"]
        assert ("+551155500303", [ended.session_id]) == known == (app.number, app.welcomed)


def test_a_page_that_answers_200_in_its_place_loses_the_event(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "hook-receiver-down-30-min", now=NOON) as run:
        app = ReceiverBehindAPage()
        receiver = run.sandbox.receive_webhooks(app)
        begin(run)
        run.sandbox.advance("30m")
        app.is_down = False
        run.sandbox.advance("3d")

        assert [[("12:01:00", None, 200)]] == attempts(receiver)
        assert (None, []) == (app.status, app.welcomed)
        assert "completed" == run.tenant["sessions"][0]["status"]
