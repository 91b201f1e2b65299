"""Commands recorded for history and replay, without keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mockserver.core.state.sandbox import Position, SandboxState
from mockserver.server.api.response import redactor

# Commands that write and are not recorded: they replace the journal, or change nothing.
UNRECORDED = frozenset(("reset", "make_checkpoint", "restore_checkpoint", "verify_journal", "watch_choices"))
# Keys and secrets in a document; without them they are drawn from the seed.
_SECRETS = frozenset(("secretKey", "publicKey", "secret"))


def command_name(method: str, command: Callable[..., Any]) -> str | None:
    """Return the name under which a command is recorded, or None if it is not recorded."""
    return None if method == "GET" or command.__name__ in UNRECORDED else command.__name__


def record_command(sandbox: SandboxState, command: str, arguments: Mapping[str, Any], before: Position) -> None:
    """Record a command with its position. Lock: the caller holds it."""
    sandbox.journal.add_command(command, without_secrets(redactor(sandbox).value(arguments)), *before)


def without_secrets(value: Any) -> Any:
    """Return the document without the keys and secrets that it assigns."""
    if isinstance(value, Mapping):
        return {key: without_secrets(item) for key, item in value.items() if key not in _SECRETS}
    return [without_secrets(item) for item in value] if isinstance(value, list | tuple) else value
