"""Many sandboxes on one host: isolated, reset, restored and closed."""

import gc
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from weakref import ref

import pytest
import requests

from mockserver import MockServer, Sandbox, create_app
from mockserver._json import JSON
from mockserver.server.front_controller import handle_request
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.host import SandboxHost
from mockserver.wire.request import HttpRequest
from tests.clients.operations import SESSIONS
from tests.depth import at_depth
from tests.harness.steps import python_calls
from tests.server.control_calls import NOON, control, refused


def begin(sandbox: Sandbox) -> str:
    return str(sandbox.call("POST", SESSIONS, json={}).json()["sessionId"])


@pytest.mark.law
def test_thousands_of_idle_sandboxes_share_a_process() -> None:
    many = at_depth(2_000, 20_000)
    host = SandboxHost()

    made = [host.create(SandboxConfig()) for _ in range(many)]
    of_the_last = python_calls(lambda: made.append(host.create(SandboxConfig())))
    of_the_first = python_calls(lambda: SandboxHost().create(SandboxConfig()))

    assert many + 1 == len(host.sandboxes) == len({each.id for each in made})
    assert host.sandboxes[made[0].id] is made[0] and host.sandboxes[made[-1].id] is made[-1]
    assert of_the_last <= of_the_first  # which also makes a host


def test_two_sandboxes_of_one_seed_never_see_each_other(mockserver_server: MockServer) -> None:
    with mockserver_server.sandbox(now=NOON) as one, mockserver_server.sandbox(now=NOON) as other:
        before = other.state()

        session_id = begin(one)
        one.complete_session(session_id)
        one.choose({"dual-status": "guide"})
        one.advance("1h")
        one.admin.set_tenant(subscription="none")
        one.apply({"given": {"forms": [{"id": "form_a"}]}})

        assert (before, [], []) == (other.state(), other.events, other.log.journal["exchanges"])
        assert 404 == other.call("GET", f"{SESSIONS}/{session_id}").status


def test_equal_seeds_and_calls_produce_equal_bytes_and_another_seed_other_ids(mockserver_server: MockServer) -> None:
    def play(seed: int) -> tuple[list[JSON], JSON, list[JSON]]:
        with mockserver_server.sandbox(now=NOON, seed=seed, scenario="demo") as sandbox:
            sessions = [sandbox.complete_session(begin(sandbox)) for _ in range(3)]
            return sessions, sandbox.state(), sandbox.events

    assert play(1) == play(1)
    assert play(1)[0] != play(2)[0]


def test_a_key_of_another_sandbox_is_unknown(mockserver_server: MockServer) -> None:
    with mockserver_server.sandbox(seed=1) as one, mockserver_server.sandbox(seed=2) as other:
        reply = one.call("GET", "/v1/campaigns", key=other.secret_key)

        assert (401, "API_KEY_INVALID") == (reply.status, reply.json()["code"])


def test_two_servers_share_nothing() -> None:
    with MockServer() as one, MockServer() as other:
        sandbox = one.sandbox()

        assert one.url != other.url
        assert 404 == requests.get(f"{other.url}/sandboxes/{sandbox.id}/v1/campaigns", timeout=60).status_code


