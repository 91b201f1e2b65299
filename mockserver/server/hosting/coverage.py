"""
What the calls of one sandbox have covered: its state, with the choices that were read, gathered before it is gone.

`host` imports this module for a sandbox whose coverage is asked for, since it imports every judge of conduct.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from weakref import ref

from mockserver.core.state.sandbox import SandboxState
from mockserver.coverage.coverage import Coverage
from mockserver.coverage.gathering import ChoiceRead, gather
from mockserver.server.hosting.tracked_choices import TrackedChoices


class CoveredChoices(TrackedChoices):
    """Tracked choices that record the value with which each was read, and the timer that was due."""

    def __init__(
        self, choices: Mapping[str, Any], read: set[str], sandbox: ref[SandboxState], reads: set[ChoiceRead]
    ) -> None:
        super().__init__(choices, read)
        self._sandbox = sandbox  # weak, so that a closed sandbox is freed without the garbage collector
        self._reads = reads

    def __getitem__(self, choice: str) -> Any:
        value = dict.__getitem__(self, choice)
        self.read.add(choice)
        sandbox = self._sandbox()
        timer_of = "" if sandbox is None else sandbox.timer_of
        self._reads.add((choice, value if isinstance(value, str) else None, timer_of))
        return value

    def copy(self) -> CoveredChoices:
        return CoveredChoices(self, self.read, self._sandbox, self._reads)


class SandboxCoverage:
    """
    The coverage of one sandbox.

    Lifetime: the sandbox's.
    Lock: the caller of each method holds the sandbox's.
    """

    def __init__(self, sandbox: SandboxState) -> None:
        self._sandbox = ref(sandbox)
        self._reads: set[ChoiceRead] = set()

    def tracked(self, choices: Mapping[str, Any], read: set[str]) -> CoveredChoices:
        """Return the choices as ones that record their reads here, and their ids in `read`."""
        return CoveredChoices(choices, read, self._sandbox, self._reads)

    def gather(self, into: Coverage) -> None:
        """Add what the sandbox shows to a coverage."""
        sandbox = self._sandbox()
        if sandbox is not None:
            gather(sandbox, into, self._reads)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do not record what a command reads that only looks at the sandbox."""
        before = frozenset(self._reads)
        try:
            yield
        finally:
            self._reads.intersection_update(before)
