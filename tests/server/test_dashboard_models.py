"""The plain JSON that the macros of the pages take: rows in order, drawings, snippets that run, and checks of signatures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mockserver import Sandbox
from mockserver.server.control.page_access import PageAccess
from mockserver.server.dashboard import calls, objects
from mockserver.wire.request import HttpRequest

SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"
CAMPAIGN = {"name": "Março", "platform": "chatapp", "templateId": "template_atualizacao_cadastro", "cadence": 10}


def journal(sandbox: Sandbox) -> Any:
    return sandbox.call("GET", "/_mock/journal").json()


@pytest.mark.mockserver(scenario="demo")
def plane_of(sandbox: Sandbox) -> PageAccess:
    """The control plane of a request for a page of a sandbox."""
    hosted = sandbox._hosted
    request = HttpRequest.create("GET", "/_mock/", {}, b"", "http://127.0.0.1:5055")
    return PageAccess(hosted.host, hosted, request)


def copies(sandbox: Sandbox, number: int) -> Mapping[str, str]:
    """A call in the forms in which its page has it to copy."""
    plane = plane_of(sandbox)
    call = plane.call(number)
    assert call is not None
    return calls.snippets(plane, call)


@pytest.mark.mockserver(scenario="demo")
def test_the_python_snippet_is_a_test_that_passes(mockserver: Sandbox) -> None:
    mockserver.call("POST", "/v1/campaigns", json=CAMPAIGN)
    mockserver.call("GET", "/v1/campaigns?limit=3&cursor='%22")
    mockserver.call("POST", "/v1/campaigns", body=b'{"name": "\xc3\xa9')
    for text in [copies(mockserver, number)["Python test"] for number in (1, 2, 3)]:
        mockserver.call("POST", "/_mock/reset")
        defined: dict[str, Any] = {}
        exec(text, defined)  # noqa: S102 - the snippet is the mock's own
        next(value for name, value in defined.items() if name.startswith("test_"))(mockserver)


@pytest.mark.mockserver(scenario="demo")
@pytest.mark.parametrize("scheme", ["standard-webhooks", "svix", "stripe", "hub-sha256"])
def test_each_scheme_is_checked_and_a_former_secret_is_named(mockserver: Sandbox, scheme: str) -> None:
    mockserver.choose({"wh-signature": scheme})
    mockserver.receive_webhooks(lambda request: 204)
    mockserver.complete_session(mockserver.call("POST", SESSIONS, json={}).json()["sessionId"])
    event = mockserver.events[0]["id"]
    webhook = mockserver.call("GET", "/_mock/state").json()["tenants"][0]["webhooks"][0]["id"]
    mockserver.call("POST", f"/_mock/webhooks/{webhook}/rotate", json={"secret": "whsec_bmV3LXNlY3JldA=="})
    (delivery,) = mockserver.call("GET", f"/_mock/events/{event}").json()["deliveries"]

    assert [(scheme, "former")] == [
        (attempt["signature"]["scheme"], attempt["signature"]["signatures"][0]["secret"])
        for attempt in delivery["attempts"]
    ]


@pytest.mark.mockserver(scenario="demo")
def test_a_session_has_its_legal_steps_and_the_link_of_its_end_user(mockserver: Sandbox) -> None:
    created = mockserver.call("POST", SESSIONS, json={}).json()
    seen = journal(mockserver)
    state = mockserver.call("GET", "/_mock/state").json()
    kind = next(kind for kind in objects.KINDS if kind.name == "session")
    row = next(iter(objects._rows(state, kind)))
    model = objects.object_model(kind, row, seen, seen["exchanges"][0])

    assert {"complete", "fail", "cancel as the end user", "expire"} == {step["label"] for step in model["steps"]}
    assert created["url"].endswith(model["hosted_page"])
    mockserver.expire_session(created["sessionId"])
    state = mockserver.call("GET", "/_mock/state").json()
    ended = objects.object_model(kind, next(iter(objects._rows(state, kind))), journal(mockserver), None)
    assert [] == ended["steps"]
