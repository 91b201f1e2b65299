"""Exchanges made by hand, for tests of what follows from them."""

from __future__ import annotations

import json
from typing import Any

from mockserver.contract.endpoints import ENDPOINTS
from mockserver.core.instants import SECOND
from mockserver.trace.entries import Entry
from mockserver.trace.exchange import Exchange
from mockserver.trace.recorded import recorded_exchange

_PARAMETERS = {"{id}": "campaign_1", "{executionId}": "execution_1", "{sessionId}": "session_1", "{chatId}": "chat_1"}


def call(number: int, operation: str = "readCampaign", **changes: Any) -> Exchange:
    """Return the call with this number, which took a second and began two seconds after the one before."""
    path = ENDPOINTS[operation].path
    for name, value in _PARAMETERS.items():
        path = path.replace(name, value)
    values: dict[str, Any] = {
        "method": ENDPOINTS[operation].method,
        "url": path,
        "source": "one.har",
        "request_headers": {"x-api-key": "sk_1"},
        "request_body": b"",
        "status": 200,
        "response_headers": {"content-type": "application/json"},
        "response_body": b"{}",
        "sent_at": 2 * number * SECOND,
        "ended_at": (2 * number + 1) * SECOND,
    }
    for body, value in (("request_body", changes.pop("sent", None)), ("response_body", changes.pop("answer", None))):
        if value is not None:
            values[body] = json.dumps(value).encode()
    entry = Entry(**{**values, **changes})
    return recorded_exchange(entry, number, entry.sent_at or 0)
