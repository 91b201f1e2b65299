"""
Strategies of scripts, of choices, and of lengths of time.

Lengths of time are biased to the instants of timers: expiry, retries, polls, the sends of a campaign.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from mockserver.contract.choices import CHOICES
from mockserver.contract.effects import WIRE_FAULTS
from mockserver.contract.endpoints import OPERATIONS
from mockserver.contract.limits import SESSION_LIFETIME
from mockserver.contract.text import closest_match_hint


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


Rule = dict[str, Any]
# Effects of a rule, the plainest first, to which a failing script shrinks.
_ON_THE_WIRE: Sequence[Rule] = tuple({row.name: argument} for row in WIRE_FAULTS.values() for argument in row.examples)
_ON_THE_STATE: Sequence[Rule] = (
    {"fail-campaign": {}},
    {"cancel-campaign": {}},
    {"stall-sends": {}},
    {"resume-sends": {}},
    {"slow-sends": {"perMinute": 7}},
    {"fail-sends": {"every": 2}},
    {"fail-sends": {"ratio": 0.5}},
    {"complete-session": {}},
    {"fail-session": {}},
    {"expire-session": {}},
    {"cancel-session": {}},
    {"set-tenant": {"subscription": "suspended"}},
    {"set-tenant": {"subscription": "active"}},
    {"revoke-key": {}},
    {"rate-limit": {"requests": 5, "per": 60}},
    {"advance": "30s"},
)


@st.composite
def _counts(draw: st.DrawFn) -> Rule:
    """Draw the calls at which a rule fires; a failing one shrinks to the first call."""
    if draw(st.booleans()):
        numbers = {"times": st.integers(1, 5), "every": st.integers(1, 4), "skip": st.integers(0, 5)}
        counts: Rule = draw(st.fixed_dictionaries({}, optional={**numbers, "chance": st.sampled_from([1, 0.5])}))
        return counts
    return {"nth": draw(st.integers(1, 12))}


def scripts(
    *, operations: Sequence[str] = OPERATIONS, state: bool = True, at_most: int = 4
) -> st.SearchStrategy[list[Rule]]:
    """
    Return a strategy of scripts of few rules, for `sandbox.apply({"script": drawn})`.

    A failing script shrinks to one rule that names its call by `nth`.

    Args:
        operations: The operations whose calls the rules match.
        state: True for effects on the sandbox's state in addition to faults of the wire.
        at_most: The largest number of rules.

    Raises:
        ValueError: An operation is unknown.
    """
    for operation in operations:
        if operation not in OPERATIONS:
            hint = closest_match_hint(operation, OPERATIONS) or f"; there are {', '.join(OPERATIONS)}"
            raise ValueError(f"got operation {operation!r}; expected an operation id{hint}")
    on = st.sampled_from([*operations, "*"])
    wire = st.builds(
        lambda on, counts, do: {"on": on, **counts, "do": do}, on, _counts(), st.sampled_from(_ON_THE_WIRE)
    )
    if not state:
        return st.lists(wire, max_size=at_most)
    acts = st.sampled_from(_ON_THE_STATE)
    called = st.builds(lambda on, counts, do: {"on": on, **counts, "do": do}, on, _counts(), acts)
    timed = st.builds(lambda second, do: {"at": second, "do": do}, st.integers(0, 1200), acts)
    progressed = st.builds(lambda sent, do: {"after": {"sent": sent}, "do": do}, st.integers(0, 5), acts)
    return st.lists(st.one_of(wire, called, timed, progressed), max_size=at_most)


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


def timelines(
    *, cadence: int | None = None, max_size: int = 8, at_most: float = _DAY
) -> st.SearchStrategy[Sequence[int | float]]:
    """
    Return a strategy of sequences of lengths of time.

    Args:
        cadence: As in `durations`.
        max_size: The largest number of lengths.
        at_most: The longest one, in seconds.
    """
    return st.lists(durations(cadence=cadence, at_most=at_most), max_size=max_size)
