"""The records of a sandbox: as text, as a traceback or a failed assertion shows them, and compared with others."""

from __future__ import annotations

import pytest

from mockserver.core.state.records import ChatAttributes, HostedFlow, Session, Webhook

SECRET = "a-secret-of-the-record"
SESSION = Session(1, "session_a", SECRET, None, None, False, None, 0, 1, "pending", 1)
WEBHOOK = Webhook("webhook_a", "http://localhost/hook", SECRET, (), old_secret=SECRET)
FLOW = HostedFlow("session_a", SECRET, 0, None, "phone", phone="+5511999990000")


@pytest.mark.parametrize("record", [SESSION, WEBHOOK, FLOW], ids=lambda record: type(record).__name__)
def test_the_text_of_a_record_names_its_fields_without_its_secrets(record: Session | Webhook | HostedFlow) -> None:
    text = repr(record)

    assert SECRET not in text
    assert text.startswith(f"{type(record).__name__}(")
    assert all(f"{name}={value!r}" in text for name, value in record._asdict().items() if value != SECRET)


def test_the_attributes_of_two_chats_are_never_equal() -> None:
    first, second = ChatAttributes._make(range(19)), ChatAttributes._make(range(19))

    assert first._asdict() == second._asdict()
    assert (False, True, 2) == (first == second, first != second, len({first, second}))
