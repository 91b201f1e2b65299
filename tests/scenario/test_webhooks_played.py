"""Scenarios about genuine and forged webhook requests, and about a receiver that is down: formats, rotations, retries."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from mockserver import MockServer
from mockserver.contract.effects import FORGERIES
from tests.clients.receiving import CarefulReceiver
from tests.harness.rows import each_row
from tests.scenario.receivers import attempts, begin, careful_app, served
from tests.scenario.scenario_runs import played

NOON = "2026-03-01T12:00:00Z"


def test_no_forged_request_is_accepted_and_every_genuine_one_is(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "hook-forged") as run:
        app, receiver = careful_app(run)
        made = begin(run, 6, app)
        run.sandbox.advance("1m")
        app.work()

        answers = [(fault, status) for delivery in attempts(receiver) for _, fault, status in delivery]
        assert [each for forgery in FORGERIES for each in ((forgery, 401), (None, 204))] == answers
        assert (made, 6) == (app.welcomed, app.refused)
        assert run.tenant["entrypoints"][-1]["displayPhone"] == app.number


# What a careful application that is sent a few events receives: how many, and the fault and the answer of each attempt.
# fmt: off
HOOKS: dict[str, tuple[int, list[tuple[str | None, int]]]] = {
    "hook-duplicate":       (1, [(None, 204), ("duplicate", 204)]),
    "hook-secret-rotation": (2, [(None, 204)]),
    "hook-slow-receiver":   (1, [(None, 204)]),
    "hook-unicode-body":    (3, [(None, 204)]),
    "hook-unknown-kind":    (1, [("unknown-kind", 204), (None, 204)]),
}
# fmt: on


@each_row("name", HOOKS)
def test_a_careful_application_accepts_every_genuine_request_and_handles_it_once(
    mockserver_server: MockServer, name: str
) -> None:
    count, received = HOOKS[name]
    with played(mockserver_server, name, now=NOON) as run:
        app, receiver = careful_app(run)
        made = begin(run, count, app)
        run.sandbox.advance("1h")

        assert [[("12:01:00", *each) for each in received]] * count == attempts(receiver)
        assert [] == app.welcomed  # the work is done when there is time for it
        app.work()
        assert (made, 0) == (app.welcomed, app.refused)
        assert run.tenant["entrypoints"][-1]["displayPhone"] == app.number


def test_an_application_with_the_former_secret_tolerates_a_rotation(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "hook-secret-rotation", now=NOON) as run:
        app, receiver = careful_app(run)
        made = begin(run, 2, app)
        run.sandbox.webhooks.rotate(receiver.id, "whsec_dGhlLXNlY3JldC1hZnRlci10aGlzLW9uZQ==")
        run.sandbox.advance("1m")
        app.work()

        assert (made, 0) == (app.welcomed, app.refused)


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
