"""Log of one example: its calls, the step in which the client made each, and the traces that invariants judge."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import takewhile

from mockserver.contract.endpoints import ENDPOINTS
from mockserver.core.run import Run
from mockserver.core.state.journal import JournalEntry
from mockserver.server.hosting.host import HostedSandbox
from mockserver.trace.of_sandbox import trace_of
from mockserver.trace.trace import Trace, never


class ExampleLog:
    """
    Calls of one example. A step is one rule of the machine: a client makes the calls of a step by its own decision.

    `new` are the calls of the current step; the invariants judged the earlier ones when they were new.
    """

    def __init__(self, hosted: HostedSandbox) -> None:
        self._hosted = hosted
        self._first = self._judged = self.run.last_exchange
        self._ends = [self._first]  # the last call before each step
        self._step: Trace | None = None
        self._example: Trace | None = None
        self.new: Sequence[JournalEntry] = ()

    @property
    def run(self) -> Run:
        """What has happened so far."""
        return Run.of(self._hosted.sandbox)

    @property
    def secrets(self) -> list[str]:
        """Every key and signing secret of the sandbox."""
        return self._hosted.sandbox.secrets()

    @property
    def is_untouched(self) -> bool:
        """Return True until the first call of the example; calls of `prepare` do not count."""
        return self.run.last_exchange == self._first

    def read_step(self) -> None:
        """Read the calls that the current step has made so far."""
        latest = takewhile(lambda exchange: exchange.n > self._judged, reversed(self.run.exchanges))
        self.new = list(latest)[::-1]
        self._step = self._example = None

    def begin_step(self) -> None:
        """Start the next step: later calls belong to it."""
        self._judged = self.run.last_exchange
        self._ends.append(self._judged)

    @property
    def step(self) -> Trace:
        """The trace of the current step's calls alone."""
        if self._step is None:
            self._step = trace_of(self.run, self.new, slept=never)
        return self._step

    @property
    def example(self) -> Trace:
        """The trace of the whole example, and of the calls that prepared it."""
        if self._example is None:
            self._example = trace_of(self.run, slept=never)
        return self._example

    def has_new(self, *operations: str) -> bool:
        """Return True if the current step called one of these operations."""
        return any(exchange.operation in operations for exchange in self.new)

    def is_of_step(self, numbers: Sequence[int]) -> bool:
        """Return True if the last of these calls belongs to the current step."""
        return bool(numbers) and max(numbers) > self._judged

    def is_one_step(self, *numbers: int | None) -> bool:
        """Return True if one step made all of these calls; a call without a number belongs to none."""
        steps = [bisect_left(self._ends, number) for number in numbers if number is not None]
        return len(steps) == len(numbers) and len(set(steps)) == 1


def call_line(exchange: JournalEntry) -> str:
    """Return an exchange as one line of a failure message."""
    assert exchange.operation is not None
    endpoint = ENDPOINTS[exchange.operation]
    code = exchange.error.code if exchange.error else ""
    outcome = "no answer" if exchange.status is None else f"{exchange.status} {code}".strip()
    unreadable = ", unreadable" if exchange.status is not None and not exchange.was_received else ""
    is_hidden_effect = exchange.applied and endpoint.method == "POST" and not exchange.was_received
    applied = ", took effect" if is_hidden_effect else ""
    return f"#{exchange.n} {endpoint.id} {exchange.call.path} -> {outcome}{unreadable}{applied}"
