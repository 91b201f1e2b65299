"""A copy of a sandbox at one instant, for commands that take long to read it."""

from __future__ import annotations

from typing import NamedTuple

from mockserver.core.state.sandbox import Checkpoint, Runtime, SandboxState
from mockserver.server.hosting.config import SandboxConfig
from mockserver.server.hosting.failed_runs import FailureFolder


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
