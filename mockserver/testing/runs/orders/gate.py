"""
The gate of one run: each step waits there until the run releases it.

A step is that of the client whose handle or port it uses, or of the delivery in whose receiver it happens.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

from mockserver._json import JSON
from mockserver.core.instants import Instant
from mockserver.server.webhooks import event_loops
from mockserver.testing.run_end import RunEnded
from mockserver.testing.runs.orders.schedules import Waits
from mockserver.wire.router import route

T = TypeVar("T")
# The delivery whose receiver runs: what it calls are steps of its own, through whichever handle.
DELIVERING: ContextVar[str | None] = ContextVar("mockserver_delivering", default=None)


@dataclass(eq=False, kw_only=True)
class Waiting:
    """
    A step that waits for its release.

    Attributes:
        actor: Whose step it is.
        waits: What it is.
        label: What it does, for steps that the journal does not name.
        order: Sorts the steps of one actor that wait at the same time; of a request its method, target and body.
        until: The end of a sleep.
        is_relative: The end of the sleep follows from its beginning alone.
        fired: The timers that fire while it waits.
        thread: The thread that waits; None for a request over a socket.
        resume: Lets it go on.
    """

    actor: str
    waits: Waits
    label: str = ""
    order: tuple[Any, ...] = ()
    until: Instant | None = None
    is_relative: bool = False
    fired: list[JSON] = field(default_factory=list)
    thread: threading.Thread | None = None
    resume: Callable[[], None] = lambda: None

    @property
    def operation(self) -> str | None:
        """The id of the operation of a call of the API; None for any other step."""
        match self.order:
            case (str(method), str(target), _) if "/v1/" in target:
                path = target[target.index("/v1/") :].partition("?")[0]
                endpoint = route(method, path).target
                return None if endpoint is None else endpoint.id
        return None


class ActorEnd(NamedTuple):
    """A client or a delivery has ended, with this exception if it has raised one."""

    actor: str
    raised: BaseException | None


class SocketAnswered(NamedTuple):
    """The operation of a request over a socket has run."""

    actor: str


Mail = Waiting | ActorEnd | SocketAnswered


class Gate:
    """
    Lifetime: one run.

    Attributes:
        mail: What has arrived: waiting steps, ends of actors and answers over sockets.
        ended: Why the run has ended; None while it runs.
        has_looked: A client has read the sandbox past its steps, such as its clock, since this was set to False.
        loop: The event loop of the clients that are coroutine functions, once there is one.
    """

    def __init__(self) -> None:
        self.mail: SimpleQueue[Mail] = SimpleQueue()
        self.ended: str | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self.has_looked = False
        self._open: set[Waiting] = set()
        self._lock = threading.Lock()

    def step(self, actor: str, call: Callable[[], T], label: str = "", order: tuple[Any, ...] = ()) -> T:
        """
        Run a call once its step is released, and return its result.

        Args:
            actor: Whose call it is.
            call: Makes it.
            label: What it does, if the journal does not name it.
            order: Sorts the calls of one actor that wait at the same time.
        """
        self.enter(Waiting(actor=actor, waits="call", label=label, order=order))
        return call()

    def enter(self, waiting: Waiting) -> None:
        """
        Wait in this thread until the step is released.

        Raises:
            RunEnded: The run has ended.
            RuntimeError: The thread runs the loop of the clients, who would all wait.
        """
        waiting.actor = DELIVERING.get() or waiting.actor
        if self.loop is not None and event_loops.running() is self.loop:
            raise RuntimeError(
                f"got a call of {waiting.actor} that blocks the event loop of the clients; await it: "
                "`await sandbox.aio.call(...)`, `sandbox.aio.httpx_client()`, or `await sandbox.aio.run(function, ...)` "
                "for any other"
            )
        released = threading.Lock()
        released.acquire()
        waiting.thread, waiting.resume = threading.current_thread(), released.release
        self._put(waiting)
        released.acquire()
        if self.ended is not None:
            raise RunEnded(self.ended)

    async def enter_from_socket(self, waiting: Waiting) -> None:
        """Wait on the loop of a server; of a run that has ended it does not, since its sandbox is closed."""
        loop, released = asyncio.get_running_loop(), asyncio.Event()

        def resume() -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(released.set)

        waiting.resume = resume
        self._put(waiting)
        await released.wait()

    def release(self, waiting: Waiting) -> None:
        """Let a step happen."""
        with self._lock:
            self._open.discard(waiting)
        waiting.resume()

    def end(self, reason: str) -> None:
        """End every step that waits, and all that come later, by RunEnded."""
        with self._lock:
            self.ended = self.ended or reason
            waiting, self._open = self._open, set()
        for each in waiting:
            each.resume()

    def _put(self, waiting: Waiting) -> None:
        with self._lock:
            is_over = self.ended is not None
            if not is_over:
                self._open.add(waiting)
        if is_over:
            waiting.resume()
        else:
            self.mail.put(waiting)
