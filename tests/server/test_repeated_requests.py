"""Requests that a client sends again and again over a socket: each gets the answer of its own instant."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from mockserver import MockServer
from mockserver.server.socket_handler import _SocketCall
from tests.server.rawclient import Answer, RawClient


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
    hosts = ["localhost", "127.0.0.2:8080", "localhost", "127.0.0.2:8080"]
    answers = [_get(client, target, sandbox.secret_key, host).json() for host in hosts]
    urls = [answer["records"][0]["media"]["url"] for answer in answers]

    assert hosts == [urlsplit(url).netloc for url in urls]


def test_a_sandbox_that_is_closed_answers_410(server: MockServer, client: RawClient) -> None:
    sandbox = server.sandbox()
    target, key = f"/sandboxes/{sandbox.id}/v1/campaigns", sandbox.secret_key
    before = [_get(client, target, key).status for _ in range(2)]
    sandbox.close()

    assert [200, 200, 410] == [*before, _get(client, target, key).status]


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
