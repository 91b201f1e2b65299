"""Lengths of time, biased to the instants at which something happens: expiry, retries, polls, the ticks of a cadence."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from mockserver.contract.limits import SESSION_LIFETIME

_INSTANT = 0.000001  # the shortest time that a sandbox knows, in seconds
_POLLS = (2, 5, 10, 30)
_RETRIES = (5, 300, 1800, 7200, 18000, 36000)  # after how long a delivery is tried again, by default
_DAY = 86_400


def spans(*, cadence: int | None = None, at_most: float = _DAY) -> st.SearchStrategy[int | float]:
    """
    Seconds to let pass, none among them: the boundaries and the instants beside them often.

    `cadence`, in messages per minute, adds the ticks of such a campaign.
    """
    ticks = () if cadence is None else tuple(round(count * 60 / cadence, 6) for count in (1, 2, 10))
    lifetime = int(SESSION_LIFETIME.total_seconds())
    bounds = [each for each in (1, *ticks, *_POLLS, 60, lifetime, *_RETRIES, _DAY) if each <= at_most]
    beside = [
        round(bound + away, 6)
        for bound in bounds
        for away in (-_INSTANT, _INSTANT, -1, 1)
        if 0 < bound + away <= at_most
    ]
    return st.one_of(
        st.sampled_from([*bounds, 0]),
        st.sampled_from(beside or [0]),
        st.integers(0, int(min(at_most, 2 * lifetime))),
    )


def timelines(
    *, cadence: int | None = None, max_size: int = 8, at_most: float = _DAY
) -> st.SearchStrategy[Sequence[int | float]]:
    """Sequences of such lengths, one after another."""
    return st.lists(spans(cadence=cadence, at_most=at_most), max_size=max_size)
