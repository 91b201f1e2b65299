"""Starts the code of actors: clients as threads or as tasks of one loop, deliveries as threads, and ports of clients."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mockserver.server.hosting.host import HostedSandbox
from mockserver.server.http1 import real_time
from mockserver.testing.runs.orders import idle
from mockserver.testing.runs.orders.actors import Actor
from mockserver.testing.runs.orders.gate import DELIVERING, ActorEnd, Gate
from mockserver.testing.runs.orders.handles import gated_server

if TYPE_CHECKING:
    from mockserver.server.http1.server import Server

_JOIN_S: Final = 0.5
_TURN_S: Final = 0.02  # real time, the longest wait for a loop that runs


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


class ClientLoop:
    """
    Lifetime: until `close`, at the end of one run.

    Args:
        gate: Of the run; the ends of tasks are among its mail.

    Attributes:
        thread: The thread that runs it.
    """

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._loop = gate.loop = asyncio.SelectorEventLoop()  # `idle` shows when one of this kind waits
        self._loop.time = real_time.seconds  # type: ignore[method-assign]  # a frozen clock would stop its timers
        self._tasks: list[asyncio.Task[None]] = []
        self.thread = threading.Thread(target=self._serve, name="interleave loop", daemon=True)
        self.thread.start()

    def start_task(self, actor: str, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Run a client as a task."""
        loop, mail = self._loop, self._gate.mail

        async def run() -> None:
            raised: BaseException | None = None
            try:
                await coroutine
            except BaseException as failure:  # noqa: BLE001 - the way in which it ends is judged
                raised = failure
            mail.put(ActorEnd(actor, raised))

        loop.call_soon_threadsafe(lambda: self._tasks.append(loop.create_task(run())))

    def is_at_rest(self) -> bool:
        """Let the loop run what is ready, and return True if it then waits."""
        turned = threading.Lock()
        turned.acquire()
        self._loop.call_soon_threadsafe(turned.release)
        return turned.acquire(timeout=_TURN_S) and idle.is_idle(self.thread)

    def waits_for_nothing(self) -> bool:
        """Return True if the loop is at rest, and has no timer and no file."""
        return self.is_at_rest() and idle.waits_for_nothing(self.thread)

    def close(self, seconds: float) -> None:
        """End the tasks and the loop, and wait for its thread for so many real seconds."""
        self._loop.call_soon_threadsafe(self._stop)
        self.thread.join(seconds)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._loop.call_soon(self._loop.call_soon, self._loop.stop)  # after the tasks have seen it
