"""
What the calls of one sandbox have covered: its state, with the choices that were read, gathered before it is gone.

`host` imports this module for a sandbox whose coverage is asked for, since it imports every judge of conduct.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from weakref import ref

from mockserver.core.run import Run
from mockserver.core.state.sandbox import SandboxState
from mockserver.judge.coverage.coverage import Coverage
from mockserver.judge.coverage.dimensions import choice_item
from mockserver.judge.coverage.gathering import NO_TIMER, gather
from mockserver.server.hosting.tracked_choices import TrackedChoices
from mockserver.trace.of_sandbox import trace_of


class CoveredChoices(TrackedChoices):
    """Tracked choices that record the value with which each was read, and the timer that was due."""

    def __init__(self, choices: Mapping[str, Any], read: set[str], coverage: SandboxCoverage) -> None:
        super().__init__(choices, read)
        self._coverage = coverage
        self._recorded: set[str] = set()  # of these a later read adds nothing; choices are replaced as a whole

    def __getitem__(self, choice: str) -> Any:
        value = dict.__getitem__(self, choice)
        if choice not in self._recorded:
            self.read.add(choice)
            if self._coverage.record(choice, value):
                self._recorded.add(choice)
        return value

    def copy(self) -> CoveredChoices:
        return CoveredChoices(self, self.read, self._coverage)


class SandboxCoverage:
    """
    The coverage of one sandbox.

    Lifetime: the sandbox's.
    Lock: the caller of each method holds the sandbox's.
    """

    def __init__(self, sandbox: SandboxState) -> None:
        self._sandbox = ref(sandbox)  # weak, so that a closed sandbox is freed without the garbage collector
        self._read: defaultdict[str, set[str]] = defaultdict(set)  # as `ChoicesRead`
        self._is_paused = False

    def tracked(self, choices: Mapping[str, Any], read: set[str]) -> CoveredChoices:
        """Return the choices as ones that record their reads here, and their ids in `read`."""
        return CoveredChoices(choices, read, self)

    def record(self, choice: str, value: Any) -> bool:
        """Record a read, and return True if another one of the same value would add nothing."""
        sandbox = self._sandbox()
        if self._is_paused or sandbox is None:
            return False
        item = choice_item(choice, value if isinstance(value, str) else None)
        self._read[item].add(sandbox.timer_of or NO_TIMER)
        return not sandbox.timer_of

    def gather(self, into: Coverage, *, counts_faults: bool) -> None:
        """Add what the sandbox shows to a coverage, its faults only if they count."""
        sandbox = self._sandbox()
        if sandbox is not None:
            gather(trace_of(Run.of(sandbox)), into, self._read, counts_faults=counts_faults)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do not record what a command reads that only looks at the sandbox."""
        before, self._is_paused = self._is_paused, True
        try:
            yield
        finally:
            self._is_paused = before