class TestClosing:
    def test_a_closed_sandbox_answers_410_over_the_socket_and_in_process(self, mockserver_server: MockServer) -> None:
        sandbox = mockserver_server.sandbox()
        base = sandbox.base_url
        session = sandbox.requests_session()
        sandbox.close()

        for path in ("/v1/campaigns", "/_mock/clock", "/media/media_x", "/connect/x", "/"):
            assert (410, "MOCK_SANDBOX_CLOSED") == refused(requests.get(base + path, timeout=60))
        assert 410 == session.get(base + "/v1/campaigns").status_code

    def test_closing_twice_is_closing_once(self, mockserver_server: MockServer) -> None:
        sandbox = mockserver_server.sandbox()

        sandbox.close()
        sandbox.close()

    def test_leaving_its_block_closes_it(self, mockserver_server: MockServer) -> None:
        with mockserver_server.sandbox() as sandbox:
            base = sandbox.base_url
            assert 401 == requests.get(base + "/v1/campaigns", timeout=60).status_code

        assert 410 == requests.get(base + "/v1/campaigns", timeout=60).status_code

    def test_a_late_call_is_noted_at_the_sandbox_that_it_missed(self) -> None:
        host = SandboxHost()
        one, other = host.create(SandboxConfig()), host.create(SandboxConfig())
        host.close(one.id)

        for id in (one.id, one.id, other.id, "never"):
            host.note_late_call(id)

        assert {one.id: 2} == host.closed.late_calls
        assert [True, False, False] == [id in host.closed for id in (one.id, other.id, "never")]

    def test_static_assets_fetched_late_are_not_late_calls(self, mockserver_server: MockServer) -> None:
        with mockserver_server.sandbox() as sandbox:
            base = sandbox.base_url

        assert 410 == requests.get(base + "/connect/icon.svg", timeout=60).status_code
        assert 410 == requests.get(base + "/connect/style.css?a", timeout=60).status_code
        assert 0 == mockserver_server.late_calls().get(sandbox.id, 0)
        assert 410 == requests.get(base + "/connect/x", timeout=60).status_code
        assert 1 == mockserver_server.late_calls()[sandbox.id]

    def test_an_id_is_not_reused(self) -> None:
        host = SandboxHost()
        first = host.create(SandboxConfig()).id
        host.close(first)

        assert first != host.create(SandboxConfig()).id


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

    @pytest.mark.mockserver(choices={"rate-limit-numbers": {"requests": 1, "per": "60s"}})
    def test_it_restores_the_spent_budget(self, mockserver: Sandbox) -> None:
        assert [200, 429] == [mockserver.call("GET", "/v1/campaigns").status for _ in range(2)]

        mockserver.reset()

        assert 200 == mockserver.call("GET", "/v1/campaigns").status


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

    def test_blocks_nest(self, mockserver: Sandbox) -> None:
        begin(mockserver)
        outer = mockserver.state()
        with mockserver.checkpoint():
            begin(mockserver)
            inner = mockserver.state()
            with mockserver.checkpoint():
                begin(mockserver)
            assert inner == mockserver.state()

        assert outer == mockserver.state()

    @pytest.mark.mockserver(given={"chats": [{"id": "chat_a"}]})
    def test_records_added_after_it_do_not_shine_through(self, mockserver: Sandbox) -> None:
        with mockserver.checkpoint():
            mockserver.apply({"given": {"chats": {"count": 3}, "messages": [{"chatId": "chat_a"}]}})

        assert 1 == mockserver.call("POST", "/v1/campaigns/audience-preview", json={}).json()["estimatedCount"]
        assert [] == mockserver.call("GET", "/v1/messaging/chats/chat_a").json()["records"]


def test_concurrent_calls_are_answered_one_by_one(mockserver: Sandbox) -> None:
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda _: begin(mockserver), range(200)))

    exchanges = mockserver.log.journal["exchanges"]
    assert 200 == len(set(made))
    assert list(range(1, 201)) == [each["n"] for each in exchanges]
    assert sorted(made) == sorted(each["response"]["body"]["sessionId"] for each in exchanges)


class TestTransports:
    def test_both_clients_and_the_socket_reach_one_sandbox(self, mockserver: Sandbox) -> None:
        headers = {"X-API-Key": mockserver.secret_key}
        with mockserver.httpx_client() as httpx_client, mockserver.requests_session() as session:
            answers = [
                mockserver.call("POST", SESSIONS, json={}).status,
                session.post(mockserver.base_url + SESSIONS, json={}, headers=headers).status_code,
                httpx_client.post(SESSIONS, json={}, headers=headers).status_code,
                requests.post(mockserver.base_url + SESSIONS, json={}, headers=headers, timeout=60).status_code,
                mockserver.admin.app.test_client().post(SESSIONS, json={}, headers=headers).status_code,
            ]

        assert [202] * 5 == answers
        assert [SESSIONS] * 5 == [each["request"]["path"] for each in mockserver.log.journal["exchanges"]]

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

    def test_its_repr_shows_its_id_instant_and_exchanges(self, mockserver_server: MockServer) -> None:
        with mockserver_server.sandbox(now=NOON) as sandbox:
            begin(sandbox)

            assert f"<Sandbox {sandbox.id} at 2026-03-01T12:00:00.000Z, 1 exchanges>" == repr(sandbox)


@pytest.mark.parametrize("settings", [{"developers_enabled": False}, {"developersEnabled": False}], ids=str)
def test_a_setting_of_a_tenant_has_the_name_of_python_or_of_the_command(
    mockserver: Sandbox, settings: dict[str, Any]
) -> None:
    assert mockserver.admin.set_tenant(**settings)["developersEnabled"] is False

    assert "DEVELOPERS_DISABLED" == mockserver.call("GET", "/v1/campaigns").json()["code"]


def test_a_closed_sandbox_is_freed_without_the_garbage_collector() -> None:
    host = SandboxHost()
    hosted = host.create(SandboxConfig(given={"chats": {"count": 3}}))
    handle_request(host, HttpRequest("GET", f"/sandboxes/{hosted.id}/v1/campaigns", {}, b"", host.origin))
    closed: list[ref[Any]] = [ref(hosted), ref(hosted.sandbox)]
    gc.disable()
    try:
        host.close(hosted.id)
        del hosted

        assert [None, None] == [each() for each in closed]
    finally:
        gc.enable()
