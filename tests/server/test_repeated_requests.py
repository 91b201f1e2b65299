"""Requests that a client sends again and again over a socket: each gets the answer of its own instant."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from mockserver import MockServer
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
