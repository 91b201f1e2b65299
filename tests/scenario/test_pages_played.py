"""Connection scenarios with a person at the hosted page: what they see there, and which client notices."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from mockserver import MockServer
from mockserver.testing.end_user import EndUser
from tests.clients.connecting import Connection
from tests.clients.naive import NeverEnds
from tests.scenario.scenario_runs import ScenarioRun, played

RETURN_URL = "https://loja.example/volta"
BOTH_TRANSPORTS = pytest.mark.parametrize("on_socket", [False, True])


def sessions(run: ScenarioRun) -> list[str]:
    return [each["status"] for each in run.tenant["sessions"]]


def carefully(run: ScenarioRun, show: Callable[[str], object], attempts: int = 1, **body: object) -> Connection:
    return run.careful().connect(lambda made: None, show, attempts=attempts, returnUrl=RETURN_URL, **body)


def naively(run: ScenarioRun, show: Callable[[str], object], **body: object) -> None:
    """The naive client, whose watching never ends, since nothing ever completes."""
    with pytest.raises(NeverEnds):
        run.naive(patience=60).connect(lambda made: None, show, returnUrl=RETURN_URL, **body)


# A link that a preview has used up


def test_a_link_that_a_preview_has_used_up_is_replaced(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "connect-preview-bot-first") as run:
        met: list[int] = []

        def show(url: str) -> bool:
            page = run.sandbox.end_user(url).connect()
            met.append(page.status)
            return page.status != 410

        ended = carefully(run, show)

        assert [410, 303] == met
        assert ("completed", ["pending", "completed"]) == (ended.status, sessions(run))
        bot = run.sandbox._hosted.sandbox.visits[0]
        assert ("TelegramBot (like TwitterBot)", 303) == (bot.user_agent, bot.status)


# In a frame


@BOTH_TRANSPORTS
def test_a_flow_can_run_in_its_own_window(mockserver_server: MockServer, on_socket: bool) -> None:
    with played(mockserver_server, "connect-iframe", on_socket=on_socket) as run:
        ended = carefully(run, lambda url: run.sandbox.end_user(url, socket=on_socket).connect())

        assert ("completed", ["completed"]) == (ended.status, sessions(run))
        assert {"document"} == {visit.sec_fetch_dest for visit in run.sandbox._hosted.sandbox.visits}


# Walking away


def test_a_tab_closed_at_the_end_redirects_no_one_and_the_session_has_the_result(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "connect-tab-closed", to_the_end=False) as run:
        returns: list[str | None] = []

        def finish_and_close(url: str) -> None:
            person = run.sandbox.end_user(url)
            returns.append(person.connect().location)
            person.close_tab()  # before the browser gets where it is sent

        ended = carefully(run, finish_and_close)

        assert ([RETURN_URL], "completed") == (returns, ended.status)
        assert [0] == [rule["fired"] for rule in run.sandbox.rules]  # the person was faster than the script


def test_a_tab_closed_half_way_is_unnoticed_until_the_deadline(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "connect-expires-unread") as run:
        people: list[EndUser] = []

        def give_up(url: str) -> None:
            person = run.sandbox.end_user(url)
            person.open()
            person.proceed()
            person.close_tab()
            people.append(person)

        began = run.sandbox.now
        ended = carefully(run, give_up)

        assert ("expired", "expired") == (ended.status, ended.reason)
        assert timedelta(minutes=20) <= run.sandbox.now - began <= timedelta(minutes=22)
        assert 410 == people[0].open().status


# What a person does on the page


def test_an_end_user_who_cancels_may_be_invited_again(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "connect-user-cancels", to_the_end=False) as run:
        pages: list[str | None] = []

        def cancel_first(url: str) -> None:
            person = run.sandbox.end_user(url)
            person.open()
            pages.append((person.cancel() if not pages else person.connect()).location)

        ended = carefully(run, cancel_first, attempts=2)

        assert ([None, RETURN_URL], "completed") == (pages, ended.status)
        assert ["failed", "completed"] == sessions(run)
        assert "token_exchange_failed" == run.tenant["sessions"][0]["reason"]


def cancel(run: ScenarioRun, url: str) -> None:
    person = run.sandbox.end_user(url)
    person.open()
    person.proceed()
    person.cancel()


def test_an_unnoticed_cancellation_waits_for_the_deadline(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "connect-user-cancels-unseen") as run:
        ended = carefully(run, lambda url: cancel(run, url))

        assert ("expired", ["expired"]) == (ended.status, sessions(run))


def test_a_number_that_is_typed_and_taken_fails_without_a_way_back(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "connect-phone-in-use", to_the_end=False) as run:
        ends: list[tuple[int, str | None]] = []

        def type_the_number(url: str) -> None:
            page = run.sandbox.end_user(url).connect("+55 11 5550-0209")
            ends.append((page.status, page.location))

        ended = carefully(run, type_the_number, attempts=3)

        assert ("failed", "phone_in_use", None) == (ended.status, ended.reason, ended.entrypoint)
        assert ([(200, None)], ["failed"]) == (ends, sessions(run))
    with played(mockserver_server, "connect-phone-in-use", to_the_end=False) as run:
        naively(run, lambda url: run.sandbox.end_user(url).connect("+55 11 5550-0209"))

        assert ["failed"] == sessions(run)


def test_a_funnel_removed_during_a_flow_fails_the_flow_at_its_end(mockserver_server: MockServer) -> None:
    with played(mockserver_server, "connect-funnel-deleted", to_the_end=False) as run:
        ends: list[str | None] = []
        ended = carefully(
            run,
            lambda url: ends.append(run.sandbox.end_user(url).connect().location),
            funnelId="funnel_deleted",
            funnelStepId="funnel_step_deleted",
        )

        assert ("failed", "funnel_not_found", [None]) == (ended.status, ended.reason, ends)
        assert [1, 0] == [rule["fired"] for rule in run.sandbox.rules]
        assert [] == run.tenant["entrypoints"]
    with played(mockserver_server, "connect-funnel-deleted", to_the_end=False) as run:
        naively(run, lambda url: run.sandbox.end_user(url).connect(), funnelStepId="funnel_step_deleted")

        assert ["failed"] == sessions(run)


@BOTH_TRANSPORTS
def test_the_flow_for_a_number_of_the_phone_app_has_its_own_order(
    mockserver_server: MockServer, on_socket: bool
) -> None:
    with played(mockserver_server, "connect-coexistence", to_the_end=False, on_socket=on_socket) as run:
        steps: list[str | None] = []

        def visit_pages(url: str) -> None:
            person = run.sandbox.end_user(url, socket=on_socket)
            seen = [person.open(), person.proceed(), person.choose_number("+55 11 5550-0202"), person.confirm_in_app()]
            seen += [person.choose_account("Celular da loja"), person.authorise()]
            steps.extend(page.step or page.location for page in seen)

        ended = carefully(run, visit_pages, coexistence=True)

        assert ["intro", "number", "app", "account", "authorise", RETURN_URL] == steps
        assert ended.entrypoint is not None
        wanted = {"name": "Celular da loja", "displayPhone": "+551155500202", "isCoexistence": True}
        assert wanted.items() <= ended.entrypoint.items()
