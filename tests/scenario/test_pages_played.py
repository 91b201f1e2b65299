"""Connection scenarios with a person at the hosted page: what they meet there, and which client notices."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from mockserver import MockServer
from mockserver.testing.end_user import EndUser
from tests.clients.connecting import Connection
from tests.clients.naive import NeverEnds
from tests.scenario.staging import Stage, staged

RETURN_URL = "https://loja.example/volta"
BOTH_DOORS = pytest.mark.parametrize("on_socket", [False, True])


def sessions(stage: Stage) -> list[str]:
    return [each["status"] for each in stage.tenant["sessions"]]


def carefully(stage: Stage, show: Callable[[str], object], attempts: int = 1, **body: object) -> Connection:
    return stage.careful().connect(lambda made: None, show, attempts=attempts, returnUrl=RETURN_URL, **body)


def naively(stage: Stage, show: Callable[[str], object], **body: object) -> None:
    """The naive client, whose watching never ends, since nothing ever completes."""
    with pytest.raises(NeverEnds):
        stage.naive(patience=60).connect(lambda made: None, show, returnUrl=RETURN_URL, **body)


# A link that a preview has used up


def test_a_link_that_a_preview_has_used_up_is_replaced(mockserver_server: MockServer):
    with staged(mockserver_server, "connect-preview-bot-first") as stage:
        met: list[int] = []

        def show(url: str) -> bool:
            page = stage.sandbox.end_user(url).connect()
            met.append(page.status)
            return page.status != 410

        ended = carefully(stage, show)

        assert [410, 303] == met
        assert ("completed", ["pending", "completed"]) == (ended.status, sessions(stage))
        bot = stage.sandbox._hosted.sandbox.visits[0]
        assert ("TelegramBot (like TwitterBot)", 303) == (bot.user_agent, bot.status)


def test_a_link_that_a_preview_has_used_up_strands_the_end_user(mockserver_server: MockServer):
    with staged(mockserver_server, "connect-preview-bot-first") as stage:
        met: list[int] = []
        naively(stage, lambda url: met.append(stage.sandbox.end_user(url).connect().status))

        assert ([410], ["pending"]) == (met, sessions(stage))
        stage.sandbox.advance("20m")
        assert ["expired"] == sessions(stage)


# In a frame


def appears_in_a_frame(stage: Stage, url: str) -> bool:
    """What a browser makes of the page in a frame: it shows it, unless the page forbids that."""
    answer = stage.http.get(url, headers={"Sec-Fetch-Dest": "iframe", "Sec-Fetch-Mode": "navigate"})
    assert 200 == answer.status_code
    refusals = {
        answer.headers.get("X-Frame-Options", "").upper() in ("DENY", "SAMEORIGIN"),
        "frame-ancestors 'none'" in answer.headers.get("Content-Security-Policy", ""),
    }
    assert 1 == len(refusals)  # old and new browsers are told the same
    return refusals == {False}


@BOTH_DOORS
def test_a_flow_can_run_in_its_own_window(mockserver_server: MockServer, on_socket: bool):
    with staged(mockserver_server, "connect-iframe", on_socket=on_socket) as stage:
        ended = carefully(stage, lambda url: stage.sandbox.end_user(url, socket=on_socket).connect())

        assert ("completed", ["completed"]) == (ended.status, sessions(stage))
        assert {"document"} == {visit.sec_fetch_dest for visit in stage.sandbox._hosted.sandbox.visits}


@BOTH_DOORS
def test_a_link_in_a_frame_shows_nothing_and_uses_nothing_up(mockserver_server: MockServer, on_socket: bool):
    with staged(mockserver_server, "connect-iframe", on_socket=on_socket) as stage:
        urls: list[str] = []
        appeared: list[bool] = []
        naively(stage, lambda url: urls.append(url) or appeared.append(appears_in_a_frame(stage, url)))

        (visit,) = stage.sandbox._hosted.sandbox.visits
        assert ([False], "iframe", 200) == (appeared, visit.sec_fetch_dest, visit.status)
        assert 200 == stage.sandbox.end_user(urls[0]).open().status
        stage.sandbox.advance("20m")
        assert ["expired"] == sessions(stage)


# Walking away


def test_a_tab_closed_at_the_end_redirects_no_one_and_the_session_has_the_result(mockserver_server: MockServer):
    with staged(mockserver_server, "connect-tab-closed", to_the_end=False) as stage:
        returns: list[str | None] = []

        def finish_and_close(url: str) -> None:
            person = stage.sandbox.end_user(url)
            returns.append(person.connect().location)
            person.close_tab()  # before the browser gets where it is sent

        ended = carefully(stage, finish_and_close)

        assert ([RETURN_URL], "completed") == (returns, ended.status)
        assert [0] == [rule["fired"] for rule in stage.sandbox.rules]  # the person was faster than the script


def test_a_tab_closed_half_way_is_unnoticed_until_the_deadline(mockserver_server: MockServer):
    with staged(mockserver_server, "connect-expires-unread") as stage:
        people: list[EndUser] = []

        def give_up(url: str) -> None:
            person = stage.sandbox.end_user(url)
            person.open()
            person.proceed()
            person.close_tab()
            people.append(person)

        began = stage.sandbox.now
        ended = carefully(stage, give_up)

        assert ("expired", "expired") == (ended.status, ended.reason)
        assert timedelta(minutes=20) <= stage.sandbox.now - began <= timedelta(minutes=22)
        assert 410 == people[0].open().status


@pytest.mark.parametrize("query", ["", "?status=completed"])
def test_a_visit_of_the_return_url_proves_nothing(mockserver_server: MockServer, query: str):
    with staged(mockserver_server, "connect-forged-return") as stage:
        kept: list[str] = []
        read: list[str] = []
        client = stage.careful()

        def forge(url: str) -> None:
            read.append(client.returned(RETURN_URL + query, kept[0]).status)

        ended = client.connect(kept.append, forge, returnUrl=RETURN_URL)

        assert (["pending"], "failed", "token_exchange_failed") == (read, ended.status, ended.reason)
    with staged(mockserver_server, "connect-forged-return") as stage:
        believed: list[bool] = []
        naively(stage, lambda url: believed.append(stage.naive().returned(RETURN_URL + query)))

        assert ([True], ["failed"]) == (believed, sessions(stage))


# What a person does on the page


def test_an_end_user_who_cancels_may_be_invited_again(mockserver_server: MockServer):
    with staged(mockserver_server, "connect-user-cancels", to_the_end=False) as stage:
        pages: list[str | None] = []

        def cancel_first(url: str) -> None:
            person = stage.sandbox.end_user(url)
            person.open()
            pages.append((person.cancel() if not pages else person.connect()).location)

        ended = carefully(stage, cancel_first, attempts=2)

        assert ([None, RETURN_URL], "completed") == (pages, ended.status)
        assert ["failed", "completed"] == sessions(stage)
        assert "token_exchange_failed" == stage.tenant["sessions"][0]["reason"]


def cancel(stage: Stage, url: str) -> None:
    person = stage.sandbox.end_user(url)
    person.open()
    person.proceed()
    person.cancel()


def test_a_client_that_expects_only_completion_waits_for_an_end_user_who_cancelled(mockserver_server: MockServer):
    with staged(mockserver_server, "connect-user-cancels", to_the_end=False) as stage:
        naively(stage, lambda url: cancel(stage, url))

        assert ["failed"] == sessions(stage)


def test_an_unnoticed_cancellation_waits_for_the_deadline(mockserver_server: MockServer):
    with staged(mockserver_server, "connect-user-cancels-unseen") as stage:
        ended = carefully(stage, lambda url: cancel(stage, url))

        assert ("expired", ["expired"]) == (ended.status, sessions(stage))


def test_a_number_that_is_typed_and_taken_fails_without_a_way_back(mockserver_server: MockServer):
    with staged(mockserver_server, "connect-phone-in-use", to_the_end=False) as stage:
        ends: list[tuple[int, str | None]] = []

        def type_the_number(url: str) -> None:
            page = stage.sandbox.end_user(url).connect("+55 11 5550-0209")
            ends.append((page.status, page.location))

        ended = carefully(stage, type_the_number, attempts=3)

        assert ("failed", "phone_in_use", None) == (ended.status, ended.reason, ended.entrypoint)
        assert ([(200, None)], ["failed"]) == (ends, sessions(stage))
    with staged(mockserver_server, "connect-phone-in-use", to_the_end=False) as stage:
        naively(stage, lambda url: stage.sandbox.end_user(url).connect("+55 11 5550-0209"))

        assert ["failed"] == sessions(stage)


def test_a_funnel_removed_during_a_flow_fails_the_flow_at_its_end(mockserver_server: MockServer):
    with staged(mockserver_server, "connect-funnel-deleted", to_the_end=False) as stage:
        ends: list[str | None] = []
        ended = carefully(
            stage,
            lambda url: ends.append(stage.sandbox.end_user(url).connect().location),
            funnelId="funnel_deleted",
            funnelStepId="funnel_step_deleted",
        )

        assert ("failed", "funnel_not_found", [None]) == (ended.status, ended.reason, ends)
        assert [1, 0] == [rule["fired"] for rule in stage.sandbox.rules]
        assert [] == stage.tenant["entrypoints"]
    with staged(mockserver_server, "connect-funnel-deleted", to_the_end=False) as stage:
        naively(stage, lambda url: stage.sandbox.end_user(url).connect(), funnelStepId="funnel_step_deleted")

        assert ["failed"] == sessions(stage)


@BOTH_DOORS
def test_the_flow_for_a_number_of_the_phone_app_has_its_own_order(mockserver_server: MockServer, on_socket: bool):
    with staged(mockserver_server, "connect-coexistence", to_the_end=False, on_socket=on_socket) as stage:
        steps: list[str | None] = []

        def walk(url: str) -> None:
            person = stage.sandbox.end_user(url, socket=on_socket)
            seen = [person.open(), person.proceed(), person.choose_number("+55 11 5550-0202"), person.confirm_in_app()]
            seen += [person.choose_account("Celular da loja"), person.authorise()]
            steps.extend(page.step or page.location for page in seen)

        ended = carefully(stage, walk, coexistence=True)

        assert ["intro", "number", "app", "account", "authorise", RETURN_URL] == steps
        assert ended.entrypoint is not None
        wanted = {"name": "Celular da loja", "displayPhone": "+551155500202", "isCoexistence": True}
        assert wanted.items() <= ended.entrypoint.items()
