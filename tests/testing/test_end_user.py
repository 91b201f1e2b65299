"""The person at the hosted page that a test holds in its hands: found by id, url or creation, and helpful in its errors."""

import asyncio
import re
from collections.abc import Callable

import pytest

from mockserver import MockServer, Sandbox
from mockserver._json import JSON
from mockserver.server.webhooks.local_receivers import ReceivedWebhook
from mockserver.testing.end_user import EndUser
from mockserver.testing.remote import RemoteServer
from tests.harness.rows import each_row
from tests.operations.session_calls import PHONE, begin, create, read


@pytest.mark.parametrize("named", ["sessionId", "url", None])
def test_a_person_is_sent_to_a_session_by_its_id_its_url_or_its_creation(
    mockserver: Sandbox, named: str | None
) -> None:
    session = create(mockserver)

    page = mockserver.end_user(session[named] if named else session).open()

    assert (200, "intro") == (page.status, page.step)


@pytest.mark.parametrize("body", [{}, {"coexistence": True}], ids=["standard", "coexistence"])
def test_over_the_socket_a_person_sees_what_they_see_in_process(body: JSON) -> None:
    seen = []
    with MockServer() as server:
        for each in (server, RemoteServer(server.url)):
            with each.sandbox(now="2026-03-01T12:00:00Z") as sandbox:
                session = create(sandbox, body)
                page = sandbox.end_user(session).connect("+5511999990000")
                assert "completed" == read(sandbox, session["sessionId"])["status"]
                seen.append((page.status, page.title, page.text))

    assert seen[0] == seen[1]


def test_a_step_that_the_page_does_not_offer_is_refused_with_the_offered_ones(mockserver: Sandbox) -> None:
    user = mockserver.end_user(begin(mockserver))
    user.open()

    with pytest.raises(
        ValueError, match="got the step 'authorise'; expected one that the page 'Conecte .* offers .*: the step 'intro'"
    ):
        user.authorise()
    assert user.page and "intro" == user.page.step


@each_row(
    ("act", "words"),
    [
        (lambda sandbox, id: sandbox.end_user(id).connect("12"), "O telefone informado não é válido"),
        (lambda sandbox, id: sandbox.end_user(id[:-1]), "did you mean '{id}'"),
        (lambda sandbox, _: sandbox.end_user({"id": 1}), "session: got {{'id': 1}}; expected a session's id, its url, or the JSON"),
        (lambda sandbox, _: sandbox.end_user("https://elsewhere.example/connect/abc"), "got the url of another sandbox"),
    ],
)  # fmt: skip
def test_what_leads_to_no_step_of_a_session_is_refused(
    mockserver: Sandbox, act: Callable[[Sandbox, str], object], words: str
) -> None:
    session_id = begin(mockserver)

    with pytest.raises(ValueError, match=re.escape(words.format(id=session_id))):
        act(mockserver, session_id)


def test_back_and_reload_remain_in_the_flow(mockserver: Sandbox) -> None:
    user = mockserver.end_user(begin(mockserver))
    for go in (user.open, user.proceed, user.choose_account):
        go()

    assert ["authorise", "number", "number", "account"] == [
        user.choose_number(PHONE).step,
        user.back().step,
        user.reload().step,
        user.back().step,
    ]
    user.choose_account("Filial")
    assert "+55 11 99999-0000" in user.proceed().text  # the number that was typed before is proposed again


RETURNING = {"returnUrl": "https://shop.test/done"}


def finish(user: EndUser, way: str) -> None:
    if way == "connect":
        user.connect()
    else:
        user.open()
        user.cancel() if way == "cancel" else user.simulate(way)


@pytest.mark.clause("events.connected")
@each_row("way", ["connect", "cancel", "phone_in_use"])
@each_row("body", [{}, RETURNING])
@pytest.mark.parametrize("where", ["in process", "running server"])
def test_the_webhook_has_arrived_when_the_person_sees_the_next_page_or_has_left_for_the_return_url(
    mockserver_server: MockServer, where: str, body: JSON, way: str
) -> None:
    seen = []
    server = RemoteServer(mockserver_server.url) if where == "running server" else mockserver_server
    with server.sandbox() as sandbox:
        sandbox.receive_webhooks(lambda webhook: seen.append(webhook.json()["event"]))

        finish(sandbox.end_user(create(sandbox, body)), way)

        failed = "entrypoints.chatapp.connection_failed"
        assert [{"connect": "entrypoints.chatapp.connected"}.get(way, failed)] == seen


@pytest.mark.parametrize("body", [{}, RETURNING], ids=["stays", "returns"])
def test_an_awaited_flow_ends_after_its_webhook_reached_the_receiver_on_the_loop(
    mockserver: Sandbox, body: JSON
) -> None:
    seen = []

    async def receive(webhook: ReceivedWebhook) -> None:
        await asyncio.sleep(0)
        seen.append(webhook.json()["event"])

    async def main() -> list[str]:
        mockserver.receive_webhooks(receive)
        await mockserver.aio.run(mockserver.end_user(create(mockserver, body)).connect)
        return list(seen)

    assert ["entrypoints.chatapp.connected"] == asyncio.run(main())
