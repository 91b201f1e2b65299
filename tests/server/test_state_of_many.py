"""The state of a sandbox with very many chats, read from a snapshot page by page."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from typing import Any

import pytest

from mockserver import Sandbox
from mockserver._json import JSON
from mockserver.server.control import sandboxes, views
from mockserver.server.control.views import STATE_CHATS
from mockserver.server.hosting.host import HostedSnapshot
from mockserver.wire import formats

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


def test_the_chats_of_the_state_can_be_read_page_by_page(mockserver: Sandbox) -> None:
    first, rest, none = (state(mockserver, query) for query in ("?chats=7", f"?chatsFrom={STATE_CHATS}", "?chats=0"))

    assert state(mockserver)["chats"][:7] == first["chats"]
    assert 5 == len(rest["chats"])
    assert rest["chats"][0] not in state(mockserver)["chats"]
    assert [] == none["chats"]


def test_an_execution_shows_as_many_targets_as_the_state_shows_chats(mockserver: Sandbox) -> None:
    mockserver.apply({"given": {"templates": [{"id": "template_a", "items": [{"type": "text", "text": "Oi"}]}]}})
    body = {"name": "A", "platform": "chatapp", "templateId": "template_a", "cadence": 60}
    campaign_id = mockserver.call("POST", "/v1/campaigns", json=body).json()["campaignId"]
    mockserver.choose({"size-limit-values": {"chatapp": None}})
    assert mockserver.call("POST", f"/v1/campaigns/{campaign_id}/start").status == 202
    (execution,) = state(mockserver, "?chats=3")["executions"]

    assert [chat["id"] for chat in state(mockserver, "?chats=3")["chats"]] == execution["targets"]
    assert MANY == execution["sends"]["target"]
    assert "template_a" == execution["template"]


def test_no_step_of_a_large_state_is_one_call_of_the_interpreter(
    mockserver: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread of other sandboxes' calls waits for such a step: 10,000 chats as text take 40 ms."""
    steps: list[int] = []
    for module in (formats, views):
        monkeypatch.setattr(module, "json" if module is views else "_ENCODE", _Counting(steps, module))
    state(mockserver)

    assert 100_000 > max(steps) > 0


class _Counting:
    """The encoder of a module; records the length of each text."""

    def __init__(self, steps: list[int], module: types.ModuleType) -> None:
        self._steps, self._encode = steps, json.dumps if module is views else module._ENCODE

    def __call__(self, value: Any, **options: Any) -> str:
        text: str = self._encode(value, **options)
        self._steps.append(len(text))
        return text

    dumps = __call__


@pytest.mark.parametrize(
    "query",
    ["chats=-1", "chats=1e3", "chats=²", f"chatsFrom={'9' * 5_000}", "chats=", "tenant=a", f"chats={STATE_CHATS + 1}"],
)
def test_an_invalid_page_is_refused(mockserver: Sandbox, query: str) -> None:
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


def test_a_key_of_the_sandbox_is_redacted_in_any_chat(mockserver: Sandbox) -> None:
    """Also behind the first slice of the chats, which are searched some at a time."""
    key = mockserver.secret_key
    chats = [{"platform": "chatapp", "name": key if number == 250 else "Ana"} for number in range(300)]
    mockserver.apply({"given": {"chats": chats}})
    reply = mockserver.call("GET", f"/_mock/state?chatsFrom={MANY}")

    assert 300 == len(reply.json()["tenants"][0]["chats"])
    assert key not in reply.body.decode()
