"""The plain JSON that the macros of the pages take: the legal steps of a record."""

from __future__ import annotations

from typing import Any

import pytest

from mockserver import Sandbox
from mockserver.server.dashboard import objects

SESSIONS = "/v1/entrypoints/chatapp/connection-sessions"


def journal(sandbox: Sandbox) -> Any:
    return sandbox.call("GET", "/_mock/journal").json()


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
