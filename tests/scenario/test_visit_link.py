"""A script opens a session's link: a choice decides whether that uses it up, and the visit is recorded."""

from __future__ import annotations

import pytest

from mockserver.testing.sandbox import Sandbox

BOT = "TelegramBot (like TwitterBot)"
SCRIPT = [{"on": "createConnectionSession", "do": {"visit-link": {"userAgent": BOT}}}]


def create(sandbox: Sandbox) -> str:
    return str(sandbox.call("POST", "/v1/entrypoints/chatapp/connection-sessions").json()["sessionId"])


@pytest.mark.mockserver(scenario={"script": SCRIPT})
def test_a_preview_uses_nothing_up_by_default(mockserver: Sandbox) -> None:
    session = create(mockserver)

    assert mockserver.end_user(session).open().status == 200
    assert [(visit.user_agent, visit.status) for visit in mockserver._hosted.sandbox.visits][:1] == [(BOT, 200)]


@pytest.mark.mockserver(scenario={"script": SCRIPT, "choices": {"link-consumed-when": "first-get"}})
def test_a_preview_consumes_a_single_use_link(mockserver: Sandbox) -> None:
    session = create(mockserver)

    assert mockserver.end_user(session).open().status == 410


@pytest.mark.mockserver(scenario={"script": [{"at": "21m", "do": {"visit-link": {}}}]})
def test_a_visit_after_the_end_changes_nothing(mockserver: Sandbox) -> None:
    session = create(mockserver)
    mockserver.advance("10m")
    mockserver.on("readConnectionSession").do({"visit-link": {"id": session}})
    mockserver.expire_session(session)
    mockserver.call("GET", f"/v1/entrypoints/chatapp/connection-sessions/{session}")

    assert [visit.status for visit in mockserver._hosted.sandbox.visits] == [410]
    mockserver.advance("11m")
    assert mockserver.rules[0]["noTarget"] == "visit-link: no session is pending"
