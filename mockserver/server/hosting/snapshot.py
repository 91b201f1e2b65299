"""A copy of a sandbox at one instant, for commands that take long to read it; its checkpoints; the files of a failed run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol

from mockserver._json import JSON
from mockserver.core.state.sandbox import Checkpoint, Runtime, SandboxState
from mockserver.server.hosting.config import SandboxConfig


class FailedRun(NamedTuple):
    """
    The run of a failed test, with keys redacted in all but `secrets`.

    Attributes:
        sandbox_id: of its sandbox.
        base_url: of its sandbox, as the client has addressed it.
        name: of the test.
        summary: the first lines of its report.
        report: the lines after them.
        journal: the exchanges of its journal, as the control plane returns them.
        document: repeats it.
        har: its calls and deliveries.
        secrets: the keys and secrets of its sandbox.
    """

    sandbox_id: str
    base_url: str
    name: str
    summary: Sequence[str]
    report: Sequence[str]
    journal: Sequence[Mapping[str, Any]]
    document: JSON
    har: Mapping[str, Any]
    secrets: Sequence[str]


class KeptFiles(NamedTuple):
    """The paths of the files of a failed run, None for one that is not written; `lines` are those of the report about them."""

    replay: str | None
    har: str | None
    trace: str | None
    report: str | None
    lines: Sequence[str]


class FailureFolder(Protocol):
    """Where the files of failed runs are kept."""

    def failure_of(self, sandbox_id: str, name: str, words: str) -> tuple[str, str]:
        """Return the name of a sandbox's test and the words of its failure, those of an earlier call in place of empty ones."""

    def keep(self, run: FailedRun) -> KeptFiles:
        """Write the files of a run; they replace those that its sandbox has under this name. Never an error of its own."""


class HostedSnapshot(NamedTuple):
    """
    A sandbox at one instant, for a command that reads it while the sandbox continues.

    Attributes:
        state: a clone.
        prefix: of the sandbox's path, empty for the default one.
        failures: where the files of failed runs are kept; None if they are not.
    """

    state: SandboxState
    config: SandboxConfig
    initial: Checkpoint
    runtime: Runtime
    id: str
    base_url: str
    prefix: str
    failures: FailureFolder | None


_STORED_MAX: Final = 1_000
_LABELLED_MAX: Final = 20  # those of a page, one before each of its actions


class Checkpoints(Mapping[str, Checkpoint]):
    """
    The checkpoints that the clients of a sandbox have stored, by id, the oldest first. Ids count from 1, so that the same run has the same ids.

    Attributes:
        labels: those of checkpoints that have one, by the id of the checkpoint, the oldest first.

    Lifetime: the sandbox's.
    Lock: the caller of `add` holds the sandbox's.
    """

    def __init__(self) -> None:
        self._stored: dict[str, Checkpoint] = {}
        self._labels: dict[str, str] = {}
        self.labels: Mapping[str, str] = MappingProxyType(self._labels)
        self._count = 0

    def __getitem__(self, checkpoint_id: str) -> Checkpoint:
        return self._stored[checkpoint_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)

    def add(self, checkpoint: Checkpoint, label: str | None) -> str:
        """Store a checkpoint and return its id; beyond a bound the oldest one is dropped, or the oldest with a label."""
        self._count += 1
        checkpoint_id = f"checkpoint_{self._count}"
        self._stored[checkpoint_id] = checkpoint
        if label is not None:
            self._labels[checkpoint_id] = label
        if len(self._labels) > _LABELLED_MAX:
            self._drop(next(iter(self._labels)))
        if len(self._stored) > _STORED_MAX:
            self._drop(next(iter(self._stored)))
        return checkpoint_id

    def _drop(self, checkpoint_id: str) -> None:
        del self._stored[checkpoint_id]
        self._labels.pop(checkpoint_id, None)
