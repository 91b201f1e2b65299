"""The findings of a sandbox in words, and changes of what they are about."""

from __future__ import annotations

from typing import Any

from mockserver import Sandbox


def severe(sandbox: Sandbox) -> list[str]:
    """Return the findings of severity 1 and 2, which no careful client has."""
    return [f"{finding.rule}: {finding.message}" for finding in sandbox.conduct if finding.severity <= 2]


def change(sandbox: Sandbox, n: int, **fields: Any) -> None:
    """Change what the journal has of an exchange."""
    exchanges = sandbox._hosted.sandbox.journal.exchanges
    exchanges[n - 1] = exchanges[n - 1]._replace(**fields)
