"""Comparing runs: a client that lets an open point decide what it calls is found under that choice, and blamed by its rule."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Any

import pytest

from mockserver import MockServer
from mockserver.judge.client.rules import BLAMED
from mockserver.testing.differential import REASONS, compare
from mockserver.testing.sandbox import Sandbox
from tests.clients.operations import SESSIONS
from tests.harness.rows import each_row

GIVEN = {
    "templates": [{"id": "template_t", "name": "T", "isOfficial": True}],
    "chats": [{"id": "chat_a", "platform": "chatapp"}],
    "messages": [{"chatId": "chat_a", "text": "Oi"}],
}
SETTINGS: dict[str, Any] = {"given": GIVEN, "now": "2026-03-01T12:00:00Z"}
COMPARED = (*BLAMED, REASONS)


def body(name: str = "Spring") -> dict[str, Any]:
    return {"name": name, "platform": "chatapp", "templateId": "template_t", "cadence": 60}


def by_message(sandbox: Sandbox) -> None:
    sandbox.call("POST", "/v1/campaigns", json=body())
    reply = sandbox.call("POST", "/v1/campaigns", json=body())
    if "existe" in reply.json()["message"]:
        sandbox.call("POST", "/v1/campaigns", json=body("Spring 2"))


def by_status(sandbox: Sandbox) -> None:
    sandbox.call("POST", "/v1/campaigns", json=body())
    if sandbox.call("POST", "/v1/campaigns", json=body()).status == 400:
        sandbox.call("GET", "/v1/campaigns")


def by_201(sandbox: Sandbox) -> None:
    if sandbox.call("POST", "/v1/campaigns", json=body()).status != 201:
        sandbox.call("POST", "/v1/campaigns", json=body())


def by_known_enums(sandbox: Sandbox) -> None:
    for template in sandbox.call("GET", "/v1/message-templates").json()["templates"]:
        detail = sandbox.call("GET", f"/v1/message-templates/{template['id']}").json()
        {"text": 1, "image": 2}[detail["items"][0]["type"]]
    sandbox.call("GET", "/v1/campaigns")


def by_known_fields(sandbox: Sandbox) -> None:
    def campaign(campaignId: str, status: str) -> str:
        return campaignId

    sandbox.call("POST", f"/v1/campaigns/{campaign(**sandbox.call('POST', '/v1/campaigns', json=body()).json())}/start")


def by_spelling(sandbox: Sandbox) -> None:
    for template in sandbox.call("GET", "/v1/message-templates").json()["templates"]:
        datetime.strptime(template["createdAt"], "%Y-%m-%dT%H:%M:%S.%fZ")
        sandbox.call("GET", f"/v1/message-templates/{template['id']}")


def by_absent_reason(sandbox: Sandbox) -> None:
    session = sandbox.call("POST", SESSIONS, json={}).json()["sessionId"]
    if "reason" in sandbox.call("GET", f"{SESSIONS}/{session}").json():
        return
    sandbox.call("GET", f"{SESSIONS}/{session}")


def by_null_cursor(sandbox: Sandbox) -> None:
    page = sandbox.call("GET", "/v1/messaging/chats/chat_a").json()
    while "nextCursor" in page:
        page = sandbox.call("GET", f"/v1/messaging/chats/chat_a?cursor={page['nextCursor'] or ''}").json()


def by_404(sandbox: Sandbox) -> None:
    sandbox.apply({"given": {"tenants": [{"id": "tenant_b"}]}})
    foreign = sandbox.call("POST", "/v1/campaigns", json=body(), key=sandbox.admin.keys("tenant_b")[0])
    template = sandbox.call("GET", "/v1/message-templates/template_t", key=sandbox.admin.keys("tenant_b")[0])
    if foreign.status == template.status == 404:
        sandbox.call("GET", "/v1/campaigns")


def by_no_reason(sandbox: Sandbox) -> None:
    for _ in range(3):
        session = sandbox.call("POST", SESSIONS, json={}).json()["sessionId"]
        if sandbox.call("GET", f"{SESSIONS}/{session}").json()["status"] != "failed":
            return


CARELESS: dict[str, tuple[Callable[[Sandbox], None], str]] = {
    "match-on-message": (by_message, "message-text=reworded"),
    "match-on-status": (by_status, "dual-status=guide"),
    "only-200-is-ok": (by_201, "success-status=all-200"),
    "closed-enums": (by_known_enums, "new-enum-values=unseen"),
    "closed-objects": (by_known_fields, "additive-fields=unknown-fields"),
    "naive-dates": (by_spelling, "datetime-spelling=seconds"),
    "expects-fields-on-read": (by_absent_reason, "reason-when-none=null"),
    "page-endless": (by_null_cursor, "next-cursor-end="),
    "misreads-404": (by_404, "cross-tenant-code=access-denied"),
    REASONS: (by_no_reason, ""),
}


def careful(sandbox: Sandbox) -> None:
    """Decides by codes alone, repeats only what may be repeated, and tolerates unknown values."""
    for _ in range(2):
        sandbox.call("POST", "/v1/campaigns", json=body()).json().get("code")
    for template in sandbox.call("GET", "/v1/message-templates").json()["templates"]:
        sandbox.call("GET", f"/v1/message-templates/{template['id']}")
    page: Any = {"nextCursor": "first"}
    query = ""
    while page.get("nextCursor"):
        page = sandbox.call("GET", f"/v1/messaging/chats/chat_a{query}").json()
        query = f"?cursor={page.get('nextCursor')}"
    for _ in range(2):
        session = sandbox.call("POST", SESSIONS, json={}).json()["sessionId"]
        read = sandbox.call("GET", f"{SESSIONS}/{session}").json()
        if read.get("reason") != "token_exchange_failed":
            return


@pytest.mark.clause("advice.code-not-message")
@each_row("rule", CARELESS)
def test_a_careless_client_is_reported_under_the_choice_that_it_depends_on(
    mockserver_server: MockServer, rule: str
) -> None:
    client, choice = CARELESS[rule]
    found = compare(mockserver_server, client, **SETTINGS, calls_at_most=40)

    assert rule in {each.rule for each in found.findings}
    blamed = [each for each in found.findings if each.rule == rule]
    assert all(choice in each.message for each in blamed[:1])
    assert all(each.exchanges for each in blamed)


def test_a_careful_client_calls_the_same_under_every_choice(mockserver_server: MockServer) -> None:
    found = compare(mockserver_server, careful, **SETTINGS)

    assert ((), ()) == (found.findings, found.differences)
    found.assert_same()
    assert len(found.runs) > 15


def test_a_profile_is_searched_for_the_choice_that_makes_the_difference(mockserver_server: MockServer) -> None:
    found = compare(mockserver_server, by_status, ["literal", "guide", "hostile"], **SETTINGS)

    assert {"match-on-status"} == {each.rule for each in found.findings}
    assert ["plain", "literal", "guide", "hostile"] == [each.name for each in found.runs]
    assert {"dual-status=guide"} == {each.run.name for each in found.differences}


def test_a_difference_fails_the_assertion_with_the_finding_first(mockserver_server: MockServer) -> None:
    found = compare(mockserver_server, by_201, [{"success-status": "all-200"}], **SETTINGS)

    with pytest.raises(AssertionError, match=r"\Aonly-200-is-ok, severity 1"):
        found.assert_same()


def test_a_client_without_end_is_ended(mockserver_server: MockServer) -> None:
    def endless(sandbox: Sandbox) -> None:
        while True:
            with suppress(Exception):
                sandbox.call("GET", "/v1/campaigns")

    found = compare(mockserver_server, endless, [], calls_at_most=25)

    assert [(25, "RunEnded")] == [(len(each.calls), each.raised) for each in found.runs]


def test_ids_and_instants_count_for_nothing(mockserver_server: MockServer) -> None:
    seeds = iter(("campaign_aaaaaaaaaaaa", "campaign_bbbbbbbbbbbb", "campaign_cccccccccccc"))

    def client(sandbox: Sandbox) -> None:
        sandbox.call("POST", "/v1/campaigns", json=body() | {"description": f"{next(seeds)} 2026-03-01T12:00:00Z"})

    assert () == compare(mockserver_server, client, ["guide"], **SETTINGS).differences
