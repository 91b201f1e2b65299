"""The end user at the page behind a session's url: what they bring about, and what the document leaves open of it."""

import pytest

from mockserver import Sandbox
from tests.harness.options import in_force
from tests.operations.session_calls import PHONE, begin, create, read

BACK = "https://clinic.example/back?tab=2&q=a%20b#done"
GONE = "Este link não está mais disponível. Peça um novo link a quem o enviou."


@pytest.mark.clause("session.completed", "session.url")
def test_the_end_user_connects_a_number(mockserver: Sandbox) -> None:
    session = create(mockserver)

    page = mockserver.end_user(session).connect(phone="+55 (11) 99999-0000", name="Matriz")

    shown = read(mockserver, session["sessionId"])
    assert ("completed", PHONE, "Matriz") == (
        shown["status"],
        shown["entrypoint"]["displayPhone"],
        shown["entrypoint"]["name"],
    )
    assert (200, "Número conectado") == (page.status, page.title.partition(" ·")[0])
    assert ["entrypoints.chatapp.connected"] == [event["event"] for event in mockserver.events]


@pytest.mark.clause("session.coexistence")
def test_coexistence_has_steps_of_its_own_and_is_mirrored(mockserver: Sandbox) -> None:
    session = create(mockserver, {"coexistence": True})
    user = mockserver.end_user(session)
    user.open()

    steps = [
        user.proceed().step,
        user.choose_number(PHONE).step,
        user.confirm_in_app().step,
        user.choose_account().step,
    ]

    assert ["number", "app", "account", "authorise"] == steps
    user.authorise()
    assert read(mockserver, session["sessionId"])["entrypoint"]["isCoexistence"] is True


@pytest.mark.clause("session.return")
@pytest.mark.option("return-query", "nothing")
def test_after_success_the_end_user_is_redirected_to_the_return_url_as_sent(mockserver: Sandbox) -> None:
    page = mockserver.end_user(create(mockserver, {"returnUrl": BACK})).connect()

    assert (303, BACK) == (page.status, page.location)


@pytest.mark.clause("session.return")
@in_force("return-query", "session-and-status")
@pytest.mark.parametrize(
    ("url", "location"),
    [
        ("https://clinic.example", "https://clinic.example?{}"),
        ("https://clinic.example/?", "https://clinic.example/?{}"),
        ("https://clinic.example/?a=1", "https://clinic.example/?a=1&{}"),
        ("https://clinic.example/?a=1&#part?x", "https://clinic.example/?a=1&{}#part?x"),
    ],
)
def test_session_and_status_are_appended_to_the_url_s_own_query(mockserver: Sandbox, url: str, location: str) -> None:
    session = create(mockserver, {"returnUrl": url})

    page = mockserver.end_user(session).connect()

    assert location.format(f"sessionId={session['sessionId']}&status=completed") == page.location


@pytest.mark.clause("session.return", "session.failed")
@pytest.mark.option("return-on-failure", "stay")
@pytest.mark.mockserver(choices={"return-query": "session-and-status"})
def test_after_a_failure_the_hosted_page_is_the_end(mockserver: Sandbox) -> None:
    session = create(mockserver, {"returnUrl": BACK})
    user = mockserver.end_user(session)
    user.open()

    page = user.simulate("token_exchange_failed")

    assert (200, None) == (page.status, page.location)
    assert "O provedor não concluiu a autorização." in page.text
    assert "token_exchange_failed" == read(mockserver, session["sessionId"])["reason"]


@pytest.mark.clause("session.return")
@in_force("return-on-failure", "return-with-error")
@pytest.mark.parametrize("end", ["token_exchange_failed", "phone_in_use", "funnel_not_found", "expire"])
def test_a_failure_may_return_with_an_error(mockserver: Sandbox, end: str) -> None:
    user = mockserver.end_user(create(mockserver, {"returnUrl": "https://clinic.example/?a=1"}))
    user.open()

    error = "expired" if end == "expire" else end
    assert f"https://clinic.example/?a=1&error={error}" == user.simulate(end).location


@pytest.mark.clause("session.user-cancels")
def test_a_cancellation_on_the_page_fails_the_session(mockserver: Sandbox) -> None:
    session_id = begin(mockserver)
    user = mockserver.end_user(session_id)
    user.open()
    user.proceed()

    page = user.cancel()

    assert "Conexão cancelada" in page.text
    assert ("failed", "token_exchange_failed") == tuple(
        read(mockserver, session_id)[key] for key in ("status", "reason")
    )


@pytest.mark.clause("session.phone-in-use")
def test_a_number_that_is_in_use_fails_when_it_is_authorised(mockserver: Sandbox) -> None:
    mockserver.end_user(begin(mockserver)).connect(PHONE)
    session_id = begin(mockserver)

    page = mockserver.end_user(session_id).connect("55 11 99999-0000")

    assert "O número +55 11 99999-0000 já está vinculado a outra conta ou a outro canal." in page.text
    assert ("failed", "phone_in_use") == tuple(read(mockserver, session_id)[key] for key in ("status", "reason"))


@pytest.mark.clause("session.url")
@pytest.mark.option("link-consumed-when", "continue")
def test_the_link_is_used_up_when_continue_is_pressed(mockserver: Sandbox) -> None:
    session_id = begin(mockserver)
    first, second = mockserver.end_user(session_id), mockserver.end_user(session_id)

    assert [200, 200, 200] == [first.open().status, first.open().status, second.open().status]
    assert "account" == first.proceed().step
    assert [(410, GONE)] * 2 == [
        (page.status, page.text.split("disponível ")[1][: len(GONE)]) for page in (second.proceed(), first.open())
    ]


@pytest.mark.clause("session.url")
@in_force("link-consumed-when", "first-get")
def test_the_link_may_be_used_up_by_the_first_get(mockserver: Sandbox) -> None:
    session_id = begin(mockserver)
    first, second = mockserver.end_user(session_id), mockserver.end_user(session_id)

    assert ("intro", 200) == ((page := first.open()).step, page.status)
    assert 410 == second.open().status
    assert "account" == first.proceed().step
    assert ("account", 200) == ((page := first.reload()).step, page.status)


@pytest.mark.clause("session.url")
@in_force("link-consumed-when", "completion")
def test_the_link_may_lead_on_until_the_session_has_ended(mockserver: Sandbox) -> None:
    session_id = begin(mockserver)
    first, second = mockserver.end_user(session_id), mockserver.end_user(session_id)
    first.open()
    first.proceed()

    assert "Número conectado" in second.connect(PHONE).text
    assert "Número conectado" in first.reload().text
    assert [410, 410] == [first.open().status, second.open().status]


@pytest.mark.mockserver(choices={"link-consumed-when": "completion", "user-cancels": "pending"})
def test_a_valid_link_restarts_a_cancelled_flow(mockserver: Sandbox) -> None:
    user = mockserver.end_user(begin(mockserver))
    user.open()
    user.proceed()
    user.cancel()

    user.open()
    assert "account" == user.proceed().step
