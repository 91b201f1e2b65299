"""The checkpoints of one sandbox that its clients have stored, within a bound."""

from __future__ import annotations

from typing import Final

from mockserver.core.state.sandbox import SandboxState

_STORED_MAX: Final = 1_000


class Checkpoints(dict[str, SandboxState]):
    """
    Checkpoints by id, the oldest first. Ids count from 1, so that the same run has the same ids.

    Lifetime: the sandbox's.
    Lock: the caller of `add` holds the sandbox's.
    """

    def __init__(self) -> None:
        super().__init__()
        self._count = 0

    def add(self, checkpoint: SandboxState) -> str:
        """Store a checkpoint and return its id; beyond the bound the oldest one is dropped."""
        self._count += 1
        checkpoint_id = f"checkpoint_{self._count}"
        self[checkpoint_id] = checkpoint
        if len(self) > _STORED_MAX:
            del self[next(iter(self))]
        return checkpoint_id
