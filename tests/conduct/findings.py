"""The findings of a sandbox in words."""

from __future__ import annotations

from mockserver import Sandbox


def severe(sandbox: Sandbox) -> list[str]:
    """Return the findings of severity 1 and 2, which no careful client has."""
    return [f"{finding.rule}: {finding.message}" for finding in sandbox.conduct if finding.severity <= 2]
