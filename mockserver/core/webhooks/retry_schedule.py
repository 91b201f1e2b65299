"""Delays between the attempts of a delivery, by option of `wh-retry`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mockserver.contract.durations import parse_duration
from mockserver.core.instants import MINUTE, Duration
from mockserver.core.state.outbox import Attempt

TIMEOUT = "timeout"  # the error of an attempt that exceeded its time limit


def _waits(*delays: str) -> tuple[Duration, ...]:
    return tuple(parse_duration(delay) or 0 for delay in delays)


# The waits before the second, third ... attempt; after the last of them a delivery is abandoned.
RETRIES: Mapping[str, tuple[Duration, ...]] = MappingProxyType(
    {
        "svix": _waits("5s", "5m", "30m", "2h", "5h", "10h", "10h"),
        "two-short": _waits("5s", "30s"),
        "none": (),
        "three-days": _waits("1m", "10m", "1h", "3h", "6h", "12h", "24h", "24h"),
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
