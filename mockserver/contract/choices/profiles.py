"""
Profiles: named bundles of options.

`literal` is the default everywhere; `guide` follows the campaign guide where it contradicts the catalogue; `hostile`
takes, for each open point, the option that surprises a client most while the document still allows it.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

PROFILES: Final[Mapping[str, Mapping[str, object]]] = MappingProxyType(
    {
        "literal": MappingProxyType({}),
        "guide": MappingProxyType({"dual-status": "guide", "template-not-found-code": "message-template"}),
        "hostile": MappingProxyType(
            {
                "cross-tenant-code": "access-denied",
                "success-status": "all-201",
                "dual-status": "guide",
                "template-not-found-code": "campaign-template",
                "empty-json-body": "reject",
                "unknown-body-keys": "reject",
                "name-uniqueness-scope": "case-insensitive",
                "error-extra-keys": "details",
                "message-text": "reworded",
                "datetime-spelling": "offset",
                "additive-fields": "unknown-fields",
                "new-enum-values": "unseen",
                "rate-limit-headers": "http-date",
                "list-order": "shuffled",
                "cancel-draft": "unprocessable",
                "cancel-final": "not-draft",
                "late-sends-after-cancel": "current-minute",
                "execution-status-lag": "campaign-first",
                "completedAt-on-cancel-fail": "null",
                "not-draft-vs-already-processing": "not-draft",
                "start-empty-audience": "unprocessable",
                "progress-rounding": "ceil",
                "progress-zero-target": "hundred",
                "progress-after-cancel": "hundred",
                "all-sends-failed": "failed",
                "common-vars-extra-keys": "fail-sends",
                "common-vars-empty": "missing",
                "provider-status-internal": "null",
                "unapproved-template": "not-found",
                "size-limit-base": "moving-day",
                "audience-off-channel": "exclude",
                "execution-not-found-code": "campaign",
                "filter-error-split": "all-invalid-filters",
                "filters-empty-list": "reject",
                "platform-value-unknown": "platform-unsupported",
                "group-no-statements": "vacuous",
                "missing-value-negative-ops": "no-match",
                "exists-meaning": "not-null",
                "case-sensitivity": "insensitive",
                "between-bounds": "upper-exclusive",
                "date-offset": "z-only",
                "birthdate-zone": "brazil",
                "estimated-count-exactness": "rough",
                "media-missing-type": "refuse",
                "media-partial-failure": "per-file",
                "media-failed-item-shape": "null",
                "media-result-order": "reversed",
                "message-absent-vs-null": "null",
                "next-cursor-end": "empty",
                "short-pages": "short",
                "page-stability": "offset",
                "entrypoint-two-shapes": "union",
                "funnel-null": "absent",
                "session-unknown-code": "entrypoint-not-found",
                "session-read-fields": "all",
                "reason-when-none": "null",
                "entrypoint-when-failed": "absent",
                "funnelId-alone": "invalid-request",
                "user-cancels": "pending",
                "expiry-driver": "on-read",
                "state-vs-event-order": "event-first",
                "wh-body-bytes": "escaped",
                "wh-retry": "none",
                "wh-idempotency": "new-per-try",
                "link-consumed-when": "first-get",
                "return-on-failure": "return-with-error",
                "return-query": "session-and-status",
                "wh-secret-rotation": "none",
                "wh-data-asymmetry": "same-keys",
            }
        ),
    }
)
