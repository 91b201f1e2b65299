"""A command of the control plane: its id, and its row in the table of `routes`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from mockserver.server.hosting.host import Phase

# fmt: off
CommandId = Literal[
    "readHealth", "createSandbox", "listSandboxes", "deleteSandboxes", "deleteSandbox", "reset", "readClock", "setClock",
    "advanceClock", "readChoices", "choose", "readTrackedChoices", "trackChoices", "listScenarios", "readScenario",
    "applyScenario",
    "listRules", "addRules", "removeRules", "removeRule", "readTenant", "setTenant", "readState", "createCheckpoint",
    "listCheckpoints", "restoreCheckpoint", "readJournal", "verifyJournal", "readHistory", "readReplay", "readHar", "readReport", "readLedger", "readConduct",
    "readCheck", "readCoverage",
    "completeSession", "failSession", "cancelSession", "expireSession", "failCampaign", "readEvents",
    "readEvent", "redeliverEvent", "createWebhook", "recoverWebhook", "rotateWebhook", "readOpenapi", "readOpenapiYaml",
    "readDocs", "readDocsStyle", "readDocsScript", "readStream", "readMetrics", "readSample", "sendCall",
]
# fmt: on


class Route(NamedTuple):
    """
    One command of the control plane.

    `target` is the first argument of `handler`: the `host` with its address for the caller, or the `sandbox` of the prefix.
    `phase` is when the handler of a sandbox runs (see `hosting.host.Phase`). `media_types` are those of an answer that is
    a text (see `accept`), which also has `headers`; its handler also takes the `base_url` of the sandbox for the caller.
    `recorded` is the name under which the history and replay documents have the command; None for one that
    changes nothing, or that restores the history together with the state.
    """

    id: CommandId
    method: str
    path: str
    target: Literal["host", "sandbox"]
    handler: Callable[..., Any]
    phase: Phase
    recorded: str | None
    status: int
    schema: str | None
    summary: str
    media_types: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
