"""Connection scenarios, each played by the careful client."""

from __future__ import annotations

from typing import Any

import pytest

from mockserver import MockServer
from tests.clients.careful import Careful
from tests.clients.connecting import Connection
from tests.harness.rows import each_row
from tests.scenario.scenario_runs import ScenarioRun, played

# Between two whole minutes, so that a sweeper at the next one is late.
HALF_PAST = "2026-03-01T12:00:30Z"

# How the last attempt ends for a careful client: attempts, sessions made, status, reason.
# fmt: off
ENDS = {
    "connect-standard":               (1, 1, "completed", None),
    "connect-coexistence":            (1, 1, "completed", None),
    "connect-tab-closed":             (1, 1, "completed", None),
    "connect-last-second":            (1, 1, "completed", None),
    "connect-poll-meets-429":         (1, 1, "completed", None),
    "connect-create-answer-lost":     (1, 2, "completed", None),
    "connect-token-exchange-fails":   (2, 2, "completed", None),
    "connect-expires-at-the-instant": (1, 1, "expired",   "expired"),
    "connect-expires-unread":         (1, 1, "expired",   "expired"),
    "connect-expires-sweeper-late":   (1, 1, "expired",   "expired"),
    "connect-expires-on-read":        (1, 1, "expired",   "expired"),
    "connect-user-cancels":           (1, 1, "failed",    "token_exchange_failed"),
    "connect-user-cancels-unseen":    (1, 1, "expired",   "expired"),
    "connect-phone-in-use":           (3, 1, "failed",    "phone_in_use"),
    "connect-forged-return":          (1, 1, "failed",    "token_exchange_failed"),
    "connect-orphan-number":          (3, 2, "failed",    "phone_in_use"),
}
# fmt: on


def connect(client: Careful, **rest: Any) -> tuple[Any, list[str]]:
    """The end of a connection, and what was stored and shown, in order."""
    values: list[str] = []
    ended = client.connect(values.append, values.append, returnUrl="https://loja.example/volta", **rest)
    return ended, values


def sessions(run: ScenarioRun) -> list[str]:
    return [each["status"] for each in run.tenant["sessions"]]


@each_row("name", ENDS)
def test_a_careful_client_learns_how_a_connection_ended(mockserver_server: MockServer, name: str) -> None:
    attempts, made, status, reason = ENDS[name]
    with played(mockserver_server, name, now=HALF_PAST) as run:
        if name == "connect-expires-at-the-instant":
            run.sandbox.admin.remove_rules()  # what fires at that instant is looked at below
        ended, _ = connect(run.careful(), attempts=attempts)

        assert (status, reason) == (ended.status, ended.reason)
        assert (ended.entrypoint is not None) == (status == "completed")
        assert made == len(sessions(run))


def test_at_the_very_instant_the_deadline_wins(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "connect-expires-at-the-instant", now=HALF_PAST) as run:
        session_id = run.sandbox.call("POST", "/v1/entrypoints/chatapp/connection-sessions").json()["sessionId"]
        run.sandbox.advance("20m")

        assert Connection(session_id, "expired", "expired", None) == run.careful().session(session_id)
        assert [] == run.tenant["entrypoints"]
        assert [1] == [rule["fired"] for rule in run.sandbox.rules]


def test_the_requested_number_is_the_connected_one(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "connect-standard") as run:
        funnel = {"funnelId": "funnel_standard", "funnelStepId": "funnel_step_standard"}
        ended, _ = connect(run.careful(), **funnel)

        assert ended.entrypoint is not None
        assert funnel.items() <= ended.entrypoint.items()
        assert "Recepção" == run.careful().entrypoint(ended.entrypoint["id"])["displayName"]
    with played(mockserver_server, "connect-coexistence") as run:
        ended, _ = connect(run.careful(), coexistence=True)

        assert ended.entrypoint is not None and ended.entrypoint["isCoexistence"]


