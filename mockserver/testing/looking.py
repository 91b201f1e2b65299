"""What reports and waits want to know of a sandbox: what was done to it, what is under way, what is due."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from mockserver.contract.durations import parse_duration
from mockserver.core.instants import exact_text, from_datetime, parse, to_datetime
from mockserver.edge import commands, retelling
from mockserver.edge.hosting import IN_PROCESS_ORIGIN
from mockserver.testing import waiting
from mockserver.testing.asking import Asking
from mockserver.testing.holding import JSON


class Looking(Asking):
    """A sandbox as it can be looked at; all of it comes from the control plane's commands."""

    @property
    def address(self) -> str | None:
        """The base url where somebody has asked for it; None where there is no socket yet."""
        hosted = self._hosted
        has_socket = hosted.own_origin is not None or hosted.host.origin != IN_PROCESS_ORIGIN
        return hosted.base_url if has_socket else None

    @property
    def call_count(self) -> int:
        """How many calls of the API there have been."""
        return self._hosted.sandbox.journal.last_exchange

    @property
    def retold(self) -> JSON:
        """`GET /_mock/steps`: what was done beside the API, the calls that wait, and what is due; keys redacted."""
        return self._command(retelling.read_steps)

    @property
    def steps(self) -> list[JSON]:
        """What was done to the sandbox beside its API so far, oldest first."""
        found: list[JSON] = self.retold["steps"]
        return found

    def replay_document(self, name: str = "replay") -> JSON:
        """The scenario document that repeats what has happened so far."""
        return self._command(retelling.read_replay, name=name)

    @property
    def next_due(self) -> datetime | None:
        """When the next scheduled thing will happen, or None where nothing is scheduled."""
        due = self.retold["due"]
        return None if due is None else instant(due["at"])

    def _wait_until(self, holds: Callable[[], bool], timeout_s: float) -> bool:
        return waiting.until(self._hosted, holds, timeout_s)

    def _pass_until(self, holds: Callable[[], bool], within: str | float) -> bool:
        length = parse_duration(within)
        if length is None:
            raise ValueError(f"within came as {within!r}; wanted 20m, 1h30m, 3500ms, PT20M or seconds")
        now = instant(self._command(commands.read_clock)["now"])
        limit = to_datetime(from_datetime(now) + length)
        while not holds():
            now = instant(self._command(commands.read_clock)["now"])
            if now >= limit:
                return False
            due = self.next_due
            until = limit if due is None else max(now, min(due, limit))
            self._command(commands.advance, to=exact_text(from_datetime(until)))
        return True


def instant(written: str) -> datetime:
    """The instant that a view of the control plane shows."""
    read = parse(written)
    assert read is not None
    return to_datetime(read[0])
