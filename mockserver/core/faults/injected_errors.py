"""
Injected errors: the code and the values of an error that a rule sends, like those of a genuine one.

The values in a message are examples, whatever the call has; no placeholder stays in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from mockserver.contract.choices.model import RATE_WHEN_ON
from mockserver.contract.durations import parse_duration
from mockserver.core.instants import SECOND
from mockserver.core.state.calls import ApiError
from mockserver.core.state.rules import Rule
from mockserver.core.state.sandbox import SandboxState

# The values of each code whose message has placeholders.
_EXAMPLES: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        "VALIDATION_ERROR": {"path": "name"},
        "MEDIA_UPLOAD_TOO_MANY_FILES": {"max": 10},
        "MEDIA_FILE_TOO_LARGE": {"name": "arquivo.pdf", "max": "16 MB"},
        "MEDIA_INVALID_FORMAT": {"name": "arquivo.pdf"},
        "CAMPAIGN_INVALID_FILTERS": {"field": "chat.platform"},
        "CAMPAIGN_MISSING_COMMON_VARIABLES": {"keys": "var1"},
        "CAMPAIGN_SIZE_LIMIT_EXCEEDED": {"limit": 1000, "target": 1001},
    }
)


def refusal(sandbox: SandboxState, rule: Rule) -> ApiError:
    """Return the error that the rule injects into a call."""
    assert rule.wire_faults is not None and rule.wire_faults.error is not None
    code, wait_s = rule.wire_faults.error
    details: dict[str, Any] = dict(_rate(sandbox) if code == "RATE_LIMIT_EXCEEDED" else _EXAMPLES.get(code, {}))
    if wait_s is not None:
        details["wait_s"] = wait_s
    return ApiError(code, location="", reason=f"rule {rule.id} injects {code}", **details)


def _rate(sandbox: SandboxState) -> Mapping[str, object]:
    """Return the numbers of the headers that a limited call gets."""
    chosen: Any = sandbox.choices["rate-limit-numbers"]
    numbers: Any = RATE_WHEN_ON if chosen == "off" else chosen
    return {"quota": numbers["requests"], "window_s": (parse_duration(numbers["per"]) or 0) // SECOND}
