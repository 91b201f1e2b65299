"""Handles of one sandbox, and ports of it: whatever a client does through its own is a step of this client."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from mockserver._json import JSON
from mockserver.contract.durations import parse_duration
from mockserver.core.instants import Instant, parse
from mockserver.server.hosting.host import IN_PROCESS_ORIGIN, HostedSandbox
from mockserver.server.http1.messages import Request, ResponseOrDisconnect
from mockserver.server.http1.server import Server
from mockserver.server.socket_handler import SocketHandler, error_body
from mockserver.server.webhooks.local_receivers import ReceiverTarget
from mockserver.testing.backend import LocalBackend, is_recorded
from mockserver.testing.receivers import Receiver
from mockserver.testing.runs.orders.gate import Gate, SocketAnswered, T, Waiting
from mockserver.testing.sandbox import Sandbox
from mockserver.testing.settings import Settings
from mockserver.testing.transports.in_process import ClientRoute, Response


def handle(
    hosted: HostedSandbox, settings: Settings, gate: Gate, actor: str, open_port: Callable[[str], str]
) -> Sandbox:
    """
    Return a client's own handle of a sandbox.

    Args:
        hosted: The sandbox.
        settings: Those from which it was made.
        gate: Of the run.
        actor: The client's name.
        open_port: Returns the address of the client's own port, and opens it if it is not open.
    """
    return Sandbox(_ActorBackend(hosted, gate, actor, open_port), settings)


class _ActorBackend(LocalBackend):
    def __init__(self, hosted: HostedSandbox, gate: Gate, actor: str, open_port: Callable[[str], str]) -> None:
        super().__init__(hosted, lambda: None)
        self.gate, self.actor, self._open_port = gate, actor, open_port
        self._own_url: str | None = None  # of the client's own port, once it has been read

    def base_url(self) -> str:
        self._own_url = self._open_port(self.actor)
        return self._own_url

    def _step(self, call: Callable[[], T], label: str = "", order: tuple[Any, ...] = ()) -> T:
        return self.gate.step(self.actor, call, label, order)

    def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes, timeout_s: float | None
    ) -> Response:
        call = partial(super().send, method, path, headers, body, timeout_s)
        return self._step(call, order=(method, path, body))

    def client_route(self) -> ClientRoute:
        route = super().client_route()
        hosted = self.hosted

        def send(
            method: str,
            origin: str,
            target: str,
            headers: dict[str, str],
            body: bytes,
            timeout_s: float | None = None,
        ) -> Any:
            if origin == self._own_url:  # the sandbox is at the root of the client's own port
                origin = IN_PROCESS_ORIGIN
                target = hosted.prefix + target
            call = partial(route.send, method, origin, target, headers, body, timeout_s)
            return self._step(call, order=(method, target, body))

        return ClientRoute(send=send, base_url=route.base_url, may_block=lambda: True)

    def run(self, command: Any, /, **arguments: Any) -> JSON:
        call = partial(super().run, command, **arguments)
        until = _end_of_sleep(self.hosted, arguments) if command == "advanceClock" else None
        if until is not None:
            waiting = Waiting(
                actor=self.actor, waits="sleep", label="sleep", until=until, is_relative="by" in arguments
            )
            self.gate.enter(waiting)  # the run advances the clock
            return {"now": super().run("readClock")["now"], "fired": waiting.fired}
        if not is_recorded(command):
            self.gate.has_looked = True
            return call()
        return self._step(call, command, (command, repr(arguments)))

    def sleep(self, seconds: float) -> None:
        self.run("advanceClock", by=seconds)

    def apply(self, document: Mapping[str, Any]) -> JSON:
        return self._step(partial(super().apply, document), "apply", ("apply",))

    def register_receiver(
        self, target: ReceiverTarget, tenant_id: str, events: Any, secret: str | None, path: str
    ) -> Receiver:
        call = partial(super().register_receiver, target, tenant_id, events, secret, path)
        return self._step(call, "createWebhook", ("createWebhook",))

    def visit(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Response:
        call = partial(super().visit, method, url, headers, body)
        return self._step(call, "visit", (method, url))


def _end_of_sleep(hosted: HostedSandbox, arguments: Mapping[str, Any]) -> Instant | None:
    """Return the instant to which an advance of the clock leads; None if that depends on timers, or if it is refused."""
    now = hosted.sandbox.now
    if "by" in arguments:
        by = parse_duration(arguments["by"])
        return None if by is None else now + by
    parsed = parse(str(arguments.get("to")))
    return parsed[0] if parsed is not None and parsed[0] >= now else None


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
