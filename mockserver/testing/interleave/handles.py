"""Handles of one sandbox: whatever a client does through its own is a step of this client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ParamSpec, TypeVar

from mockserver._json import JSON
from mockserver.contract.durations import parse_duration
from mockserver.core.instants import Instant, parse
from mockserver.core.scheduler import next_due
from mockserver.server.hosting.host import IN_PROCESS_ORIGIN, HostedSandbox
from mockserver.server.webhooks.local_receivers import ReceiverTarget
from mockserver.testing.backend import LocalBackend, RegisteredReceiver, is_recorded
from mockserver.testing.interleave.gate import IDLE, Gate
from mockserver.testing.sandbox import Aio, Sandbox
from mockserver.testing.settings import Settings
from mockserver.testing.transports.in_process import ClientRoute, Response

P = ParamSpec("P")
R = TypeVar("R")


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
    sandbox = Sandbox(_ActorBackend(hosted, gate, actor, open_port), settings)
    sandbox._new_aio = partial(_ActorAio, gate=gate, actor=actor)
    return sandbox


class CountedBackend(LocalBackend):
    """
    A backend that counts how often the state of its sandbox is reached through it.

    Attributes:
        uses: Their number; those of a client within a step do not count.
    """

    uses = 0

    @property
    def hosted(self) -> HostedSandbox:
        """The sandbox."""
        self.uses += 1
        hosted: HostedSandbox = self.__dict__["hosted"]
        return hosted

    @hosted.setter
    def hosted(self, hosted: HostedSandbox) -> None:
        self.__dict__["hosted"] = hosted


class _ActorBackend(CountedBackend):
    def __init__(self, hosted: HostedSandbox, gate: Gate, actor: str, open_port: Callable[[str], str]) -> None:
        super().__init__(hosted, lambda is_in_process: None)
        self._hosted, self._gate, self._actor, self._open_port = hosted, gate, actor, open_port
        self._own_url: str | None = None  # of the client's own port, once it has been read

    # No call of the API changes these.

    @property
    def sandbox_id(self) -> str:
        return self._hosted.id

    @property
    def tenant_id(self) -> str:
        return self._hosted.tenant.id

    @property
    def secret_key(self) -> str:
        return self._hosted.tenant.secret_key

    @property
    def public_key(self) -> str:
        return self._hosted.tenant.public_key

    def base_url(self) -> str:
        self._own_url = self._open_port(self._actor)
        return self._own_url

    def _step(
        self,
        call: Callable[[], Any],
        label: str = "",
        order: tuple[Any, ...] = (),
        request: tuple[Any, ...] | None = None,
    ) -> Any:
        def uncounted() -> Any:
            uses = self.uses
            try:
                return call()
            finally:
                self.uses = uses

        return self._gate.step(self._actor, uncounted, label, order, request)

    def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes, timeout_s: float | None
    ) -> Response:
        call = partial(super().send, method, path, headers, body, timeout_s)
        request = (method, path, headers, body, timeout_s)
        response: Response = self._step(call, order=(method, path, body), request=request)
        return response._replace(headers=dict(response.headers))  # the client may change them

    def client_route(self) -> ClientRoute:
        uses = self.uses
        route = super().client_route()
        self.uses = uses
        hosted = self._hosted

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
            request = (method, target.removeprefix(hosted.prefix), headers, body, timeout_s)
            return self._step(call, order=(method, target, body), request=request)

        return route._replace(send=send, may_block=lambda: True, in_thread=self._gate.for_asyncio(self._actor))

    def run(self, command: Any, /, **arguments: Any) -> JSON:
        call = partial(super().run, command, **arguments)
        if command == "advanceClock":
            until = end_of_sleep(self.hosted, arguments)
            return self._sleep(until) if until is not None else call()
        if not is_recorded(command):
            return call()
        view: JSON = self._step(call, command, (command, repr(arguments)))
        return view

    def sleep(self, seconds: float) -> None:
        self.run("advanceClock", by=seconds)

    def _sleep(self, until: Instant) -> JSON:
        waiting = self._gate.enter(self._actor, "sleep", "sleep", until=until)
        return {"now": super().run("readClock")["now"], "fired": waiting.fired}

    def apply(self, document: Mapping[str, Any]) -> JSON:
        view: JSON = self._step(partial(super().apply, document), "apply", ("apply",))
        return view

    def register_receiver(
        self, target: ReceiverTarget, tenant_id: str, events: Any, secret: str | None, path: str
    ) -> RegisteredReceiver:
        call = partial(super().register_receiver, target, tenant_id, events, secret, path)
        registered: RegisteredReceiver = self._step(call, "createWebhook", ("createWebhook",))
        return registered

    def _visit(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        call = partial(super()._visit, method, url, headers, body)
        page: tuple[int, Mapping[str, str], bytes] = self._step(call, "visit", (method, url))
        return page


def end_of_sleep(hosted: HostedSandbox, arguments: Mapping[str, Any]) -> Instant | None:
    """Return the instant to which an advance of the clock leads, IDLE for the last timer's; None for one that is refused."""
    state = hosted.sandbox
    if arguments.get("until") == "idle":
        return IDLE
    if arguments.get("to") == "next":
        return max(state.now, next_due(state) or state.now)
    if "to" in arguments:
        parsed = parse(str(arguments["to"]))
        return parsed[0] if parsed is not None and parsed[0] >= state.now else None
    by = parse_duration(arguments.get("by"))
    return None if by is None else state.now + by


class _ActorAio(Aio):
    def __init__(self, sandbox: Sandbox, gate: Gate, actor: str) -> None:
        super().__init__(sandbox)
        self._gate, self._actor = gate, actor

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        result: R = await self._gate.in_thread(self._actor, lambda: function(*args, **kwargs))
        return result
