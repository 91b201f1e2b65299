"""A command of the control plane: its id, its row in the table of `routes`, and the codes with which it can be refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from mockserver.server.errors import STATUSES
from mockserver.server.hosting.host import Phase

# fmt: off
CommandId = Literal[
    "readHealth", "createSandbox", "listSandboxes", "deleteSandboxes", "deleteSandbox", "reset", "readClock", "setClock",
    "advanceClock", "readChoices", "choose", "readTrackedChoices", "trackChoices", "listScenarios", "readScenario",
    "applyScenario",
    "listRules", "addRules", "removeRules", "removeRule", "readTenant", "setTenant", "readState", "createCheckpoint",
    "listCheckpoints", "restoreCheckpoint", "readJournal", "verifyJournal", "readHistory", "readReplay", "readHar", "readReport", "keepReport", "readLedger", "readConduct",
    "readCheck", "readCoverage",
    "completeSession", "failSession", "cancelSession", "expireSession", "failCampaign", "readEvents",
    "readEvent", "redeliverEvent", "createWebhook", "recoverWebhook", "rotateWebhook", "readOpenapi", "readOpenapiYaml",
    "readDocs", "readDocsScript", "readStream", "readMetrics", "readSample", "sendCall",
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


_OF_DOCUMENTS: Final = ("MOCK_NOT_ACCEPTABLE", "MOCK_BAD_PLANE", "MOCK_BAD_PROFILE")
# The refusals of a command of its own. MOCK_LOOP_BLOCKED is none: only a call in process can block a receiver's event loop.
REFUSALS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "createSandbox": ("MOCK_BAD_SCENARIO", "MOCK_TOO_MANY_SANDBOXES", "MOCK_DRAINING"),
        "deleteSandbox": ("MOCK_DEFAULT_SANDBOX",),
        "setClock": ("MOCK_BAD_CLOCK", "MOCK_BAD_INSTANT", "MOCK_TIME_GOES_FORWARD"),
        "advanceClock": ("MOCK_BAD_ADVANCE", "MOCK_BAD_INSTANT", "MOCK_BAD_DURATION", "MOCK_TIME_GOES_FORWARD"),
        "choose": ("MOCK_BAD_CHOICE",),
        "readTrackedChoices": ("MOCK_NOT_WATCHED",),
        "readStream": ("MOCK_NOT_ACCEPTABLE",),
        "applyScenario": ("MOCK_BAD_SCENARIO",),
        "addRules": ("MOCK_BAD_SCENARIO",),
        "readJournal": ("MOCK_BAD_OPERATION",),
        "verifyJournal": ("MOCK_BAD_WHERE", "MOCK_BAD_VERIFY", "MOCK_BAD_OPERATION"),
        "readReport": ("MOCK_NOT_ACCEPTABLE",),
        "keepReport": ("MOCK_NOT_ACCEPTABLE",),
        "completeSession": ("MOCK_BAD_PHONE", "MOCK_ILLEGAL_MOVE"),
        "failSession": ("MOCK_BAD_REASON", "MOCK_ILLEGAL_MOVE"),
        "cancelSession": ("MOCK_ILLEGAL_MOVE",),
        "expireSession": ("MOCK_ILLEGAL_MOVE",),
        "failCampaign": ("MOCK_ILLEGAL_MOVE",),
        "rotateWebhook": ("MOCK_BAD_SECRET",),
        "createWebhook": ("MOCK_BAD_EVENT", "MOCK_BAD_TARGET", "MOCK_BAD_SECRET"),
        "redeliverEvent": ("MOCK_ILLEGAL_MOVE",),
        "readOpenapi": (*_OF_DOCUMENTS, "MOCK_BAD_OPENAPI"),
        "readOpenapiYaml": (*_OF_DOCUMENTS, "MOCK_BAD_OPENAPI"),
        "readDocs": _OF_DOCUMENTS,
        "sendCall": ("MOCK_BAD_CALL", "MOCK_BAD_DURATION"),
        "readMetrics": ("MOCK_NOT_ACCEPTABLE",),
        "readDocsScript": ("MOCK_NOT_ACCEPTABLE",),
    }
)
_COMMON: Final = (
    "MOCK_TOKEN_WANTED",
    "MOCK_FOREIGN_HOST",
    "MOCK_FOREIGN_ORIGIN",
    "MOCK_BAD_QUERY",
    "MOCK_BAD_BODY",
    "MOCK_NOT_FOUND",
    "MOCK_SANDBOX_CLOSED",
    "MOCK_INTERNAL_ERROR",
)
_OF_BODIES: Final = ("MOCK_BAD_JSON", "MOCK_BODY_TOO_LARGE")


def codes_by_status(row: Route) -> dict[int, list[str]]:
    """Return the codes with which a command can be refused, by status."""
    codes = [code for code in _COMMON if code != "MOCK_BAD_QUERY" or row.id != "readHealth"]  # probes add parameters
    if row.method != "GET":  # a browser needs a header
        codes.append("MOCK_HEADER_WANTED")
    if row.schema is not None:
        codes += _OF_BODIES
    if row.target == "host" and row.id != "readHealth":  # refused at a port that only one sandbox has
        codes.append("MOCK_OWN_PORT")
    by_status: dict[int, list[str]] = {}
    for code in (*codes, *REFUSALS.get(row.id, ())):
        by_status.setdefault(STATUSES[code], []).append(code)
    return dict(sorted(by_status.items()))
