"""The checkpoints of one sandbox that its clients have stored, within bounds."""

from __future__ import annotations

from typing import Final

from mockserver.core.state.sandbox import SandboxState

_STORED_MAX: Final = 1_000
_LABELLED_MAX: Final = 20  # those of a page, one before each of its actions


class Checkpoints(dict[str, SandboxState]):
    """
    Checkpoints by id, the oldest first. Ids count from 1, so that the same run has the same ids.

    Attributes:
        labels: those of checkpoints that have one, by the id of the checkpoint, the oldest first.

    Lifetime: the sandbox's.
    Lock: the caller of `add` holds the sandbox's.
    """

    def __init__(self) -> None:
        super().__init__()
        self.labels: dict[str, str] = {}
        self._count = 0

    def add(self, checkpoint: SandboxState, label: str | None) -> str:
        """Store a checkpoint and return its id; beyond a bound the oldest one is dropped, or the oldest with a label."""
        self._count += 1
        checkpoint_id = f"checkpoint_{self._count}"
        self[checkpoint_id] = checkpoint
        if label is not None:
            self.labels[checkpoint_id] = label
        if len(self.labels) > _LABELLED_MAX:
            self._drop(next(iter(self.labels)))
        if len(self) > _STORED_MAX:
            self._drop(next(iter(self)))
        return checkpoint_id

    def _drop(self, checkpoint_id: str) -> None:
        del self[checkpoint_id]
        self.labels.pop(checkpoint_id, None)
