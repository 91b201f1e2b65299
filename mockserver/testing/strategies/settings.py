"""
Strategies of choices, and of lengths of time.

Lengths of time are biased to the instants of timers: expiry, retries, polls, the sends of a campaign.
"""

from __future__ import annotations

from hypothesis import strategies as st

from mockserver.contract.choices import CHOICES
from mockserver.contract.limits import SESSION_LIFETIME


def choices(*, families: tuple[str, ...] = (), at_most: int = 5) -> st.SearchStrategy[dict[str, str]]:
    """
    Return a strategy of combinations of options for `sandbox(choices=...)`: {choice: option}.

    A failing combination shrinks to the options that cause the failure.

    Args:
        families: Families of the choices; all by default.
        at_most: The largest number of choices in a combination.

    Raises:
        ValueError: No choice is in these families.
    """
    rows = [row for row in CHOICES.values() if len(row.options) > 1 and (not families or row.family in families)]
    if not rows:
        known = ", ".join(sorted({row.family for row in CHOICES.values()}))
        raise ValueError(f"got the families {', '.join(families)}; expected some of {known}")
    one = st.sampled_from(rows).flatmap(lambda row: st.tuples(st.just(row.id), st.sampled_from(row.options)))
    return st.lists(one, max_size=at_most, unique_by=lambda pair: pair[0]).map(dict)


_INSTANT = 0.000001  # the resolution of a sandbox's clock, in seconds
_POLLS = (2, 5, 10, 30)
_RETRIES = (5, 300, 1800, 7200, 18000, 36000)  # the waits before the retries of a delivery, by default
_DAY = 86_400


def durations(*, cadence: int | None = None, at_most: float = _DAY) -> st.SearchStrategy[int | float]:
    """
    Return a strategy of lengths of time in seconds, also 0, with many at a timer or just before or after one.

    Args:
        cadence: Messages per minute of a campaign whose sends are such timers too.
        at_most: The longest one, in seconds.
    """
    ticks = () if cadence is None else tuple(round(count * 60 / cadence, 6) for count in (1, 2, 10))
    lifetime = int(SESSION_LIFETIME.total_seconds())
    timers = (1, *ticks, *_POLLS, 60, lifetime, *_RETRIES, _DAY)
    bounds = [seconds for seconds in timers if seconds <= at_most]
    adjacent = [
        round(bound + away, 6)
        for bound in bounds
        for away in (-_INSTANT, _INSTANT, -1, 1)
        if 0 < bound + away <= at_most
    ]
    return st.one_of(
        st.sampled_from([*bounds, 0]),
        st.sampled_from(adjacent or [0]),
        st.integers(0, int(min(at_most, 2 * lifetime))),
    )
