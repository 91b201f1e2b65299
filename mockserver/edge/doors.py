"""
How a call came in, and so how a scripted wait is spent: on a socket in real time, in process by moving the sandbox's clock.

No wait holds a lock. A real one ends early when the sandbox begins a new epoch; a virtual one ends when the client's
patience does, with the clock moved by as much.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from errno import ECONNRESET
from http.client import RemoteDisconnected
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol

from mockserver.core.instants import SECOND, Span
from mockserver.core.sandbox import Sandbox
from mockserver.edge.answer import RawSocket
from mockserver.edge.replies import Waited

# How an answer that never came is told in Python where nobody else has a word for it.
BROKEN: Mapping[str, Callable[[], OSError]] = MappingProxyType(
    {
        "drop": lambda: RemoteDisconnected("Remote end closed connection without response"),
        "reset": lambda: ConnectionResetError(ECONNRESET, "Connection reset by peer"),
        "timeout": lambda: TimeoutError("timed out"),
    }
)


class Door(Protocol):
    """The side of a call on which its client waits."""

    def wait(self, sandbox: Sandbox, epoch: int, span: Span) -> Waited:
        """Let the call wait: `passed`, `released` by a new epoch, or `gone` where the client has given up meanwhile."""

    def if_lost(self, note: Callable[[], None]) -> None:
        """Call `note` if the answer turns out to reach no client."""

    def is_reused(self) -> bool:
        """Return True if the call's connection had carried another call before; never in process."""

    def limit(self) -> Span | Literal["socket"] | None:
        """How long the client waits: a span, None for ever, or `socket` where it does so in real time."""


class InProcess(NamedTuple):
    """A client in this process: it waits by moving the clock, and gives up after `patience` (None: never)."""

    patience: Span | None = None

    def wait(self, sandbox: Sandbox, epoch: int, span: Span) -> Waited:
        if sandbox.epoch != epoch:
            return "released"
        gives_up = self.patience is not None and span > self.patience
        sandbox.stage.elapse(sandbox, self.patience if gives_up and self.patience is not None else span)
        return "gone" if gives_up else "passed"

    def if_lost(self, note: Callable[[], None]) -> None:
        """A client in this process is there until it gives up."""

    def is_reused(self) -> bool:
        return False

    def limit(self) -> Span | None:
        return self.patience


PATIENT = InProcess()  # waits for ever


class OnSocket(NamedTuple):
    """A client on a connection: it waits in real time, which no frozen clock follows."""

    raw: RawSocket

    def wait(self, sandbox: Sandbox, epoch: int, span: Span) -> Waited:
        return "released" if sandbox.stage.hold(sandbox, epoch, span / SECOND) else "passed"

    def if_lost(self, note: Callable[[], None]) -> None:
        """The connection calls it: whether the client takes the answer shows once it is sent."""
        self.raw.if_lost = note

    def is_reused(self) -> bool:
        return self.raw.exchanges_before > 0

    def limit(self) -> Literal["socket"]:
        return "socket"
