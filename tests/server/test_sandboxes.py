"""Many sandboxes on one host: isolated, reset, restored and closed."""

import gc
from typing import Any
from weakref import ref

import pytest
import requests

from mockserver import MockServer, Sandbox, create_app
from mockserver._json import JSON
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import SandboxHost
from tests.server.control_calls import NOON, begin, control, refused
from tests.server.hosts import send


def test_equal_seeds_and_calls_produce_equal_bytes_and_another_seed_other_ids(mockserver_server: MockServer) -> None:
    def play(seed: int) -> tuple[list[JSON], JSON, list[JSON]]:
        with mockserver_server.sandbox(now=NOON, seed=seed, scenario="demo") as sandbox:
            sessions = [sandbox.complete_session(begin(sandbox)) for _ in range(3)]
            return sessions, sandbox.state(), sandbox.events

    assert play(1) == play(1)
    assert play(1)[0] != play(2)[0]


class TestClosing:
    def test_a_closed_sandbox_answers_410_over_the_socket_and_in_process(self, mockserver_server: MockServer) -> None:
        sandbox = mockserver_server.sandbox()
        base = sandbox.base_url
        session = sandbox.requests_session()
        sandbox.close()

        for path in ("/v1/campaigns", "/_mock/clock", "/media/media_x", "/connect/x", "/"):
            assert (410, "MOCK_SANDBOX_CLOSED") == refused(requests.get(base + path, timeout=60))
        assert 410 == session.get(base + "/v1/campaigns").status_code

    def test_a_late_call_is_noted_at_the_sandbox_that_it_missed(self) -> None:
        host = SandboxHost()
        one, other = host.create(SandboxConfig()), host.create(SandboxConfig())
        host.close(one.id)

        for id in (one.id, one.id, other.id, "never"):
            host.note_late_call(id)

        assert {one.id: 2} == host.closed.late_calls
        assert [True, False, False] == [id in host.closed for id in (one.id, other.id, "never")]


class TestReset:
    @pytest.mark.mockserver(now=NOON, given={"forms": [{"id": "form_a"}]}, choices={"dual-status": "guide"})
    def test_it_restores_the_initial_state_with_the_same_keys_and_address(self, mockserver: Sandbox) -> None:
        born = mockserver.state(), mockserver.secret_key, mockserver.public_key, mockserver.base_url
        first = begin(mockserver)
        mockserver.choose({"dual-status": "catalog"})
        mockserver.apply({"given": {"tenants": [{"id": "tenant_default", "secretKey": "sk_rotated"}]}})
        mockserver.advance("1h")

        mockserver.reset()

        assert born == (mockserver.state(), mockserver.secret_key, mockserver.public_key, mockserver.base_url)
        assert ([], []) == (mockserver.events, mockserver.log.journal["exchanges"])
        assert 401 == mockserver.call("GET", "/v1/campaigns", key="sk_rotated").status
        assert first == begin(mockserver)


class TestCheckpoint:
    def test_what_happens_in_its_block_never_happened(self, mockserver: Sandbox) -> None:
        begin(mockserver)
        before = mockserver.state(), mockserver.log.journal

        with mockserver.checkpoint():
            inside = begin(mockserver)
            mockserver.advance("1h")

        assert (before, []) == ((mockserver.state(), mockserver.log.journal), mockserver.events)
        assert inside == begin(mockserver)

    def test_an_error_in_its_block_takes_everything_back_too(self, mockserver: Sandbox) -> None:
        before = mockserver.state()

        with pytest.raises(ZeroDivisionError), mockserver.checkpoint():
            begin(mockserver)
            raise ZeroDivisionError

        assert before == mockserver.state()

    @pytest.mark.mockserver(given={"chats": [{"id": "chat_a"}]})
    def test_records_added_after_it_do_not_shine_through(self, mockserver: Sandbox) -> None:
        with mockserver.checkpoint():
            mockserver.apply({"given": {"chats": {"count": 3}, "messages": [{"chatId": "chat_a"}]}})

        assert 1 == mockserver.call("POST", "/v1/campaigns/audience-preview", json={}).json()["estimatedCount"]
        assert [] == mockserver.call("GET", "/v1/messaging/chats/chat_a").json()["records"]


class TestTransports:
    def test_an_application_of_its_own_has_a_default_sandbox(self) -> None:
        client = create_app("demo").test_client()

        assert 401 == client.get("/v1/campaigns").status_code
        assert client.get("/_mock/state").get_json()["tenants"][0]["chats"]
        assert ["default"] == [each["sandboxId"] for each in client.get("/_mock/sandboxes").get_json()["sandboxes"]]
        assert (409, "MOCK_DEFAULT_SANDBOX") == (
            client.delete("/_mock/sandboxes/default").status_code,
            client.delete("/_mock/sandboxes/default").get_json()["code"],
        )

    def test_a_server_without_a_default_sandbox_responds_with_how_to_create_one(
        self, mockserver_server: MockServer
    ) -> None:
        for reply in (control(mockserver_server.url, "GET", "/state"), requests.get(mockserver_server.url, timeout=60)):
            assert (404, "MOCK_NOT_FOUND") == refused(reply)
            assert "POST /_mock/sandboxes" in reply.json()["message"]


def test_a_closed_sandbox_is_freed_without_the_garbage_collector() -> None:
    host = SandboxHost()
    hosted = host.create(SandboxConfig(given={"chats": {"count": 3}}))
    send(host, "GET", f"/sandboxes/{hosted.id}/v1/campaigns")
    closed: list[ref[Any]] = [ref(hosted), ref(hosted.sandbox)]
    gc.disable()
    try:
        host.close(hosted.id)
        del hosted

        assert [None, None] == [each() for each in closed]
    finally:
        gc.enable()
