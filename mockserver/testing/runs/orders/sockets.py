"""Ports of one sandbox, one per client: a request at a client's port is a step of this client."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from typing import Any

from mockserver.server.hosting.host import HostedSandbox
from mockserver.server.http1.messages import Request, ResponseOrDisconnect
from mockserver.server.http1.server import Server
from mockserver.server.socket_handler import SocketHandler, error_body
from mockserver.testing.runs.orders.gate import Gate, SocketAnswered, Waiting


def gated_server(hosted: HostedSandbox, gate: Gate, actor: str) -> Server:
    """Return a server with a port of its own for one client, not started yet."""
    handler = _GatedHandler(hosted, gate, actor)
    return Server(handler, explain=hosted.host.response_options.explain, error_body=error_body)


class _GatedHandler(SocketHandler):
    """Responds once the step of a request is released; what only reads the control plane is no step."""

    def __init__(self, hosted: HostedSandbox, gate: Gate, actor: str) -> None:
        super().__init__(hosted.host, hosted)
        self._gate, self._actor = gate, actor

    def respond(self, incoming: Request) -> ResponseOrDisconnect | Awaitable[ResponseOrDisconnect]:
        if incoming.target.startswith("/_mock/") and incoming.method in ("GET", "HEAD", "OPTIONS"):
            self._gate.has_looked = True
            return super().respond(incoming)
        return self._respond_once_released(incoming)

    async def _respond_once_released(self, incoming: Request) -> ResponseOrDisconnect:
        waiting = self._waiting(incoming)
        await self._gate.enter_from_socket(waiting)
        try:
            answer: Any = super().respond(incoming)
            response: ResponseOrDisconnect = await answer if inspect.isawaitable(answer) else answer
            return response
        finally:
            self._gate.mail.put(SocketAnswered(waiting.actor))

    def _waiting(self, incoming: Request) -> Waiting:
        body = b"" if incoming.is_spooled else incoming.body() or b""
        return Waiting(
            actor=self._actor,
            waits="call",
            label=f"{incoming.method} {incoming.target.partition('?')[0]}",
            order=(incoming.method, incoming.target, body),
        )
