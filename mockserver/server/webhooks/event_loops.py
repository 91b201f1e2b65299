"""
Event loops: which one a thread runs, which ports it serves, and how a coroutine is run on one from another thread.

asyncio is imported only once there is a coroutine to run.
"""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from mockserver.core.webhooks import url_policy
from mockserver.server.errors import ControlError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

T = TypeVar("T")

# The loop that awaits the command under way, whose own work is done in another thread.
_AWAITING: ContextVar[AbstractEventLoop | None] = ContextVar("mockserver_awaiting_loop", default=None)

# In a tuple, where freezegun does not look for clocks to freeze.
_REAL: tuple[Callable[[], float]] = (time.monotonic,)


class LoopBlocked(ControlError):
    """A delivery needs the event loop that this thread runs and now blocks."""

    def __init__(self, url: str) -> None:
        super().__init__(
            409,
            "MOCK_LOOP_BLOCKED",
            f"the receiver at {url} runs on the event loop of this thread, which this call blocks, so its webhook request waits; "
            "await the async form: `await sandbox.advance_async(...)`, `await sandbox.complete_session_async(...)`, "
            "or `await sandbox.run_async(function, ...)` for any other",
        )


def running() -> AbstractEventLoop | None:
    """The event loop that this thread runs, if any."""
    asyncio = sys.modules.get("asyncio")
    return asyncio._get_running_loop() if asyncio is not None else None


def serves(loop: AbstractEventLoop, url: str) -> bool:
    """True if the loop accepts connections at the url's port; also for a kind of loop that does not show it."""
    parts = urlsplit(url)
    if not url_policy.is_local_host((parts.hostname or "").lower()):
        return False
    port = parts.port or (443 if parts.scheme == "https" else 80)
    selector = getattr(loop, "_selector", None)
    accepting: Iterable[int] | None = getattr(loop, "_accept_futures", None)  # of Windows
    if accepting is None and selector is None:
        return True
    files = list(selector.get_map()) if accepting is None and selector is not None else list(accepting or ())
    return any(_listens(file, port) for file in files)


def _listens(file: Any, port: int) -> bool:
    """True for a listening socket of this port."""
    number = file if isinstance(file, int) else file.fileno()
    try:
        wire = socket.socket(fileno=number)
    except (OSError, ValueError):
        return False  # a pipe, or closed
    try:
        return wire.family in (socket.AF_INET, socket.AF_INET6) and (
            wire.getsockname()[1] == port and bool(wire.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
        )
    except OSError:
        return False
    finally:
        wire.detach()


class _OwnLoop:
    """A loop in a thread of its own, for receivers that no loop of the test is known to run. Lives until `stop`."""

    def __init__(self) -> None:
        self._ready = threading.Event()
        threading.Thread(target=self._serve, name="mockserver receivers", daemon=True).start()
        self._ready.wait()

    def _serve(self) -> None:
        import asyncio

        asyncio.run(self._until_stopped())

    async def _until_stopped(self) -> None:
        import asyncio

        self.loop = asyncio.get_running_loop()
        (self.loop.time,) = _REAL  # type: ignore[method-assign]  # a frozen clock would stop its timers
        self._over = asyncio.Event()
        self._ready.set()
        await self._over.wait()

    def stop(self) -> None:
        with suppress(RuntimeError):  # it is closed already
            self.loop.call_soon_threadsafe(self._over.set)


class Loops:
    """Runs the coroutines of one sandbox's receivers. Lives as long as it; `let_go` ends what is under way."""

    def __init__(self, timeout_seconds: float) -> None:
        self._timeout_seconds = timeout_seconds
        self._own: _OwnLoop | None = None
        self._under_way: set[Future[Any]] = set()
        self._lock = threading.Lock()
        self._is_closed = False

    def run(self, coroutine: Coroutine[Any, Any, T], home: AbstractEventLoop | None) -> T:
        """
        The coroutine's result: from `home`, else from the loop that awaits this command, else from a loop of the sandbox's own.

        Refuses with TimeoutError after the time limit, with CancelledError if it is let go meanwhile. No loop runs in this thread.
        """
        import asyncio

        with self._lock:
            if self._is_closed:
                coroutine.close()
                raise CancelledError
            loop = next((each for each in (home, _AWAITING.get()) if each is not None and each.is_running()), None)
            if loop is None:
                self._own = self._own or _OwnLoop()
                loop = self._own.loop
            future = asyncio.run_coroutine_threadsafe(coroutine, loop)
            self._under_way.add(future)
        try:
            return future.result(self._timeout_seconds)
        finally:
            self._under_way.discard(future)
            future.cancel()  # without effect on one that has ended

    def let_go(self, *, for_good: bool = False) -> None:
        """End every coroutine under way; `for_good` none is run any more."""
        with self._lock:
            self._is_closed = self._is_closed or for_good
            under_way, own = list(self._under_way), self._own
        for future in under_way:
            future.cancel()
        if for_good and own is not None:
            own.stop()


async def in_thread(function: Callable[[], T]) -> T:
    """
    The function's result, run in a thread of its own while this loop goes on; receivers' coroutines run on this loop.

    The thread is a daemon: neither the loop's end nor the process's waits for it.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    ended: asyncio.Future[T] = loop.create_future()

    def end(done: Future[T]) -> None:
        if ended.done():
            return
        failure = done.exception()
        if isinstance(failure, StopIteration):  # which no future takes
            ended.set_exception(RuntimeError(f"{type(failure).__name__}: {failure}"))
        elif failure is not None:
            ended.set_exception(failure)
        else:
            ended.set_result(done.result())

    def work() -> None:
        _AWAITING.set(loop)
        done: Future[T] = Future()
        try:
            done.set_result(function())
        except BaseException as failure:  # noqa: BLE001 - whatever it is, it is the awaiting task's
            done.set_exception(failure)
        with suppress(RuntimeError):  # the loop has been closed meanwhile
            loop.call_soon_threadsafe(end, done)

    threading.Thread(target=copy_context().run, args=(work,), name="mockserver async", daemon=True).start()
    return await ended
