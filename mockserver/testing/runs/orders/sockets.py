"""Ports of one sandbox, one per client: a request at a client's port is a step of this client."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable
from typing import Any

from mockserver.contract.text import json_value
from mockserver.server.hosting.host import HostedSandbox
from mockserver.server.http1.messages import Request, Response, ResponseOrDisconnect
from mockserver.server.http1.server import Server
from mockserver.server.socket_handler import SocketHandler, error_body
from mockserver.testing.backend import LocalBackend
from mockserver.testing.runs.orders.gate import Gate, SocketAnswered, Waiting
from mockserver.testing.runs.orders.handles import end_of_sleep

_ADVANCE = "/_mock/clock/advance"


def gated_server(hosted: HostedSandbox, gate: Gate, actor: str) -> Server:
    """Return a server with a port of its own for one client, not started yet."""
    handler = _GatedHandler(hosted, gate, actor)
    return Server(handler, explain=hosted.host.response_options.explain, error_body=error_body)


class _GatedHandler(SocketHandler):
    """Responds once the step of a request is released; what only reads the control plane is no step."""

    def __init__(self, hosted: HostedSandbox, gate: Gate, actor: str) -> None:
        super().__init__(hosted.host, hosted)
        self._hosted, self._gate, self._actor = hosted, gate, actor
        self._backend = LocalBackend(hosted, lambda: None)

    def respond(self, incoming: Request) -> ResponseOrDisconnect | Awaitable[ResponseOrDisconnect]:
        if incoming.target.startswith("/_mock/") and incoming.method in ("GET", "HEAD", "OPTIONS"):
            self._gate.has_looked = True
            return super().respond(incoming)
        return self._respond_once_released(incoming)

    async def _respond_once_released(self, incoming: Request) -> ResponseOrDisconnect:
        waiting = self._waiting(incoming)
        await self._gate.enter_from_socket(waiting)
        if waiting.until is not None and self._gate.ended is None:  # the run has advanced the clock
            self._gate.mail.put(SocketAnswered(waiting.actor))
            advanced = {"now": self._backend.run("readClock")["now"], "fired": waiting.fired}
            return Response(200, (("Content-Type", "application/json"),), json.dumps(advanced).encode())
        try:
            answer: Any = super().respond(incoming)
            response: ResponseOrDisconnect = await answer if inspect.isawaitable(answer) else answer
            return response
        finally:
            self._gate.mail.put(SocketAnswered(waiting.actor))

    def _waiting(self, incoming: Request) -> Waiting:
        """Return the step of a request: a call, or the sleep that an advance of the clock is."""
        body = b"" if incoming.is_spooled else incoming.body() or b""
        arguments: Any = json_value(body) if incoming.target == _ADVANCE else None
        until = end_of_sleep(self._hosted, arguments) if isinstance(arguments, dict) else None
        return Waiting(
            actor=self._actor,
            waits="call" if until is None else "sleep",
            label=f"{incoming.method} {incoming.target.partition('?')[0]}",
            order=(incoming.method, incoming.target, body),
            until=until,
            is_relative=until is not None and "by" in arguments,
        )
