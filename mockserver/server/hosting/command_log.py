"""Keeping what is done to a sandbox beside its API, so that a run can be told and repeated; keys never come into it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mockserver.core.state.sandbox import Position, SandboxState
from mockserver.server.api.response import redactor

# Commands that write and are no step: they take the journal with its steps back, or change nothing.
UNRECORDED = frozenset(("reset", "make_checkpoint", "restore_checkpoint", "verify_journal", "watch_choices"))
# What a document may say of keys and secrets; left out, they are drawn from the seed.
_SECRETS = frozenset(("secretKey", "publicKey", "secret"))


def command_name(method: str, command: Callable[..., Any]) -> str | None:
    """The name under which a command is kept as a step, or None where it is none."""
    return None if method == "GET" or command.__name__ in UNRECORDED else command.__name__


def record_command(sandbox: SandboxState, command: str, arguments: Mapping[str, Any], before: Position) -> None:
    """Note that this was done, and when. The caller holds the lock."""
    sandbox.journal.add_command(command, without_secrets(redactor(sandbox).value(arguments)), *before)


def without_secrets(value: Any) -> Any:
    """The document without the keys and secrets that it assigns."""
    if isinstance(value, Mapping):
        return {key: without_secrets(each) for key, each in value.items() if key not in _SECRETS}
    return [without_secrets(each) for each in value] if isinstance(value, list | tuple) else value
