"""
The ways of access to one sandbox: in process, through each client library, and over a socket, all called alike.

An opener makes an `Access` of a sandbox. `BOTH` are the two that take any request as it is, `ALL` those that users have.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import requests
from werkzeug.exceptions import NotFound
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.test import Client

from mockserver import Sandbox
from mockserver.contract.errors import ERRORS
from tests.operations.world import refused
from tests.server.rawclient import RawClient

MOUNT = "/gateways/mock"
Headers = Mapping[str, str] | Sequence[tuple[str, str]]


class Answer(NamedTuple):
    """An answer as a client has it; header names are lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Access(NamedTuple):
    """
    How to request a path of the sandbox: method, path, headers, body.

    `base_url` is what the sandbox's own urls begin with.
    """

    base_url: str
    ask: Callable[[str, str, Headers, bytes], Answer]


Opener = Callable[[Sandbox], Access]


def in_process(sandbox: Sandbox) -> Access:
    """`Sandbox.call`; headers of one name are joined with a comma, as HTTP has it."""

    def ask(method: str, path: str, headers: Headers, body: bytes) -> Answer:
        joined: dict[str, str] = {}
        for name, value in _pairs(headers):
            joined[name.lower()] = f"{joined[name.lower()]},{value}" if name.lower() in joined else value
        return _answer(*sandbox.call(method, path, key="", headers=joined, body=body))

    return Access(in_process_url(sandbox), ask)


def in_process_url(sandbox: Sandbox) -> str:
    """What the sandbox's urls begin with in an answer to a call in process."""
    return f"http://mockserver.test/sandboxes/{sandbox.id}"


def over_socket(sandbox: Sandbox) -> Access:
    """A connection for each request, byte by byte as it is given."""
    base = urlsplit(sandbox.base_url)
    assert base.port is not None
    port = base.port

    def ask(method: str, path: str, headers: Headers, body: bytes) -> Answer:
        with RawClient(port) as client:
            lines = [f"{method} {base.path}{path} HTTP/1.1", *(f"{name}: {value}" for name, value in _pairs(headers))]
            client.send(*lines, f"Content-Length: {len(body)}", body=body)
            answer = client.answer(method)
        return Answer(answer.status, answer.headers, answer.body)

    return Access(sandbox.base_url, ask)


def by_requests(sandbox: Sandbox) -> Access:
    return through(sandbox.requests_session(), in_process_url(sandbox))


def by_socket(sandbox: Sandbox) -> Access:
    """`requests` over a socket."""
    session = requests.Session()
    session.trust_env = False
    session.headers["Connection"] = "close"  # so that no socket is left open where nothing closes the session
    return through(session, sandbox.base_url)


def through(session: requests.Session, base_url: str) -> Access:
    def ask(method: str, path: str, headers: Headers, body: bytes) -> Answer:
        answer = session.request(
            method, base_url + path, headers=dict(headers), data=body or None, timeout=10, allow_redirects=False
        )
        return _answer(answer.status_code, answer.headers, answer.content)

    return Access(base_url, ask)


def by_httpx(sandbox: Sandbox) -> Access:
    client = sandbox.httpx_client()

    def ask(method: str, path: str, headers: Headers, body: bytes) -> Answer:
        answer = client.request(method, path, headers=dict(headers), content=body)
        return _answer(answer.status_code, answer.headers, answer.content)

    return Access(in_process_url(sandbox), ask)


def by_httpx_async(sandbox: Sandbox) -> Access:
    async def fetch(method: str, path: str, headers: Headers, body: bytes) -> Answer:
        async with sandbox.aio.httpx_client() as client:
            answer = await client.request(method, path, headers=dict(headers), content=body)
            return _answer(answer.status_code, answer.headers, answer.content)

    return Access(in_process_url(sandbox), lambda *request: asyncio.run(fetch(*request)))


def by_test_client(sandbox: Sandbox) -> Access:
    return by_wsgi(sandbox.admin.app.test_client(), "")


def by_mount(sandbox: Sandbox) -> Access:
    return mounted(sandbox.admin.app)


def mounted(app: Any) -> Access:
    """The application under a prefix of another program."""
    return by_wsgi(Client(DispatcherMiddleware(NotFound(), {MOUNT: app})), MOUNT)


def by_wsgi(client: Client, prefix: str) -> Access:
    def ask(method: str, path: str, headers: Headers, body: bytes) -> Answer:
        answer = client.open(prefix + path, method=method, headers=dict(headers), data=body)
        return _answer(answer.status_code, answer.headers, answer.get_data())

    return Access("http://localhost" + prefix, ask)


def _pairs(headers: Headers) -> Sequence[tuple[str, str]]:
    return list(headers.items()) if isinstance(headers, Mapping) else headers


def _answer(status: int, headers: Any, body: bytes) -> Answer:
    return Answer(status, {name.lower(): value for name, value in dict(headers).items()}, body)


BOTH: Mapping[str, Opener] = {"in process": in_process, "socket": over_socket}
ALL: Mapping[str, Opener] = {
    "Sandbox.call": in_process,
    "requests_session": by_requests,
    "httpx_client": by_httpx,
    "httpx_async_client": by_httpx_async,
    "app.test_client": by_test_client,
    "mounted app": by_mount,
    "socket": by_socket,
}


def verdict(answer: Answer) -> tuple[int, str]:
    """Return the status and code of a refusal with the documented body; the catalogue has the pair."""
    status, code = refused(answer)
    assert ERRORS[code].status == status
    return status, code
