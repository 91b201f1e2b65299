"""
The client's own suite, as its author maintains it: one line makes a sweep of it.

It is not part of this project's tests; `test_crm_swept.py` copies it next to a client and runs it there.
"""

from typing import Any

import pytest
from crm import Crm, NameTakenError, NotConnectedError, VariableMissingError

from mockserver import Sandbox

pytestmark = [
    pytest.mark.mockserver_sweep("all"),
    pytest.mark.mockserver(
        now="2026-03-01T12:00:00Z",
        given={
            "templates": [
                {"id": "hello", "items": [{"type": "text", "text": "Oi"}], "variables": []},
                {
                    "id": "offer",
                    "items": [{"type": "text", "text": "Só até {{1}}"}],
                    "variables": [{"key": "var1", "label": "Prazo", "required": True}],
                },
            ],
            "chats": {"count": 202},
        },
    ),
]
TALK = {
    "chats": [{"id": "chat_ana", "platform": "chatapp"}],
    "messages": [
        {"chatId": "chat_ana", "type": "text", "text": "Bom dia", "createdAt": "2026-03-01T09:00:00Z"},
        {"chatId": "chat_ana", "type": "image", "createdAt": "2026-03-01T09:01:00Z"},
        {"chatId": "chat_ana", "type": "text", "text": "Até logo", "createdAt": "2026-03-01T09:02:00Z"},
    ],
}


@pytest.fixture
def crm(mockserver: Sandbox) -> Any:
    """The client on the mock, in process; its waiting is the mock's time going by."""
    return Crm(mockserver.base_url, mockserver.secret_key, mockserver.requests_session(), mockserver.advance)


def test_a_launch_reaches_every_chat(crm: Any) -> None:
    ended = crm.wait(*crm.launch("Olá", "hello", 600))

    assert ("completed", 202, 0) == (ended.status, ended.sentCount, ended.failedCount)


def test_a_name_is_taken_once(crm: Any) -> None:
    crm.launch("Olá", "hello", 600)

    with pytest.raises(NameTakenError):
        crm.launch("Olá", "hello", 600)


def test_a_missing_variable_is_reported(crm: Any) -> None:
    with pytest.raises(VariableMissingError):
        crm.launch("Oferta", "offer", 600)


@pytest.mark.mockserver(given=TALK)
def test_the_messages_of_a_chat_are_newest_first(crm: Any) -> None:
    found = list(crm.messages("chat_ana"))

    assert ["Até logo", "", "Bom dia"] == [each.text for each in found]
    assert [2, 1, 0] == [each.at.minute for each in found]


def test_a_number_is_connected(crm: Any, mockserver: Sandbox) -> None:
    def finish(session_id: str, url: str) -> None:
        mockserver.complete_session(session_id, phone="+5511999990000")

    assert "+5511999990000" == crm.connect(show=finish).displayPhone


def test_a_user_who_cancels_connects_nothing(crm: Any, mockserver: Sandbox) -> None:
    with pytest.raises(NotConnectedError):
        crm.connect(show=lambda session_id, url: mockserver.cancel_session(session_id))
