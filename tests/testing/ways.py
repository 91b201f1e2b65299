"""The ways into one sandbox, each as a function from a request to its plain answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import requests
from werkzeug.exceptions import NotFound
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.test import Client

from mockserver import Sandbox

MOUNT = "/gateways/mock"
Headers = Mapping[str, str]


class Plain(NamedTuple):
    """An answer as a client has it; header names are lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class Way(NamedTuple):
    """A way in: what the sandbox's own urls begin with, and how to ask for a path below that."""

    base_url: str
    ask: Callable[[str, str, Headers, bytes], Plain]


def by_call(sandbox: Sandbox) -> Way:
    def ask(method: str, path: str, headers: Headers, body: bytes) -> Plain:
        return plain(*sandbox.call(method, path, key="", headers=headers, body=body))

    return Way(sandbox.base_url, ask)


def by_requests(sandbox: Sandbox) -> Way:
    return through(sandbox.requests_session(), sandbox.base_url)


def by_socket(sandbox: Sandbox) -> Way:
    session = requests.Session()
    session.trust_env = False
    session.headers["Connection"] = "close"  # so that no socket is left open where nothing closes the session
    return through(session, sandbox.base_url)


def through(session: requests.Session, base_url: str) -> Way:
    def ask(method: str, path: str, headers: Headers, body: bytes) -> Plain:
        answer = session.request(
            method, base_url + path, headers=dict(headers), data=body or None, timeout=10, allow_redirects=False
        )
        return plain(answer.status_code, answer.headers, answer.content)

    return Way(base_url, ask)


def by_httpx(sandbox: Sandbox) -> Way:
    base_url = sandbox.base_url
    client = sandbox.httpx_client()

    def ask(method: str, path: str, headers: Headers, body: bytes) -> Plain:
        answer = client.request(method, path, headers=dict(headers), content=body)
        return plain(answer.status_code, answer.headers, answer.content)

    return Way(base_url, ask)


def by_httpx_async(sandbox: Sandbox) -> Way:
    base_url = sandbox.base_url

    async def fetch(method: str, path: str, headers: Headers, body: bytes) -> Plain:
        async with sandbox.httpx_async_client() as client:
            answer = await client.request(method, path, headers=dict(headers), content=body)
            return plain(answer.status_code, answer.headers, answer.content)

    return Way(base_url, lambda *request: asyncio.run(fetch(*request)))


def by_test_client(sandbox: Sandbox) -> Way:
    return by_wsgi(sandbox.app.test_client(), "")


def by_mount(sandbox: Sandbox) -> Way:
    return mounted(sandbox.app)


def mounted(app: Any) -> Way:
    """The application under a prefix of another program."""
    return by_wsgi(Client(DispatcherMiddleware(NotFound(), {MOUNT: app})), MOUNT)


def by_wsgi(client: Client, prefix: str) -> Way:
    def ask(method: str, path: str, headers: Headers, body: bytes) -> Plain:
        answer = client.open(prefix + path, method=method, headers=dict(headers), data=body)
        return plain(answer.status_code, answer.headers, answer.get_data())

    return Way("http://localhost" + prefix, ask)


def plain(status: int, headers: Any, body: bytes) -> Plain:
    return Plain(status, {name.lower(): value for name, value in dict(headers).items()}, body)


WAYS: Mapping[str, Callable[[Sandbox], Way]] = {
    "Sandbox.call": by_call,
    "requests_session": by_requests,
    "httpx_client": by_httpx,
    "httpx_async_client": by_httpx_async,
    "app.test_client": by_test_client,
    "mounted app": by_mount,
    "socket": by_socket,
}
