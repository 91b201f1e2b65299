"""The change of the choices in force, and what follows from it at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mockserver.contract import choices
from mockserver.core.operations import connections
from mockserver.core.state.sandbox import SandboxState


def set_choices(sandbox: SandboxState, wanted: Mapping[str, Any]) -> None:
    """
    Set valid options of choices; a key missing in a number-valued one keeps its number.

    A session whose deadline has passed under `on-read` of expiry-driver expires as the new option says.
    """
    before = sandbox.choices
    chosen = before.copy() if isinstance(before, dict) else dict(before)
    for choice_id, value in wanted.items():
        chosen[choice_id] = choices.merged(choice_id, chosen.get(choice_id), value)  # `get` is not tracked
    sandbox.choices = chosen
    if before.get("expiry-driver") == "on-read" != chosen.get("expiry-driver"):
        connections.schedule_overdue(sandbox)
