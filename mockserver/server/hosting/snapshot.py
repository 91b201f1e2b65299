"""A copy of a sandbox at one instant, for commands that take long to read it."""

from __future__ import annotations

from typing import NamedTuple

from mockserver.core.state.sandbox import Checkpoint, Runtime, SandboxState
from mockserver.server.hosting.config import SandboxConfig


class HostedSnapshot(NamedTuple):
    """A sandbox at one instant, for a command that reads it while the sandbox continues; `state` is a clone."""

    state: SandboxState
    config: SandboxConfig
    initial: Checkpoint
    runtime: Runtime
    id: str
    base_url: str
