"""The attempts to deliver an event as schemas: in a list of events, in the history, and with the request that was sent."""

from __future__ import annotations

from typing import Final

from mockserver.server.control.openapi.shapes import COUNT, INSTANT, TEXT, WHOLE, array, mapping, nullable, obj

ATTEMPT: Final = obj({"status": WHOLE, "error": TEXT, "fault": TEXT}, at=INSTANT)
TIMED_ATTEMPT: Final = obj({"status": WHOLE, "error": TEXT, "fault": TEXT, "durationMs": COUNT}, at=INSTANT)
_SIGNATURE: Final = obj(
    scheme=TEXT,
    id=nullable(TEXT),
    timestamp=nullable(TEXT),
    signatures=array(
        obj(
            value=TEXT,
            secret={
                **nullable(TEXT),
                "description": "The endpoint's secret that has signed: `current` or `former`; null if neither has.",
            },
        )
    ),
)
SENT_ATTEMPT: Final = obj(
    number=COUNT,
    at=INSTANT,
    due=INSTANT,
    status=nullable(WHOLE),
    error=nullable(TEXT),
    fault=nullable(TEXT),
    durationMs=COUNT,
    headers=mapping(TEXT),
    body=TEXT,
    bodyBytes=COUNT,
    answer=TEXT,
    signature=nullable(_SIGNATURE),
)
