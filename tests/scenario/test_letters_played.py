"""Scenarios about what a letter is worth, and about a receiver that is down: forgeries, spellings, rotations, retries."""

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
from tests.scenario.hearing import begin, careful_app, said, served
from tests.scenario.staging import staged

NOON = "2026-03-01T12:00:00Z"
SECRET = "whsec_Y2hvc2VuLWJ5LXRoZS1yZWNlaXZlcg=="


def test_no_forged_request_is_accepted_and_every_genuine_one_is(mockserver_server: MockServer):
    with staged(mockserver_server, "hook-forged") as stage:
        app, receiver = careful_app(stage)
        made = begin(stage, 7, app)
        stage.sandbox.advance("1m")
        app.work()

        letters = [(fault, status) for letters in said(receiver) for _, fault, status in letters]
        refusals = [(forgery, 403 if forgery == "other-tenant" else 401) for forgery in FORGERIES]
        assert [each for refusal in refusals for each in (refusal, (None, 204))] == letters
        assert (made, 7) == (app.welcomed, app.refused)
        assert stage.tenant["entrypoints"][-1]["displayPhone"] == app.number


def test_a_receiver_without_checks_accepts_each_forged_request(mockserver_server: MockServer):
    with staged(mockserver_server, "hook-forged") as stage:
        app = NaiveReceiver()
        receiver = stage.sandbox.receive_webhooks(app)
        made = begin(stage, 7)
        stage.sandbox.advance("1m")

        assert [2] * 7 == [len(letters) for letters in said(receiver)]
        assert 14 == len(app.welcomed)
        assert 1 == len(set(app.welcomed) - set(made))  # a welcome for a session that nobody has made


def test_a_receiver_that_ignores_date_and_tenant_accepts_two_forged_requests(mockserver_server: MockServer):
    """An old letter may be one that somebody has kept; a letter about another tenant is rightly signed."""
    with staged(mockserver_server, "hook-forged") as stage:
        app = UndatedReceiver(SECRET)
        receiver = stage.sandbox.receive_webhooks(app, secret=SECRET)
        made = begin(stage, 7)
        stage.sandbox.advance("1m")

        believed = {fault for letters in said(receiver) for _, fault, status in letters if fault and status == 200}
        assert {"old-timestamp", "other-tenant"} == believed
        assert 9 == len(app.welcomed)
        assert set(made) == set(app.welcomed)


def test_a_signature_is_valid_for_the_exact_bytes(mockserver_server: MockServer):
    with staged(mockserver_server, "hook-unicode-body", now=NOON) as stage:
        app, receiver = careful_app(stage)
        made = begin(stage, 3, app)
        stage.sandbox.advance("1m")
        app.work()

        assert [[("12:01:00", None, 204)]] * 3 == said(receiver)
        assert made == app.welcomed
        assert app.connection is not None and app.connection.entrypoint is not None
        assert "São João ☕/Filial" == app.connection.entrypoint["name"]


def test_who_verifies_what_it_wrote_itself_refuses_true_events(mockserver_server: MockServer):
    with staged(mockserver_server, "hook-unicode-body", now=NOON) as stage:
        app = RespellingReceiver(SECRET)
        receiver = stage.sandbox.receive_webhooks(app, secret=SECRET)
        begin(stage, 3)
        stage.sandbox.advance("1h")

        assert [[401, 200]] * 3 == [[status for _, _, status in letters] for letters in said(receiver)]
        late = [letters[-1][0] for letters in said(receiver)]
        assert ["12:01:05", "12:01:10", "12:01:15"] == late  # each refusal holds up whatever comes behind


def test_a_request_with_two_signatures_is_valid_if_one_is(mockserver_server: MockServer):
    with staged(mockserver_server, "hook-secret-rotation", now=NOON) as stage:
        app, receiver = careful_app(stage)
        made = begin(stage, 2, app)
        stage.sandbox.advance("1m")
        app.work()

        assert [[("12:01:00", None, 204)]] * 2 == said(receiver)
        assert (made, 0) == (app.welcomed, app.refused)


def test_an_application_with_the_former_secret_tolerates_a_rotation(mockserver_server: MockServer):
    with staged(mockserver_server, "hook-secret-rotation", now=NOON) as stage:
        app, receiver = careful_app(stage)
        made = begin(stage, 2, app)
        stage.sandbox.rotate_secret(receiver.id, "whsec_dGhlLXNlY3JldC1hZnRlci10aGlzLW9uZQ==")
        stage.sandbox.advance("1m")
        app.work()

        assert (made, 0) == (app.welcomed, app.refused)


def test_a_receiver_that_checks_one_signature_refuses_a_genuine_event_during_a_rotation(mockserver_server: MockServer):
    with staged(mockserver_server, "hook-secret-rotation", now=NOON) as stage:
        receiver = stage.sandbox.receive_webhooks(OneSignatureReceiver(SECRET), secret=SECRET)
        begin(stage, 2)
        stage.sandbox.advance("1m")

        assert [[("12:01:00", None, 401)], []] == said(receiver)  # and what comes behind it waits too
        stage.sandbox.advance("5s")
        assert [[401, 200], [200]] == [[status for _, _, status in letters] for letters in said(receiver)]


@pytest.mark.parametrize("on_socket", [False, True])
def test_a_receiver_that_was_down_gets_its_event_when_it_is_back(mockserver_server: MockServer, on_socket: bool):
    with staged(mockserver_server, "hook-receiver-down-30-min", now=NOON) as stage, ExitStack() as stack:
        app = CarefulReceiver([], stage.sandbox.tenant_id)
        back_at = stage.sandbox.now.replace(minute=31)

        def is_down() -> bool:
            return stage.sandbox.now < back_at

        url = stack.enter_context(served(app, is_down)) if on_socket else None
        receiver = stage.sandbox.receive_webhooks(url or (lambda letter: 503 if is_down() else app(letter)))
        app.secrets.append(receiver.secret)
        ended = stage.careful().connect(app.keep, lambda url: None)
        app.learn(ended)  # reading tells at once what the event tells after half an hour
        known = (app.number, list(app.welcomed))
        stage.sandbox.advance("1h")
        app.work()

        tries = [("12:01:00", None, 503), ("12:01:05", None, 503), ("12:06:05", None, 503), ("12:36:05", None, 204)]
        assert [tries] == said(receiver)
        assert "delivered" == receiver.deliveries[0]["status"]
        assert ("+551155500303", [ended.session_id]) == known == (app.number, app.welcomed)


def test_a_page_that_answers_200_in_its_place_loses_the_event(mockserver_server: MockServer):
    with staged(mockserver_server, "hook-receiver-down-30-min", now=NOON) as stage:
        app = ReceiverBehindAPage()
        receiver = stage.sandbox.receive_webhooks(app)
        begin(stage)
        stage.sandbox.advance("30m")
        app.is_down = False
        stage.sandbox.advance("3d")

        assert [[("12:01:00", None, 200)]] == said(receiver)
        assert (None, []) == (app.status, app.welcomed)
        assert "completed" == stage.tenant["sessions"][0]["status"]
