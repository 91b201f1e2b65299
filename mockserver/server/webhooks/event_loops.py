"""Event loops: the one that a thread runs, the ports that it serves, and coroutines run on it from another thread."""

from __future__ import annotations

import asyncio
import socket
import threading
from asyncio import AbstractEventLoop
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar
from urllib.parse import urlsplit

from mockserver.core.webhooks import url_policy
from mockserver.server.errors import ControlError
from mockserver.server.http1 import real_time

T = TypeVar("T")

# The loop that awaits the current command, which runs in another thread.
_AWAITING: ContextVar[AbstractEventLoop | None] = ContextVar("mockserver_awaiting_loop", default=None)


class LoopBlocked(ControlError):
    """A delivery needs the event loop that this thread runs and now blocks."""

    def __init__(self, url: str) -> None:
        super().__init__(
            "MOCK_LOOP_BLOCKED",
            f"the receiver at {url} runs on the event loop of this thread, which this call blocks, so its webhook request waits; "
            "await it: `await sandbox.aio.advance(...)`, `await sandbox.aio.complete_session(...)`, "
            "or `await sandbox.aio.run(function, ...)` for any other",
        )


def running() -> AbstractEventLoop | None:
    """Return the event loop that this thread runs, if any."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def serves(loop: AbstractEventLoop, url: str) -> bool:
    """Return True if the loop accepts connections at the url's port, or is of a kind that does not show it."""
    parts = urlsplit(url)
    if not url_policy.is_local_host((parts.hostname or "").lower()):
        return False
    port = url_policy.port_of(parts)
    selector: Any = getattr(loop, "_selector", None)  # no public name shows what a loop serves
    if not hasattr(selector, "get_map"):
        return True
    return any(_listens(descriptor, port) for descriptor in list(selector.get_map()))


def _listens(descriptor: int, port: int) -> bool:
    """Return True for a listening socket of this port."""
    try:
        sock = socket.socket(fileno=descriptor)
    except OSError:
        return False  # a pipe, or closed
    try:
        is_of_port = sock.family in (socket.AF_INET, socket.AF_INET6) and sock.getsockname()[1] == port
        return is_of_port and bool(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
    except OSError:
        return False
    finally:
        sock.detach()


class _OwnLoop:
    """A loop in a thread of its own, for receivers that no loop of the test runs. Lifetime: until `stop`."""

    def __init__(self) -> None:
        self._ready = threading.Event()
        threading.Thread(target=self._serve, name="mockserver receivers", daemon=True).start()
        self._ready.wait()

    def _serve(self) -> None:
        asyncio.run(self._until_stopped())

    async def _until_stopped(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.loop.time = real_time.seconds  # type: ignore[method-assign]  # a frozen clock would stop its timers
        self._over = asyncio.Event()
        self._ready.set()
        await self._over.wait()

    def stop(self) -> None:
        with suppress(RuntimeError):  # it is closed already
            self.loop.call_soon_threadsafe(self._over.set)


class Loops:
    """
    Runs the coroutines of one sandbox's receivers.

    Lifetime: that of the sandbox.
    """

    def __init__(self, timeout_seconds: float) -> None:
        self._timeout_seconds = timeout_seconds
        self._own: _OwnLoop | None = None
        self._running: set[Future[Any]] = set()
        self._lock = threading.Lock()
        self._is_closed = False

    def run(self, coroutine: Coroutine[Any, Any, T], home: AbstractEventLoop | None) -> T:
        """
        Run a coroutine and return its result. No loop runs in this thread.

        It runs on `home`, else on the loop that awaits this command, else on a loop of the sandbox's own.

        Raises:
            TimeoutError: the time limit is over.
            CancelledError: it was canceled meanwhile.
        """
        with self._lock:
            if self._is_closed:
                coroutine.close()
                raise CancelledError
            candidates = (home, _AWAITING.get())
            loop = next((one for one in candidates if one is not None and one.is_running()), None)
            if loop is None:
                self._own = self._own or _OwnLoop()
                loop = self._own.loop
            future = asyncio.run_coroutine_threadsafe(coroutine, loop)
            self._running.add(future)
        try:
            return future.result(self._timeout_seconds)
        finally:
            self._running.discard(future)
            future.cancel()  # without effect on one that has ended

    def cancel_all(self, *, for_good: bool = False) -> None:
        """Cancel every running coroutine; with `for_good` none is run after that."""
        with self._lock:
            self._is_closed = self._is_closed or for_good
            coroutines, own = list(self._running), self._own
        for future in coroutines:
            future.cancel()
        if for_good and own is not None:
            own.stop()


async def in_thread(function: Callable[[], T]) -> T:
    """
    Run a function in a thread of its own and return its result; this loop continues, and runs receivers' coroutines.

    The thread is a daemon: neither the end of the loop nor that of the process waits for it.

    Raises:
        RuntimeError: this thread runs no event loop of asyncio.
    """
    loop = running()
    if loop is None:
        raise RuntimeError(
            "the methods of `aio` await on an event loop of asyncio; got none in this thread: under trio, call the method "
            "itself in a thread, such as `await trio.to_thread.run_sync(mockserver.sleep, seconds)`"
        )
    done: Future[T] = Future()
    done.set_running_or_notify_cancel()  # a function that has begun is not canceled

    def work() -> None:
        _AWAITING.set(loop)
        try:
            done.set_result(function())
        except StopIteration as failure:  # no task can be given one
            done.set_exception(RuntimeError(f"StopIteration: {failure}"))
        except BaseException as failure:  # noqa: BLE001 - the awaiting task gets it
            done.set_exception(failure)

    threading.Thread(target=copy_context().run, args=(work,), name="mockserver async", daemon=True).start()
    return await asyncio.wrap_future(done)
