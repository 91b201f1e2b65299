"""Commands that judge: the ledger of side effects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mockserver.core import ledger
from mockserver.core.instants import exact_text
from mockserver.edge.hosting import Hosted

JSON = dict[str, Any]
Arguments = Mapping[str, Any]

# The lists of the ledger by the names that the control plane gives them.
LEDGER: Mapping[str, str] = {
    "executions": "executions",
    "duplicateExecutions": "duplicate_executions",
    "sends": "sends",
    "duplicateSends": "duplicate_sends",
    "clonedCampaigns": "cloned_campaigns",
    "abandonedSessions": "abandoned_sessions",
    "unusedMedia": "unused_media",
}


def read_ledger(hosted: Hosted, args: Arguments) -> Callable[[], JSON]:
    """What the calls so far have caused, written out while the sandbox goes on."""
    twin = hosted.sandbox.twin()
    return lambda: _ledger(ledger.read(twin))


def _ledger(found: ledger.Ledger) -> JSON:
    return {name: [_row(row) for row in getattr(found, attribute)] for name, attribute in LEDGER.items()}


def _row(row: Mapping[str, Any]) -> JSON:
    return {key: exact_text(value) if key == "at" else value for key, value in row.items()}
