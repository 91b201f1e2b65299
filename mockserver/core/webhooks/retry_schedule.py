"""Delays between the attempts of a delivery, by option of `wh-retry`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mockserver.core.instants import HOUR, MINUTE, SECOND, Duration
from mockserver.core.state.outbox import Attempt

TIMEOUT = "timeout"  # the error of an attempt that exceeded its time limit


# The waits before the second, third ... attempt; after the last of them a delivery is abandoned.
RETRIES: Mapping[str, tuple[Duration, ...]] = MappingProxyType(
    {
        "svix": (5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR),
        "two-short": (5 * SECOND, 30 * SECOND),
        "none": (),
        "three-days": (MINUTE, 10 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, 24 * HOUR, 24 * HOUR),
    }
)


def next_delay(option: str, tries: int, failed: Attempt, retry_after: Duration | None) -> Duration | None:
    """
    Return the delay from the due instant of a failed attempt to the next one, after `tries` earlier failures.

    Returns None if the schedule has no further attempt. After a 429 or a timeout the delay is at least a minute, and
    Retry-After is respected up to twice the planned delay (fixed decision `wh-410-and-429`).
    """
    schedule = RETRIES[option]
    if tries >= len(schedule):
        return None
    planned = schedule[tries]
    if failed.status == 429 or failed.error == TIMEOUT:
        planned = max(planned, MINUTE)
    return planned if retry_after is None else min(max(retry_after, planned), 2 * planned)
