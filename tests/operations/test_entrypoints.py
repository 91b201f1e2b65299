"""Entrypoints: one connected channel, read by its id; and what a completed session shows of it."""

from typing import Any

import pytest

from mockserver import Sandbox
from mockserver._json import JSON
from tests.clients.operations import SESSIONS
from tests.harness.options import each_option, in_force
from tests.operations import world
from tests.operations.world import session

GIVEN = {
    "funnels": world.GIVEN["funnels"],
    "entrypoints": [
        *world.GIVEN["entrypoints"],
        {"id": "entrypoint_chatapp_lite", "platform": "chatapp_lite"},
        {"id": "entrypoint_photoapp", "platform": "photoapp"},
        {"id": "entrypoint_botapp", "platform": "botapp"},
    ],
}
READ = {"id", "name", "platform", "funnelStepId", "displayName", "isCoexistence"}
CONNECTED = {
    "id",
    "name",
    "displayPhone",
    "phoneNumberId",
    "businessAccountId",
    "funnelId",
    "funnelStepId",
    "isCoexistence",
}

pytestmark = pytest.mark.mockserver(given=GIVEN, now="2026-03-01T12:00:00Z")


def read(sandbox: Sandbox, id: str) -> JSON:
    reply = sandbox.call("GET", f"/v1/entrypoints/{id}")
    assert 200 == reply.status, reply.body
    entrypoint: JSON = reply.json()["entrypoint"]
    return entrypoint


def connected(sandbox: Sandbox, **fields: Any) -> tuple[JSON, JSON, JSON]:
    """The entrypoint as the completed session, the event and its own read show it."""
    session_id = session(sandbox, **fields)
    sandbox.complete_session(session_id, phone="+5511999990000", name="Vendas")
    in_session = sandbox.call("GET", f"{SESSIONS}/{session_id}").json()["entrypoint"]
    return in_session, sandbox.events[0]["data"]["entrypoint"], read(sandbox, in_session["id"])


@pytest.mark.clause("entrypoints.read")
def test_an_entrypoint_is_read_by_its_id(mockserver: Sandbox) -> None:
    reply = mockserver.call("GET", "/v1/entrypoints/entrypoint_desk")

    assert 200 == reply.status
    assert {
        "entrypoint": {
            "id": "entrypoint_desk",
            "name": "Recepção",
            "platform": "chatapp",
            "funnelStepId": "funnel_step_first",
            "displayName": "Clínica Sabiá",
            "isCoexistence": True,
        }
    } == reply.json()


@pytest.mark.clause("entrypoints.read", "session.completed")
@pytest.mark.option("entrypoint-two-shapes", "literal")
def test_the_session_and_the_read_return_different_fields(mockserver: Sandbox) -> None:
    in_session, in_event, by_id = connected(mockserver, funnelStepId="funnel_step_first")

    assert CONNECTED == set(in_session)
    assert in_session == in_event
    assert READ == set(by_id)


@pytest.mark.clause("entrypoints.read", "session.completed")
@in_force("entrypoint-two-shapes", "union")
def test_session_and_read_may_show_all_the_fields_of_both(mockserver: Sandbox) -> None:
    in_session, in_event, by_id = connected(mockserver, funnelId="funnel_sales", funnelStepId="funnel_step_first")

    assert READ | CONNECTED == set(in_session)
    assert in_session == in_event == by_id
    assert ("chatapp", "Vendas", "+5511999990000") == tuple(
        by_id[key] for key in ("platform", "displayName", "displayPhone")
    )


@pytest.mark.clause("entrypoints.read", "session.completed")
@pytest.mark.parametrize("shapes", ["literal", "union"])
@each_option("shown", "funnel-null", {"null": None, "absent": "nothing"})
def test_an_entrypoint_without_a_funnel_shows_it_in_one_way_everywhere(
    mockserver: Sandbox, shown: str | None, shapes: str
) -> None:
    mockserver.choose({"entrypoint-two-shapes": shapes})

    in_session, in_event, by_id = connected(mockserver)

    for entrypoint in (in_session, in_event):
        assert [shown, shown] == [entrypoint.get(key, "nothing") for key in ("funnelId", "funnelStepId")]
    for entrypoint in (by_id, read(mockserver, "entrypoint_photoapp")):
        assert shown == entrypoint.get("funnelStepId", "nothing")
