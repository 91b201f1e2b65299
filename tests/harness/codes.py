"""The codes of the catalogue that no call leads to under the default choices."""

from __future__ import annotations

# No rule of a documented endpoint leads to the codes of these two sets.
INJECTED_ONLY = frozenset(
    {
        "ENTRYPOINT_PLATFORM_UNSUPPORTED",
        "FORM_ALREADY_SUBMITTED",
        "FORM_INACTIVE",
        "FORM_INVALID_ANSWERS",
        "FORM_INVALID_DESTINATION",
        "FORM_MISSING_ENTRYPOINTS",
        "INTERNAL_ERROR",
        "INVALID_PHONE",
        "LEAD_LIMIT_EXCEEDED",
        "MESSAGE_CAMPAIGN_NOT_ALLOWED",
    }
)

# An option of `template-not-found-code`, `funnelId-alone` and `platform-value-unknown`, in this order, names these.
BY_CHOICE = frozenset({"CAMPAIGN_TEMPLATE_NOT_FOUND", "INVALID_REQUEST", "PLATFORM_UNSUPPORTED"})
