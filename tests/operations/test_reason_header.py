"""The header X-Mock-Reason: why a call was refused, for the developer, next to a body as documented."""

from collections.abc import Iterator
from typing import Any

import pytest

from mockserver import MockServer, Sandbox
from mockserver.contract import clauses
from mockserver.core.operations.dispatch import READERS
from mockserver.testing.transports.in_process import Response
from tests.operations.refusals import REFUSALS
from tests.operations.world import DRAFT, GIVEN, OPERATIONS

pytestmark = pytest.mark.mockserver(given=GIVEN, now="2026-03-01T12:00:00Z")


def reason(reply: Response) -> str:
    """The value of the header, which respects its rules."""
    value = reply.headers["x-mock-reason"]

    assert all(" " <= character <= "~" for character in value), value
    assert 0 < len(value) <= 300
    return value


def keys(sandbox: Sandbox) -> list[str]:
    return [sandbox.secret_key, sandbox.public_key, *sandbox.admin.keys("tenant_other")]


def test_every_refusal_names_its_clause(mockserver_server: MockServer) -> None:
    known = {clause.id for clause in clauses.read()}
    wrong = {}
    for refusal in REFUSALS:
        with mockserver_server.sandbox(given=GIVEN, now="2026-03-01T12:00:00Z") as sandbox:
            sandbox.choose(refusal.choices)
            header = reason(refusal.provoke(sandbox))
            has_key = any(key in header for key in keys(sandbox))
        if has_key or header.partition(":")[0].partition(" ")[0] not in known:
            wrong[refusal.code] = header

    assert {} == wrong


HOSTILE = ["ã" * 500, "a\r\nSet-Cookie: x=1", "\0\x1b[31m", "😀" * 90, "'\"\\" * 90, "\u2028\u202e", "\x7f"]


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_the_text_of_a_caller_is_printable_ascii_and_truncated(mockserver: Sandbox, text: str) -> None:
    replies = [
        mockserver.call("POST", "/v1/campaigns", json=DRAFT | {"cadence": text}),
        mockserver.call("POST", "/v1/campaigns", json=DRAFT | {"templateId": text}),
        mockserver.call("POST", "/v1/campaigns", json=DRAFT | {text: 1, "name": None}),
        mockserver.call("GET", "/v1/nowhere/" + text),
        mockserver.call("GET", "/v1/campaigns/" + text),
        mockserver.call(text, "/v1/campaigns"),
        mockserver.call("GET", "/v1/campaigns", key=text + "."),
        mockserver.call("GET", "/v1/messaging/chats/chat_ana?limit=" + text),
        mockserver.call("POST", "/v1/campaigns", body=b"{}", headers={"Content-Type": text}),
    ]

    assert [True] * 9 == [reply.status >= 400 and bool(reason(reply)) for reply in replies]


def test_an_unexpected_failure_is_explained_without_a_key(mockserver: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(f"broke on {mockserver.secret_key}")

    monkeypatch.setattr("mockserver.core.operations.dispatch.READERS", {**READERS, "listTemplates": broken})
    value = reason(mockserver.call(*OPERATIONS["listTemplates"]))

    assert value.startswith("base.internal: ")
    assert "RuntimeError" in value
    assert mockserver.secret_key not in value


def test_a_server_that_does_not_explain_answers_the_same_without_the_header(mockserver_server: MockServer) -> None:
    def replies(server: MockServer) -> Iterator[tuple[str, Response]]:
        for refusal in REFUSALS:
            with server.sandbox(given=GIVEN, choices=refusal.choices) as sandbox:
                yield refusal.code, refusal.provoke(sandbox)

    explained = dict(replies(mockserver_server))
    with MockServer(explain=False) as server:
        silent = dict(replies(server))

    assert [] == [code for code, reply in silent.items() if "x-mock-reason" in reply.headers]
    assert [] == [code for code, reply in explained.items() if "x-mock-reason" not in reply.headers]
    assert {code: (reply.status, reply.body) for code, reply in explained.items()} == {
        code: (reply.status, reply.body) for code, reply in silent.items()
    }


@pytest.mark.parametrize(
    ("operation", "body", "clause"),
    [
        ("POST /v1/campaigns", {"cadence": 0}, "campaigns.cadence"),
        ("POST /v1/campaigns", {"name": 3}, "campaigns.name"),
        ("POST /v1/campaigns", {"filters": [{}]}, "audience.same-filters"),
        ("POST /v1/entrypoints/chatapp/connection-sessions", {"returnUrl": ""}, "session.return-url"),
        ("POST /v1/entrypoints/chatapp/connection-sessions", {"unknown": 1}, "session.create"),
    ],
)
def test_the_reason_of_a_field_cites_the_clause_of_the_field(
    mockserver: Sandbox, operation: str, body: dict[str, Any], clause: str
) -> None:
    method, _, path = operation.partition(" ")
    whole = {"name": "a", "platform": "chatapp", "templateId": "template_x", "cadence": 10}
    reply = mockserver.call(method, path, json={**(whole if path == "/v1/campaigns" else {}), **body})

    assert reason(reply).startswith(f"{clause} at ")
