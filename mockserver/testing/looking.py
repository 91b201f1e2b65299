"""What reports and waits want to know of a sandbox in this process: what was done to it, what is under way, what is due."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from mockserver.contract.durations import parse_duration
from mockserver.core.instants import exact_text, to_datetime
from mockserver.core.journal import Step
from mockserver.core.settle import next_due
from mockserver.edge import commands
from mockserver.edge.hosting import IN_PROCESS_ORIGIN
from mockserver.testing import replays, waiting
from mockserver.testing.asking import Asking
from mockserver.testing.holding import JSON


class Looking(Asking):
    """A sandbox as it can be looked at from within its process."""

    @property
    def address(self) -> str | None:
        """The base url where somebody has asked for it; None where there is no socket yet."""
        return None if self._hosted.host.origin == IN_PROCESS_ORIGIN else self._hosted.base_url

    @property
    def steps(self) -> list[Step]:
        """What was done to the sandbox beside its API so far, keys left out."""
        with self._hosted.sandbox.lock:
            return list(self._hosted.sandbox.journal.steps)

    @property
    def in_flight(self) -> list[str]:
        """Calls that their client has given up and that arrive later, in words."""
        with self._hosted.sandbox.lock:
            parked = list(self._hosted.sandbox.script.parked.values())
        return [f"{each.call.method} {each.call.path} is delayed by {', '.join(each.rule_ids)}" for each in parked]

    def replay_document(self, name: str = "replay") -> JSON | None:
        """The scenario document that repeats what has happened so far; None where it cannot be made."""
        return replays.document(self._hosted, name)

    @property
    def next_due(self) -> datetime | None:
        """When the next scheduled thing will happen, or None where nothing is scheduled."""
        with self._hosted.sandbox.lock:
            due = next_due(self._hosted.sandbox)
        return None if due is None else to_datetime(due)

    @property
    def upcoming(self) -> str | None:
        """What is due next, and the call that lets it come; None where nothing is scheduled."""
        with self._hosted.sandbox.lock:
            sandbox = self._hosted.sandbox
            timer = min((each for each in sandbox.timers if sandbox.subject(each) is not None), default=None)
        if timer is None:
            return None
        wait = f"{max(0, timer.due - sandbox.now) / 1_000_000:g}"
        return f'"{timer.trigger}" of {timer.id} is due in {wait} s; mockserver.advance({wait}) lets it come'

    def _wait_until(self, holds: Callable[[], bool], timeout_s: float) -> bool:
        return waiting.until(self._hosted, holds, timeout_s)

    def _pass_until(self, holds: Callable[[], bool], within: str | float) -> bool:
        length = parse_duration(within)
        if length is None:
            raise ValueError(f"within came as {within!r}; wanted 20m, 1h30m, 3500ms, PT20M or seconds")
        sandbox = self._hosted.sandbox
        limit = sandbox.read_clock() + length
        while not holds():
            now = sandbox.read_clock()
            if now >= limit:
                return False
            with sandbox.lock:
                due = next_due(sandbox)
            until = limit if due is None else max(now, min(due, limit))
            self._command(commands.advance, to=exact_text(until))
        return True
