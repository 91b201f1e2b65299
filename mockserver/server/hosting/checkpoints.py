"""The checkpoints of one sandbox that its clients have stored, within bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from mockserver.core.state.sandbox import Checkpoint

_STORED_MAX: Final = 1_000
_LABELLED_MAX: Final = 20  # those of a page, one before each of its actions


class Checkpoints(Mapping[str, Checkpoint]):
    """
    Checkpoints by id, the oldest first. Ids count from 1, so that the same run has the same ids.

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