def test_a_funnel_that_is_deleted_meanwhile_fails_the_connection(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "connect-funnel-deleted") as run:
        ended, _ = connect(run.careful(), attempts=3, funnelStepId="funnel_step_deleted")

        assert ("failed", "funnel_not_found") == (ended.status, ended.reason)
        assert 1 == len(sessions(run))


# The scenario, and the statuses that are read right after the deadline and half a minute later.
LATE = [
    ("connect-expires-unread", ["expired", "expired"]),
    ("connect-expires-sweeper-late", ["pending", "expired"]),
    ("connect-expires-on-read", ["expired", "expired"]),
]


@pytest.mark.parametrize(("name", "statuses"), LATE)
def test_a_deadline_may_be_noticed_late(mockserver_server: MockServer, name: str, statuses: list[str]) -> None:
    with played(mockserver_server, name, now=HALF_PAST) as run:
        client = run.careful()
        session_id = run.sandbox.call("POST", "/v1/entrypoints/chatapp/connection-sessions").json()["sessionId"]
        run.sandbox.advance("20m")
        events = len(run.sandbox.events)

        assert (0 if name != "connect-expires-unread" else 1) == events
        assert statuses[0] == client.session(session_id).status
        run.sandbox.advance("30s")
        assert statuses[1] == client.session(session_id).status


# Scenarios about events, played where no endpoint is registered: what reads of the sessions show, and which events
# there would have been to deliver.
FAILED, CONNECTED = "entrypoints.chatapp.connection_failed", "entrypoints.chatapp.connected"
WITHOUT_ENDPOINT = {
    "connect-complete-before-202": ["completed"],
    "connect-iframe": ["expired"],
    "connect-second-session-then-late-failure": ["failed", "completed"],
    "hook-duplicate": ["completed"],
    "hook-forged": ["completed"],
    "hook-late": ["completed"],
    "hook-lost": ["completed"],
    "hook-out-of-order": ["failed", "completed"],
    "hook-receiver-down-30-min": ["completed"],
    "hook-secret-rotation": ["completed"],
    "hook-slow-receiver": ["completed"],
    "hook-unicode-body": ["completed"],
    "hook-unknown-kind": ["completed"],
}


@each_row("name", WITHOUT_ENDPOINT)
def test_a_client_without_an_event_reads_the_session(mockserver_server: MockServer, name: str) -> None:
    with played(mockserver_server, name, has_endpoint=False) as run:
        ended, _ = connect(run.careful(), attempts=len(WITHOUT_ENDPOINT[name]))

        assert WITHOUT_ENDPOINT[name] == sessions(run)
        assert WITHOUT_ENDPOINT[name][-1] == ended.status
        events = [CONNECTED if status == "completed" else FAILED for status in WITHOUT_ENDPOINT[name]]
        assert events == [each["event"] for each in run.sandbox.events]


def test_a_link_that_a_preview_has_used_up_is_replaced(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "connect-preview-bot-first") as run:
        met: list[int] = []

        def show(url: str) -> bool:
            met.append(run.sandbox.end_user(url).connect().status)
            return met[-1] != 410

        ended = run.careful().connect(lambda made: None, show, attempts=1, returnUrl="https://loja.example/volta")

        assert [410, 303] == met
        assert ("completed", ["pending", "completed"]) == (ended.status, sessions(run))
        bot = run.sandbox._hosted.sandbox.visits[0]
        assert ("TelegramBot (like TwitterBot)", 303) == (bot.user_agent, bot.status)


def test_an_end_user_who_cancels_may_be_invited_again(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "connect-user-cancels", to_the_end=False) as run:
        pages: list[str | None] = []

        def cancel_first(url: str) -> None:
            person = run.sandbox.end_user(url)
            person.open()
            pages.append((person.cancel() if not pages else person.connect()).location)

        ended = run.careful().connect(
            lambda made: None, cancel_first, attempts=2, returnUrl="https://loja.example/volta"
        )

        assert ([None, "https://loja.example/volta"], "completed") == (pages, ended.status)
        assert ["failed", "completed"] == sessions(run)
