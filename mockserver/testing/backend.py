"""
Access to a sandbox in this process: commands, calls, waits and forced moves.

What every part of the Python face holds: the hosted sandbox, and a way to run a command on it.

Calls in process: one at a time, or through a client library.

Waiting for a condition on a sandbox without sleeping: whoever waits is told after each call and each command.

The time limit is real and holds also where the process's clock is frozen: it is kept by a lock's own timeout.

Forced moves: what the end user, the provider or the service does, at once and by hand.
"""

from __future__ import annotations

import json as jsonlib
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mockserver.core.instants import SECOND
from mockserver.scenario.problems import ScenarioError
from mockserver.server import front_controller
from mockserver.server.api.exchange import NO_TIMEOUT, VirtualWait
from mockserver.server.api.request import HttpRequest
from mockserver.server.api.response import NoResponse
from mockserver.server.control import records, routes
from mockserver.server.errors import ControlError
from mockserver.server.hosting.host import HostedSandbox
from mockserver.testing.transports import in_process
from mockserver.testing.transports.in_process import Response

if TYPE_CHECKING:
    import flask
    import httpx
    import requests


JSON = dict[str, Any]


class Holding:
    """A sandbox in somebody's hands; what it can do stands in the classes that build on this one."""

    def __init__(self, hosted: HostedSandbox) -> None:
        self._hosted = hosted

    def _command(self, command: Any, **arguments: Any) -> JSON:
        """Run a command as the control plane does; what it refuses is a ValueError that says how to mend the call."""
        __tracebackhide__ = True
        try:
            answer: JSON = routes.run_command(self._hosted, command, arguments)
        except ControlError as refusal:
            if refusal.problems and refusal.code == "MOCK_BAD_SCENARIO":
                raise ScenarioError(refusal.problems) from None
            raise ValueError(refusal.message) from None
        return answer


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
    ) -> Response:
        """
        One call in process; `key` is the secret key where it is left out, "" sends none; `json` becomes the body.

        A scripted wait beyond `timeout` seconds is a TimeoutError; an answer that never comes or breaks off is the
        exception of the standard library: RemoteDisconnected, ConnectionResetError, IncompleteRead.
        """
        sent, body = prepared(self._hosted.tenant.secret_key, key, json, body, headers)
        hosted = self._hosted
        request = HttpRequest.create(method, path, sent, body, hosted.base_url)
        door = NO_TIMEOUT if timeout is None else VirtualWait(round(timeout * SECOND))
        answer, _ = front_controller.handle_request(hosted.host, request, hosted, door)
        if isinstance(answer, NoResponse):
            raise answer.as_error()
        came = answer.body if answer.transmission is None else in_process.complete_body(answer)
        return Response(answer.status, {name.lower(): value for name, value in answer.headers}, came)

    def requests_session(self) -> requests.Session:
        """A requests session that reaches this mock in process, by full urls."""
        from mockserver.testing.transports import requests_adapter

        return requests_adapter.requests_session(self._hosted)

    def httpx_client(self) -> httpx.Client:
        """An httpx client on this sandbox's base url, in process."""
        from mockserver.testing.transports import httpx_transport

        return httpx_transport.httpx_client(self._hosted)

    def httpx_async_client(self) -> httpx.AsyncClient:
        """The same for asyncio."""
        from mockserver.testing.transports import httpx_transport

        return httpx_transport.httpx_async_client(self._hosted)

    @property
    def app(self) -> flask.Flask:
        """The Flask application over this sandbox: `test_client()` works, and it mounts in other WSGI programs."""
        from mockserver.server import app

        return app.build(self._hosted.host, self._hosted)


_POLL_S = 0.02  # of a sandbox elsewhere, which tells nobody here


def wait_for_change(hosted: HostedSandbox, holds: Callable[[], bool], timeout_s: float) -> bool:
    """True once the condition holds; False when it does not within so many real seconds."""
    stirred = threading.Event()
    with hosted.sandbox.lock:
        hosted.listeners += (stirred.set,)
    try:
        return _wait(stirred, holds, timeout_s, None)
    finally:
        with hosted.sandbox.lock:
            hosted.listeners = tuple(each for each in hosted.listeners if each != stirred.set)


def poll(holds: Callable[[], bool], timeout_s: float) -> bool:
    """The same of a sandbox that has to be asked."""
    return _wait(threading.Event(), holds, timeout_s, _POLL_S)


def _wait(stirred: threading.Event, holds: Callable[[], bool], timeout_s: float, poll_s: float | None) -> bool:
    if holds():
        return True
    over = threading.Event()

    def end() -> None:
        over.set()
        stirred.set()

    timer = threading.Timer(timeout_s, end)
    timer.daemon = True
    timer.start()
    try:
        while True:
            is_over = over.is_set()
            stirred.clear()
            if holds():
                return True
            if is_over:
                return False
            if not over.is_set():
                stirred.wait(poll_s)
    finally:
        timer.cancel()


class Moves(Holding):
    """What can be made happen to sessions and campaigns."""

    def complete_session(self, session_id: str, *, phone: str | None = None, name: str | None = None) -> JSON:
        """The end user finishes the flow; answers the session as it is then read."""
        given = {key: value for key, value in (("phone", phone), ("name", name)) if value is not None}
        return self._command(records.complete_session, sessionId=session_id, **given)

    def fail_session(self, session_id: str, *, reason: str = "token_exchange_failed") -> JSON:
        """The connection fails for a documented reason."""
        return self._command(records.fail_session, sessionId=session_id, reason=reason)

    def cancel_session(self, session_id: str) -> JSON:
        """The end user cancels the flow."""
        return self._command(records.cancel_session, sessionId=session_id)

    def expire_session(self, session_id: str) -> JSON:
        """The session expires now, also before its deadline."""
        return self._command(records.expire_session, sessionId=session_id)

    def fail_campaign(self, campaign_id: str) -> JSON:
        """A running campaign meets an unrecoverable error."""
        return self._command(records.fail_campaign, id=campaign_id)
