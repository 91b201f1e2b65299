"""Calls in process: one at a time, or through a client library."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mockserver.core.instants import SECOND
from mockserver.edge import front
from mockserver.edge.doors import PATIENT, InProcess
from mockserver.edge.gateway import Wire, body_limit_bytes
from mockserver.testing import transports
from mockserver.testing.holding import Holding
from mockserver.testing.transports import Reply

if TYPE_CHECKING:
    import flask
    import httpx
    import requests


def prepared(
    secret_key: str, key: str | None, json: Any, body: bytes, headers: Mapping[str, str] | None
) -> tuple[dict[str, str], bytes]:
    """Headers and body of a call: the secret key unless another or none is wanted, and the JSON value as its text."""
    sent = {name.lower(): value for name, value in (headers or {}).items()}
    if key != "":
        sent.setdefault("x-api-key", key or secret_key)
    if json is not None:
        body = jsonlib.dumps(json).encode()
        sent.setdefault("content-type", "application/json")
    return sent, body


class Calling(Holding):
    """How a sandbox is called without a socket."""

    def call(
        self,
        method: str,
        path: str,
        *,
        key: str | None = None,
        json: Any = None,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Reply:
        """
        One call in process; `key` is the secret key where it is left out, "" sends none; `json` becomes the body.

        A scripted wait beyond `timeout` seconds is a TimeoutError; an answer that never comes or breaks off is the
        exception of the standard library: RemoteDisconnected, ConnectionResetError, IncompleteRead.
        """
        sent, body = prepared(self._hosted.tenant.secret_key, key, json, body, headers)
        hosted = self._hosted
        read = body if not body or len(body) <= body_limit_bytes(path) else None
        wire = Wire(method, path, sent, read, hosted.base_url)
        door = PATIENT if timeout is None else InProcess(round(timeout * SECOND))
        answer = front.respond(hosted.host, wire, hosted, door)
        came = answer.body if answer.play is None else transports.whole(answer)
        return Reply(answer.status, {name.lower(): value for name, value in answer.headers}, came)

    def requests_session(self) -> requests.Session:
        """A requests session that reaches this mock in process, by full urls."""
        return transports.requests_session(self._hosted)

    def httpx_client(self) -> httpx.Client:
        """An httpx client on this sandbox's base url, in process."""
        return transports.httpx_client(self._hosted)

    def httpx_async_client(self) -> httpx.AsyncClient:
        """The same for asyncio."""
        return transports.httpx_async_client(self._hosted)

    @property
    def app(self) -> flask.Flask:
        """The Flask application over this sandbox: `test_client()` works, and it mounts in other WSGI programs."""
        from mockserver.edge import app

        return app.build(self._hosted.host, self._hosted)
