"""What only the rooms around the core can do for a script, as an object that they hand in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mockserver.core.instants import Instant, Span

if TYPE_CHECKING:
    from mockserver.core.sandbox import Sandbox


class Stage:
    """The stage on which a sandbox stands; this one is empty: a sandbox of the core alone needs no other."""

    def give(self, sandbox: Sandbox, given: Mapping[str, Any]) -> None:
        """Add seed data, the lock held; ValueError says what is wrong with it, and then nothing was added."""
        raise ValueError("nobody here reads seed data")

    def advance(self, sandbox: Sandbox, by: Span) -> None:
        """Let time pass in the middle of a call, the lock held."""
        raise ValueError("nobody here moves the clock")

    def elapse(self, sandbox: Sandbox, by: Span) -> None:
        """Let time pass while a call waits, the lock free."""

    def hold(self, sandbox: Sandbox, epoch: int, seconds: float) -> bool:
        """Wait in real time, the lock free; True at once when the sandbox leaves this epoch."""
        return sandbox.epoch != epoch

    def stopwatch(self) -> Span | None:
        """Real time that only goes on, from anywhere; None where there is none."""
        return None

    def process_frozen_at(self) -> Instant | None:
        """The process's instant if something has frozen its clock."""
        return None

    def release(self) -> None:
        """Let everything go that is held for an older epoch."""


EMPTY_STAGE = Stage()
