"""
The refusals of the control plane by command: a command's own, and those that every command shares.

MOCK_LOOP_BLOCKED is not one of them: only a call in process can block the event loop of a receiver.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal

from mockserver.server.errors import STATUSES

_OF_DOCUMENTS: Final = ("MOCK_NOT_ACCEPTABLE", "MOCK_BAD_PLANE", "MOCK_BAD_PROFILE")
OWN: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
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
        "readDocsStyle": ("MOCK_NOT_ACCEPTABLE",),
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


def codes_by_status(
    command: str, target: Literal["host", "sandbox"], has_body: bool, method: str = "POST"
) -> dict[int, list[str]]:
    """
    Return the codes with which a command can be refused, by status.

    Args:
        command: the command's id.
        target: what the command acts on; the host's are refused at a port that only one sandbox has.
        has_body: the command reads a body.
        method: a browser's requests of any other method than GET need a header.
    """
    of_host = ("MOCK_OWN_PORT",) if target == "host" and command != "readHealth" else ()
    of_writes = ("MOCK_HEADER_WANTED",) if method != "GET" else ()
    has_any_query = command == "readHealth"  # probes add parameters of their own
    common = [code for code in _COMMON if code != "MOCK_BAD_QUERY" or not has_any_query]
    codes = (*common, *of_writes, *(_OF_BODIES if has_body else ()), *of_host, *OWN.get(command, ()))
    by_status: dict[int, list[str]] = {}
    for code in codes:
        by_status.setdefault(STATUSES[code], []).append(code)
    return dict(sorted(by_status.items()))
