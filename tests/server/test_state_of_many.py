"""The state of a sandbox with very many chats, read from a snapshot page by page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mockserver import Sandbox
from mockserver._json import JSON
from mockserver.server.control import sandboxes
from mockserver.server.control.views import STATE_CHATS
from mockserver.server.hosting.host import HostedSnapshot
from tests.harness.rows import each_row

MANY = STATE_CHATS + 5
pytestmark = pytest.mark.mockserver(
    given={"chats": {"count": MANY, "each": {"tagIds": ["tag_a"]}}}, now="2026-03-01T12:00:00Z"
)


def state(sandbox: Sandbox, query: str = "") -> JSON:
    reply = sandbox.call("GET", f"/_mock/state{query}")
    assert reply.status == 200, reply.body
    tenants: JSON = reply.json()["tenants"][0]
    return tenants


def test_the_state_has_the_first_chats_of_a_tenant_and_their_whole_number(mockserver: Sandbox) -> None:
    whole = state(mockserver)

    assert (STATE_CHATS, MANY) == (len(whole["chats"]), whole["chatCount"])


def test_the_state_has_as_many_chats_as_are_asked_for(mockserver: Sandbox) -> None:
    first, none = (state(mockserver, query) for query in ("?chats=7", "?chats=0"))

    assert state(mockserver)["chats"][:7] == first["chats"]
    assert [] == none["chats"]


@each_row("query", ["chats=-1", f"chats={'9' * 5_000}", f"chats={STATE_CHATS + 1}"])
def test_an_invalid_number_of_chats_is_refused(mockserver: Sandbox, query: str) -> None:
    reply = mockserver.call("GET", f"/_mock/state?{query}")

    assert (400, "MOCK_BAD_QUERY") == (reply.status, reply.json()["code"])
    assert len(reply.body) < 500


def test_the_state_is_the_one_of_its_snapshot_whatever_happens_while_it_is_built(mockserver: Sandbox) -> None:
    before, read = mockserver.state(), []

    def read_state(snapshot: HostedSnapshot, arguments: Mapping[str, Any]) -> None:
        mockserver.advance("20m")
        mockserver.admin.set_tenant(name="Another")
        read.append(sandboxes.read_state(snapshot, arguments))

    mockserver._hosted.run_command(read_state, {}, phase="snapshot")

    assert [before] == read


def test_the_state_is_built_without_the_lock(mockserver: Sandbox) -> None:
    hosted, held = mockserver._hosted, []

    class Lock:
        is_held = False

        def __enter__(self) -> None:
            self.is_held = True

        def __exit__(self, *raised: object) -> None:
            self.is_held = False

    hosted.sandbox.lock = lock = Lock()

    def read_state(snapshot: HostedSnapshot, arguments: Mapping[str, Any]) -> Any:
        held.append(lock.is_held)
        return sandboxes.read_state(snapshot, arguments)

    assert STATE_CHATS == len(hosted.run_command(read_state, {}, phase="snapshot")["tenants"][0]["chats"])
    assert [False] == held
