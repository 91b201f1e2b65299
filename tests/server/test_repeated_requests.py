"""Requests that a client sends again and again over a socket: what the server remembers of one is only what equals."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from mockserver import MockServer, Sandbox
from mockserver.core.state.journal import JournalEntry
from mockserver.server.socket_handler import _SocketCall
from tests.server.rawclient import Answer, RawClient
from tests.server.test_latest_responses import Forgetful

TEMPLATE = {"templates": [{"id": "template_one"}]}


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer() as server:
        yield server


@pytest.fixture
def client(server: MockServer) -> Iterator[RawClient]:
    with RawClient(urlsplit(server.url).port or 0) as client:
        yield client


def _get(client: RawClient, target: str, key: str, host: str = "localhost", more: str = "") -> Answer:
    client.socket.sendall(f"GET {target} HTTP/1.1\r\nHost: {host}\r\nX-API-Key: {key}\r\n{more}\r\n".encode())
    return client.answer()


def test_each_host_gets_the_urls_of_its_own(server: MockServer, client: RawClient) -> None:
    message = {"chatId": "chat_one", "type": "image", "media": {"id": "media_one", "type": "image"}}
    sandbox = server.sandbox(given={"chats": [{"id": "chat_one"}], "messages": [message]})
    target = f"/sandboxes/{sandbox.id}/v1/messaging/chats/chat_one"
    hosts = ["localhost", "crm.example:8080", "localhost", "crm.example:8080"]
    answers = [_get(client, target, sandbox.secret_key, host).json() for host in hosts]
    urls = [answer["records"][0]["media"]["url"] for answer in answers]

    assert hosts == [urlsplit(url).netloc for url in urls]


def test_a_sandbox_that_is_closed_answers_410_and_is_not_kept(server: MockServer, client: RawClient) -> None:
    sandbox = server.sandbox()
    kept, target, key = (
        weakref.ref(sandbox._hosted.sandbox),
        f"/sandboxes/{sandbox.id}/v1/campaigns",
        sandbox.secret_key,
    )
    before = [_get(client, target, key).status for _ in range(2)]
    sandbox.close()
    server.made.clear()
    del sandbox
    gc.collect()

    assert [200, 200, 410] == [*before, _get(client, target, key).status]
    assert kept() is None


def test_equal_targets_of_two_sandboxes_lead_to_their_own(server: MockServer, client: RawClient) -> None:
    both = [server.sandbox(given={"templates": [{"id": f"template_{number}"}]}) for number in range(2)]
    answers = [
        _get(client, f"/sandboxes/{each.id}/v1/message-templates", each.secret_key).json()["templates"]
        for each in both * 2
    ]

    assert ["template_0", "template_1"] * 2 == [templates[0]["id"] for templates in answers]


def test_a_key_that_is_revoked_is_refused_at_the_next_equal_request(server: MockServer, client: RawClient) -> None:
    sandbox = server.sandbox()
    target, key = f"/sandboxes/{sandbox.id}/v1/campaigns", sandbox.secret_key
    before = [_get(client, target, key).status for _ in range(2)]
    sandbox.at(after="0s").revoke_key()

    assert [200, 200, 401] == [*before, _get(client, target, key).status]


def test_the_journal_has_the_headers_of_each_request(server: MockServer, client: RawClient) -> None:
    sandbox = server.sandbox()
    target, key = f"/sandboxes/{sandbox.id}/v1/campaigns", sandbox.secret_key
    for number in (1, 1, 2, 1):
        _get(client, target, key, more=f"X-Number: {number}\r\n")
    headers = [entry.call.headers for entry in sandbox._hosted.sandbox.journal.exchanges]

    assert ["1", "1", "2", "1"] == [each["x-number"] for each in headers]


def _entries(sandbox: Sandbox) -> list[JournalEntry]:
    return list(sandbox._hosted.sandbox.journal.exchanges)


def test_the_journal_holds_the_call_of_equal_requests_once(server: MockServer, client: RawClient) -> None:
    sandbox = server.sandbox()
    for _ in range(3):
        _get(client, f"/sandboxes/{sandbox.id}/v1/campaigns", sandbox.secret_key)
    entries = _entries(sandbox)

    assert [1, 2, 3] == [entry.n for entry in entries]
    assert 1 == len({id(entry.call) for entry in entries[1:]})


def test_a_repeated_entry_differs_in_its_number_and_its_real_times_alone(server: MockServer) -> None:
    sandbox = server.sandbox()
    sandbox.call("GET", "/v1/campaigns")
    (entry,) = _entries(sandbox)

    assert entry._replace(n=2, monotonic_us=3, process=4) == entry.repeated(2, 3, 4)


def test_equal_requests_are_recorded_as_those_of_a_server_that_remembers_none(
    server: MockServer, client: RawClient
) -> None:
    both = [server.sandbox(seed=1, now="2026-03-01T12:00:00Z", given=TEMPLATE) for _ in range(2)]
    both[1]._hosted.sandbox.runtime.latest_responses = Forgetful()
    for sandbox in both:
        target, key = f"/sandboxes/{sandbox.id}/v1/message-templates", sandbox.secret_key
        for choices in ({}, {"additive-fields": "unknown-fields"}):
            sandbox.choose(choices)
            for query in ("", "", "?platform=chatapp", "", "/template_one", "/template_one", "/template_two"):
                _get(client, target + query, key)
            sandbox.advance("1s")
    recorded = [
        [entry._replace(call=entry.call._replace(headers={}, base_url=""), monotonic_us=None) for entry in entries]
        for entries in map(_entries, both)
    ]

    assert recorded[0] == recorded[1]


def test_an_equal_request_with_the_key_of_another_tenant_is_recorded_as_its_own(
    server: MockServer, client: RawClient
) -> None:
    sandbox = server.sandbox(given={"tenants": [{"id": "tenant_one"}, {"id": "tenant_two"}]})
    target = f"/sandboxes/{sandbox.id}/v1/campaigns"
    state = sandbox._hosted.sandbox
    key = next(key for key, owner in state.keys.items() if owner == ("tenant_one", "secret"))
    other = next(key for key, owner in state.keys.items() if owner == ("tenant_two", "secret"))
    for _ in range(2):
        _get(client, target, key)
    state.keys[key] = state.keys[other]  # as nothing does today: an entry has the tenant of its own call
    _get(client, target, key)

    assert ["tenant_one", "tenant_one", "tenant_two"] == [entry.tenant_id for entry in _entries(sandbox)]


def test_a_call_that_a_rule_may_delay_has_headers_of_its_own_by_which_the_log_finds_it(
    server: MockServer, client: RawClient
) -> None:
    sandbox = server.sandbox()
    target, key = f"/sandboxes/{sandbox.id}/v1/campaigns", sandbox.secret_key
    _get(client, target, key)
    sandbox.on("readCampaign").delay("1s")
    for _ in range(2):
        _get(client, target, key)

    assert 3 == len({id(entry.call.headers) for entry in _entries(sandbox)})


def test_a_call_that_a_rule_has_delayed_is_freed_without_the_garbage_collector(
    server: MockServer, client: RawClient
) -> None:
    sandbox = server.sandbox()
    sandbox.on("listCampaigns").delay("1ms")
    gc.collect()
    gc.disable()
    try:
        for _ in range(5):
            _get(client, f"/sandboxes/{sandbox.id}/v1/campaigns", sandbox.secret_key)
        calls = sum(type(each) is _SocketCall for each in gc.get_objects())
    finally:
        gc.enable()

    assert calls <= 1  # the last one may not have ended yet
