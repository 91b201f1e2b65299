"""Starts the code of actors: clients as threads or as tasks of one loop, deliveries as threads, and ports of clients."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mockserver.server.hosting.host import HostedSandbox
from mockserver.testing.runs.orders.actors import Actor
from mockserver.testing.runs.orders.client_loop import ClientLoop
from mockserver.testing.runs.orders.gate import DELIVERING, ActorEnd, Gate
from mockserver.testing.runs.orders.sockets import gated_server

if TYPE_CHECKING:
    from mockserver.server.http1.server import Server

_JOIN_S: Final = 0.5


class ActorThreads:
    """
    The threads of one run.

    Lifetime: from before the first client's start until `close`.

    Args:
        hosted: The sandbox.
        gate: Of the run.

    Attributes:
        foreign: Those that ran before.
        loop: Of the clients that are coroutines; None while there is none.
    """

    def __init__(self, hosted: HostedSandbox, gate: Gate) -> None:
        self.foreign = set(threading.enumerate())
        self.loop: ClientLoop | None = None
        self._hosted, self._gate = hosted, gate
        self._servers: dict[str, Server] = {}

    def start(self, actor: Actor, function: Callable[[], Any]) -> None:
        """Run a client, or a delivery; what returns a coroutine goes on as a task."""

        def run() -> None:
            raised: BaseException | None = None
            try:
                result = function()
                if inspect.iscoroutine(result):
                    self._start_task(actor, result)
                    return
            except BaseException as failure:  # noqa: BLE001 - the way in which it ends is judged
                raised = failure
            self._gate.mail.put(ActorEnd(actor.name, raised))

        actor.thread = threading.Thread(target=run, name=f"interleave {actor.name}", daemon=True)
        actor.thread.start()

    def start_delivery(self, actor: Actor, send: Callable[[], None]) -> None:
        """Run a delivery: what its receiver calls are steps of its own."""
        self.start(actor, partial(_deliver, actor.name, send))

    def port(self, name: str) -> str:
        """Return the address of a client's own port, and open it if it is not open."""
        if name not in self._servers:
            self._servers[name] = gated_server(self._hosted, self._gate, name)
            self._servers[name].start()
        return self._servers[name].url

    def close(self, actors: Iterable[Actor]) -> None:
        """End the threads; one that does not end is left behind as a daemon."""
        for actor in actors:
            if actor.thread is not None:
                actor.thread.join(_JOIN_S)
        if self.loop is not None:
            self.loop.close(_JOIN_S)
        for server in self._servers.values():
            server.stop()

    def _start_task(self, actor: Actor, coroutine: Coroutine[Any, Any, Any]) -> None:
        actor.is_task = True
        self.loop = self.loop or ClientLoop(self._gate)
        self.loop.start_task(actor.name, coroutine)


def _deliver(name: str, send: Callable[[], None]) -> None:
    DELIVERING.set(name)
    send()
