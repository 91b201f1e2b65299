"""Exchanges made by hand, for tests of what follows from them."""

from __future__ import annotations

import json
from typing import Any

from mockserver.core.instants import SECOND
from mockserver.trace.exchange import Exchange
from mockserver.trace.recorded import recorded_exchange


def call(number: int, operation: str = "readCampaign", **changes: Any) -> Exchange:
    """Return the call with this number, which took a second and began two seconds after the one before."""
    values: dict[str, Any] = {
        "number": number,
        "source": "one.har",
        "method": "GET",
        "path": "/v1/campaigns/campaign_1",
        "operation": operation,
        "params": {"id": "campaign_1"},
        "request_headers": {"x-api-key": "sk_1"},
        "request_body": b"",
        "status": 200,
        "response_headers": {"content-type": "application/json"},
        "response_body": b"{}",
        "key": "sk_1",
        "sent_at": 2 * number * SECOND,
        "ended_at": (2 * number + 1) * SECOND,
        "is_ordered": False,
    }
    answer = changes.pop("answer", None)
    if answer is not None:
        values["response_body"] = json.dumps(answer).encode()
    sent = changes.pop("sent", None)
    if sent is not None:
        values["request_body"] = json.dumps(sent).encode()
    return recorded_exchange(**{**values, **changes})
