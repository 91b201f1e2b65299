"""
The rules of conduct, one row per kind of client bug: those of the modules that judge, and those that one run does not show.

1. A finding cites the exchanges that prove it; without proof there is no finding.
2. The report lists each rule that the run does not show, with the reason: the absence of a finding proves nothing about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from mockserver.judge.check import Check
from mockserver.judge.client import campaigns, polling, receivers, requests, retry_after, sessions

# Rules without a judge: only a run under another option shows whether the client keeps them.
_COMPARED: Final = (
    Check(
        id="match-on-message",
        clause="advice.code-not-message",
        severity=2,
        proof="other calls when the texts of messages differ or are empty",
        advice="Decide by `code`, `status` and `reason`.",
    ),
    Check(
        id="match-on-status",
        clause="base.error-guide",
        severity=2,
        proof="other calls when a refusal has the campaign guide's status",
        advice="Decide by `code`, whatever the status.",
    ),
    Check(
        id="closed-enums",
        clause="base.output",
        severity=2,
        proof="other calls when a value appears that the document does not list",
        advice="Tolerate unknown values.",
    ),
    Check(
        id="closed-objects",
        clause="base.output",
        severity=2,
        proof="other calls when an object has a field that the document does not list",
        advice="Ignore unknown fields.",
    ),
    Check(
        id="misreads-404",
        clause="auth.denied",
        severity=2,
        proof="other calls when another tenant's id is refused with the other code",
        advice="Neither 403 nor 404 means that a record was deleted.",
    ),
    Check(
        id="require-return-params",
        clause="session.return",
        severity=2,
        proof="other calls when returnUrl has other parameters",
        advice="Expect no parameters on returnUrl.",
    ),
    Check(
        id="expects-fields-on-read",
        clause="session.read",
        severity=2,
        proof="other calls when a session reads with more or fewer fields",
        advice="Store url and expiresAt from the creation; the read does not promise them.",
    ),
)

_CHECKS: Final = (
    *campaigns.CHECKS,
    *polling.CHECKS,
    *retry_after.CHECKS,
    *requests.CHECKS,
    *sessions.CHECKS,
    *receivers.CHECKS,
    *_COMPARED,
)
RULES: Final[Mapping[str, Check]] = MappingProxyType({row.id: row for row in _CHECKS})

# The rule that a client breaks if its calls depend on these choices.
BLAMED: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "match-on-message": ("message-text",),
        "match-on-status": ("dual-status",),
        "only-200-is-ok": ("success-status",),
        "closed-enums": ("new-enum-values",),
        "closed-objects": ("additive-fields", "entrypoint-two-shapes", "error-extra-keys"),
        "naive-dates": ("datetime-spelling", "birthdate-zone"),
        "require-return-params": ("return-query",),
        "expects-fields-on-read": ("session-read-fields", "reason-when-none", "funnel-null", "entrypoint-when-failed"),
        "page-endless": ("next-cursor-end",),
        "misreads-404": ("cross-tenant-code",),
    }
)
