"""One call under a fault by each client, on a socket and in process: its result as a text that can be compared."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import httpx
import requests

from mockserver import Sandbox

SHORT_S, LONG_S = 0.15, 10.0  # of a call that is to be given up; of any other, however busy the machine is

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # without it httpx reads all certificates for each client, for 20 ms


def patience(effect: str) -> float:
    """How many seconds a client waits under this effect: few only where it is about that."""
    return SHORT_S if "beyond patience" in effect else LONG_S


# Every effect on the wire. A wait beyond the client's timeout is named so.
EFFECTS: Mapping[str, Mapping[str, Any]] = {
    "error": {"error": "INTERNAL_ERROR"},
    "error with a wait": {"error": {"code": "RATE_LIMIT_EXCEEDED", "retryAfter": 9}},
    "reply in text": {"reply": {"status": 502, "headers": {"Content-Type": "text/html"}, "body": "<h1>ã</h1>"}},
    "reply in json": {"reply": {"status": 299, "body": {"a": [1, None]}}},
    "reply without a body": {"reply": {"status": 204}},
    "delay": {"delay": 0.02},
    "delay beyond patience": {"delay": 0.3},
    "delay-after": {"delay-after": 0.02},
    "delay-after beyond patience": {"delay-after": 0.3},
    "drop before": {"drop": "before"},
    "drop after": {"drop": "after"},
    "reset before": {"reset": "before"},
    "reset after": {"reset": "after"},
    "truncate": {"truncate": 20},
    "truncate at once": {"truncate": 0},
    "bad-gateway before": {"bad-gateway": "before"},
    "bad-gateway after": {"bad-gateway": "after"},
    "bad-gateway of a named proxy": {"bad-gateway": {"when": "after", "status": 504, "server": "edge <1>"}},
    "bad-gateway cut": {"bad-gateway": "after", "truncate": 20},
    "garble": {"garble": True},
    "dribble": {"dribble": {"chunks": 5, "over": 0.04}},
    "dribble beyond patience": {"dribble": {"chunks": 2, "over": 0.3}},
    "stale": {"stale": True},
    "late and dropped": {"delay-after": 0.02, "drop": "after"},
    "late and cut": {"delay": 0.02, "truncate": 3},
    "garbled and slow": {"garble": True, "dribble": {"chunks": 3, "over": 0.04}},
}

Ask = Callable[[str, str, Any], tuple[int, bytes]]


def outcome(ask: Ask, method: str, path: str, body: Any) -> tuple[Any, ...]:
    """Status and body, or the kinds of the exception and of what it was made from."""
    try:
        return ask(method, path, body)
    except Exception as failure:  # noqa: BLE001 - whatever a client raises is what is compared
        return (type(failure), *(type(each) for each in failure.args if isinstance(each, BaseException)))


def _requests(make: Callable[[], requests.Session], sandbox: Sandbox, wait_s: float) -> Ask:
    def ask(method: str, path: str, body: Any) -> tuple[int, bytes]:
        with make() as session:
            session.trust_env = False
            headers = {"X-API-Key": sandbox.secret_key}
            waits = (LONG_S, wait_s)  # to connect, and to read
            got = session.request(method, sandbox.base_url + path, json=body, headers=headers, timeout=waits)
            return got.status_code, got.content

    return ask


def _httpx(make: Callable[[], httpx.Client], sandbox: Sandbox, wait_s: float) -> Ask:
    def ask(method: str, path: str, body: Any) -> tuple[int, bytes]:
        with make() as client:
            headers = {"X-API-Key": sandbox.secret_key}
            waits = httpx.Timeout(LONG_S, read=wait_s)
            got = client.request(method, sandbox.base_url + path, json=body, headers=headers, timeout=waits)
            return got.status_code, got.content

    return ask


def _httpx_async(make: Callable[[], httpx.AsyncClient], sandbox: Sandbox, wait_s: float) -> Ask:
    async def fetch(method: str, path: str, body: Any) -> tuple[int, bytes]:
        async with make() as client:
            headers = {"X-API-Key": sandbox.secret_key}
            waits = httpx.Timeout(LONG_S, read=wait_s)
            got = await client.request(method, sandbox.base_url + path, json=body, headers=headers, timeout=waits)
            return got.status_code, got.content

    return lambda *asked: asyncio.run(fetch(*asked))


def _http_client(sandbox: Sandbox, wait_s: float) -> Ask:
    import json

    def ask(method: str, path: str, body: Any) -> tuple[int, bytes]:
        parts = urlsplit(sandbox.base_url)
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=wait_s)
        headers = {"X-API-Key": sandbox.secret_key, "Content-Type": "application/json"}
        try:
            connection.request(method, parts.path + path, json.dumps(body) if body else None, headers)
            got = connection.getresponse()
            return got.status, got.read()
        finally:
            connection.close()

    return ask


def _call(sandbox: Sandbox, wait_s: float) -> Ask:
    def ask(method: str, path: str, body: Any) -> tuple[int, bytes]:
        got = sandbox.call(method, path, json=body, timeout=wait_s)
        return got.status, got.body

    return ask


def _plain() -> httpx.Client:
    return httpx.Client(trust_env=False, verify=NO_TLS)


def _plain_async() -> httpx.AsyncClient:
    return httpx.AsyncClient(trust_env=False, verify=NO_TLS)


Way = Callable[[Sandbox, float], Ask]
# Each client twice: over the socket, and in process.
PAIRS: Mapping[str, tuple[Way, Way]] = {
    "requests": (
        lambda box, wait_s: _requests(requests.Session, box, wait_s),
        lambda box, wait_s: _requests(box.requests_session, box, wait_s),
    ),
    "httpx": (
        lambda box, wait_s: _httpx(_plain, box, wait_s),
        lambda box, wait_s: _httpx(box.httpx_client, box, wait_s),
    ),
    "httpx, async": (
        lambda box, wait_s: _httpx_async(_plain_async, box, wait_s),
        lambda box, wait_s: _httpx_async(box.aio.httpx_client, box, wait_s),
    ),
    "http.client and Sandbox.call": (_http_client, _call),
}
