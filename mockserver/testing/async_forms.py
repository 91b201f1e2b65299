"""
Async forms of what may deliver, wait or take long: `await sandbox.advance_async("20m")`.

The work is done in another thread while the event loop goes on, so a receiver that runs on this loop answers meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from mockserver.server.webhooks import event_loops
from mockserver.testing.backend import Calling, Moves
from mockserver.testing.call_log import Asking
from mockserver.testing.receivers import Webhooks

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="Asynchronous")
Face = TypeVar("Face")


def awaitable(method: Callable[Concatenate[Face, P], R]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, R]]:
    """The async form of a sandbox's method, with the same arguments; of a subclass's own method where it has one."""

    @wraps(method)
    async def awaited(self: S, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self.run_async(getattr(self, method.__name__), *args, **kwargs)

    awaited.__name__, awaited.__qualname__ = f"{method.__name__}_async", f"{method.__qualname__}_async"
    awaited.__doc__ = f"The async form of `{method.__name__}`."
    return awaited  # type: ignore[return-value]  # a coroutine function is what it says


class Asynchronous:
    """The part of a sandbox's face that is awaited; `Sandbox` is made with it, and nothing else is."""

    async def run_async(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Any other function in another thread while this event loop goes on, such as `end_user(...).connect`."""
        return await event_loops.in_thread(lambda: function(*args, **kwargs))

    complete_session_async = awaitable(Moves.complete_session)
    fail_session_async = awaitable(Moves.fail_session)
    cancel_session_async = awaitable(Moves.cancel_session)
    expire_session_async = awaitable(Moves.expire_session)
    redeliver_async = awaitable(Webhooks.redeliver)
    recover_async = awaitable(Webhooks.recover)
    call_async = awaitable(Calling.call)
    wait_for_async = awaitable(Asking.wait_for)
